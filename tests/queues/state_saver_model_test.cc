// SPDX-License-Identifier: Apache-2.0
// Random calls of a state saver beside a model of its rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/queues/saver_examples.h"
#include "tests/support/how_much.h"

namespace forebay {
namespace {

using tests::insert_frames;
using tests::keys_of;
using tests::one_sequence;
using tests::save_more;
using tests::saver_of;
using tests::values_of;
using Got = TakenSegments::Got;
using Keys = std::vector<std::string>;

/// The rules, one after the other. An example has its key, its segments, and those of them that were taken.
class Model {
 public:
  enum class At : std::uint8_t { ready, held, stuck, gone };
  struct Example {
    std::string key;
    std::int64_t count = 0, next = 0;
    At at = At::ready;
  };

  Model(std::int64_t capacity, bool small) : capacity_{capacity}, small_{small} {}

  [[nodiscard]] std::string insert(const std::string& key, std::int64_t count) {
    if (closed_) return "cancelled";
    if (live() >= capacity_) return "no room";
    if (std::ranges::any_of(examples_, [&](const Example& each) { return each.at != At::gone && each.key == key; }))
      return "config";
    examples_.push_back({key, count});
    return "inserted";
  }

  /// The examples that a batch has; empty with `got` where there is none.
  std::vector<std::size_t> take(std::int64_t size, Got& got) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      if (examples_[i].at == At::ready && std::ssize(rows) < size) rows.push_back(i);
    }
    const std::int64_t found = number(At::ready), held = cancelled_ ? 0 : number(At::held);
    got = Got::batch;
    if (found < size && !(closed_ && small_ && found > 0)) {
      got = !closed_ || (small_ ? held > 0 : found + held >= size) ? Got::nothing_yet : Got::end;
      ended_ = ended_ || got == Got::end;
      return {};
    }
    for (const std::size_t i : rows) {
      Example& each = examples_[i];
      ++each.next;
      each.at = cancelled_ || each.next == each.count ? At::gone : At::held;
    }
    return rows;
  }

  void move(const std::vector<std::size_t>& rows, At to) {
    for (const std::size_t i : rows) {
      if (examples_[i].at == At::held) examples_[i].at = to;
    }
  }

  [[nodiscard]] bool close(bool cancel) {
    if (cancelled_ || (closed_ && !cancel)) return false;
    closed_ = true;
    if (!cancel) return true;
    cancelled_ = true;
    dropped_ = left() - number(At::ready);
    for (Example& each : examples_) {
      if (each.at != At::ready) each.at = At::gone;
      each.count = each.next + 1;
    }
    return true;
  }

  [[nodiscard]] StateSaver::Sizes sizes(std::int64_t batch_size) const {
    const std::int64_t ready = number(At::ready);
    return {ready, ready / batch_size, left() - ready, live(), dropped_ + (ended_ ? left() : 0)};
  }
  [[nodiscard]] std::string key(std::size_t example, std::int64_t count) const {
    const Example& each = examples_[example];
    return std::string(4, '0') + std::to_string(each.next - 1) + "_of_0000" + std::to_string(count) + ":" + each.key;
  }
  [[nodiscard]] const Example& example(std::size_t i) const { return examples_[i]; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }

 private:
  [[nodiscard]] std::int64_t number(At at) const { return std::ranges::count(examples_, at, &Example::at); }
  [[nodiscard]] std::int64_t live() const { return std::ssize(examples_) - number(At::gone); }
  [[nodiscard]] std::int64_t left() const {
    std::int64_t sum = 0;
    for (const Example& each : examples_) sum += each.at == At::gone ? 0 : each.count - each.next;
    return sum;
  }

  const std::int64_t capacity_;
  const bool small_;
  std::vector<Example> examples_;
  std::int64_t dropped_ = 0;
  bool closed_ = false, cancelled_ = false, ended_ = false;
};

/// One random script.
class Script {
 public:
  explicit Script(std::uint32_t seed) : random_{seed} {
    small_ = draw(2) == 1;
    capacity_ = 3 + draw(6);
    StateSaverOptions options = one_sequence(2, 1);
    options.allow_small_batch = small_;
    options.capacity = capacity_;
    saver_ = saver_of(options);
    model_.emplace(capacity_, small_);
  }

  void run() {
    for (int i = 0; i < 60; ++i) {
      const std::int64_t what = draw(20);
      if (what < 6) {
        insert();
      } else if (what < 13) {
        take();
      } else if (what < 18) {
        if (!out_.empty()) finish(what < 17);
      } else if (i > 30) {
        const bool cancel = draw(6) == 0;
        EXPECT_EQ(saver_->close(cancel).ok(), model_->close(cancel));
      }
      compare_sizes();
    }
  }

 private:
  struct Out {
    SegmentBatch batch;
    std::vector<std::size_t> rows;
  };

  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(below));
  }

  void insert() {
    const std::string key(1, static_cast<char>('a' + draw(8)));
    const std::int64_t count = 1 + draw(4);
    const auto added = insert_frames(*saver_, key, count, 0, std::chrono::milliseconds{0});
    const std::string found =
        added.ok() ? (*added ? "inserted" : "no room") : std::string{to_string(added.error().code())};
    EXPECT_EQ(found, model_->insert(key, count));
    if (found == "inserted") counts_.push_back(count);
  }

  void take() {
    const std::int64_t size = draw(4);
    auto taken = saver_->take(size, std::chrono::milliseconds{0});
    ASSERT_TRUE(taken.ok()) << taken.error().text();
    Got got = Got::end;
    const std::vector<std::size_t> rows = model_->take(size, got);
    ASSERT_EQ(taken->got, got);
    if (got != Got::batch) return;
    Keys keys;
    std::vector<std::int32_t> states;
    for (const std::size_t i : rows) {
      keys.push_back(model_->key(i, counts_[i]));
      states.push_back(static_cast<std::int32_t>(model_->example(i).next - 1));
    }
    EXPECT_EQ(keys_of(taken->batch), keys);
    EXPECT_EQ(values_of(*taken->batch.state("h")), states);
    out_.push_back({std::move(taken->batch), rows});
  }

  /// Saves a batch, or lets it go without.
  void finish(bool save) {
    const auto at = out_.begin() + draw(std::ssize(out_));
    if (save) {
      EXPECT_EQ(save_more(at->batch).ok(), !model_->cancelled());
      model_->move(at->rows, Model::At::ready);
    }
    model_->move(at->rows, Model::At::stuck);
    out_.erase(at);
  }

  void compare_sizes() {
    const StateSaver::Sizes found = saver_->sizes(), want = model_->sizes(2);
    EXPECT_EQ(found.ready_segments, want.ready_segments);
    EXPECT_EQ(found.ready_batches, want.ready_batches);
    EXPECT_EQ(found.waiting_segments, want.waiting_segments);
    EXPECT_EQ(found.live_examples, want.live_examples);
    EXPECT_EQ(found.undelivered_segments, want.undelivered_segments);
  }

  std::mt19937 random_;
  bool small_ = false;
  std::int64_t capacity_ = 0;
  std::optional<StateSaver> saver_;
  std::optional<Model> model_;
  std::vector<std::int64_t> counts_;  // by example
  std::vector<Out> out_;
};

TEST(StateSaverModel, RandomScriptsFollowTheRules) {
  const std::uint32_t scripts = tests::sanitized ? 200 : 2000;
  for (std::uint32_t seed = 0; seed < scripts && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Script{seed}.run();
  }
}

}  // namespace
}  // namespace forebay
