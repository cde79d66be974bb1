// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/dealt_batches.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/program/position.h"

namespace forebay::engine {

namespace {

/// The rows of one batch, and where they lie.
struct Rows {
  explicit Rows(const std::int64_t* pass) : placed{elements, pass} {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  std::vector<Handle> elements;
  BatchRows placed;
};

/// A batch that waits until every shard has one. Of the other shards, and of passes before a restart, without its rows.
struct WaitingBatch {
  std::int64_t epoch = 0;
  std::int64_t oldest = 0;  // pass of its first element
  std::unique_ptr<Rows> rows = {};
};

/// The stream of one shard: what was dealt to it, one element at a time.
class DealtStream final : public Handles {
 public:
  void give(const Handle& element) { element_ = element; }
  void set_ended(bool ended) { ended_ = ended; }
  /// Whether the batcher has asked for an element that is not there; false from then on.
  bool asked() { return std::exchange(asked_, false); }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (element_) {
      out.front() = *std::exchange(element_, std::nullopt);
      return std::size_t{1};
    }
    if (ended_) return std::size_t{0};
    asked_ = true;
    return Error{Code::cancelled, "the next element was not dealt yet"};
  }
  void begin(std::int64_t) override {}

 private:
  std::optional<Handle> element_;
  bool ended_ = false, asked_ = false;
};

/// The batcher of one shard, its stream, and its batches that are cut and not given yet.
struct ShardBatches {
  std::unique_ptr<Batcher> batcher;
  DealtStream stream;
  std::int64_t pass = 0;                  // of its last element
  std::optional<std::int64_t> first;      // pass of the first element of the batch that is open
  std::unique_ptr<Rows> open;             // the rows of that batch
  std::deque<WaitingBatch> waiting = {};  // its next batches
  bool over = true;                       // its batcher holds nothing
};

/// See dealt_batches. The engine owns it; one thread at a time calls it.
class DealtBatches final : public Batcher {
 public:
  DealtBatches(const Batching& batching, const BatcherContext& context, std::size_t own, std::size_t count)
      : reader_{context.reader}, empty_rows_{empty_rows(batching)}, own_{own}, shards_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      BatcherContext each = context;
      if (i != own) each.gauge = nullptr;
      shards_[i].batcher = batching.make(std::move(each));
    }
  }

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    const auto waits = [](const ShardBatches& shard) { return !shard.waiting.empty(); };
    while (!std::ranges::all_of(shards_, waits)) {
      if (busy_) FOREBAY_DO(advance());
      if (busy_) continue;
      if (dealt_ < pulled_) {
        deal();
        continue;
      }
      if (ended_) break;
      FOREBAY_DO(refill(in, out));
    }
    if (std::ranges::any_of(shards_, waits)) return give(out), Cut::batch;
    ended_ = false;
    turn_ = 0;
    return Cut::end_of_pass;
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out{static_cast<std::int64_t>(turn_)};
    for (const ShardBatches& shard : shards_) {
      std::vector<std::int64_t> held = shard.batcher->carried();
      if (std::ranges::all_of(held, [](std::int64_t value) { return value == 0; })) held.clear();
      out.push_back(std::ssize(shard.waiting));
      out.push_back(std::ssize(held));
      out.insert(out.end(), held.begin(), held.end());
    }
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    const Error corrupt{Code::state, Detail::data_loss,
                        "corrupt state: section 'batcher' does not fit the batches of these shards"};
    const auto take = [&]() -> std::optional<std::int64_t> {
      if (carried.empty()) return std::nullopt;
      const std::int64_t value = carried.front();
      carried = carried.subspan(1);
      return value;
    };
    const auto turn = take();
    if (!turn || *turn >= std::ssize(shards_)) return corrupt;
    turn_ = static_cast<std::size_t>(*turn);
    for (ShardBatches& shard : shards_) {
      const auto waiting = take();
      const auto held = take();
      if (!waiting || !held || *waiting > max_waiting || *held > std::ssize(carried)) return corrupt;
      for (std::int64_t i = 0; i < *waiting; ++i) shard.waiting.emplace_back();
      if (*held == 0) continue;
      FOREBAY_DO(shard.batcher->resume(carried.first(static_cast<std::size_t>(*held))));
      shard.over = false;
      carried = carried.subspan(static_cast<std::size_t>(*held));
    }
    return carried.empty() ? Result<void>{} : corrupt;
  }

  [[nodiscard]] std::optional<std::int64_t> oldest() const override {
    std::optional<std::int64_t> out;
    const auto holds = [&](std::optional<std::int64_t> pass) {
      if (pass) out = std::min(out.value_or(*pass), *pass);
    };
    for (const ShardBatches& shard : shards_) {
      for (const WaitingBatch& batch : shard.waiting) holds(batch.oldest);
      if (shard.over) continue;
      holds(shard.first);
      holds(shard.batcher->oldest());
    }
    return out;
  }

 private:
  Result<void> refill(Handles& in, const BatchRows& out) {
    dealt_ = pulled_ = 0;
    FOREBAY_TRY(pulled_, in.pull(ahead_));
    pass_ = out.pass();
    if (pulled_ > 0) return {};
    ended_ = true;
    for (ShardBatches& shard : shards_) shard.stream.set_ended(true);
    busy_ = 0;
    return {};
  }

  /// Gives the next element to the shard whose turn it is.
  void deal() {
    ShardBatches& shard = shards_[turn_];
    shard.stream.give(ahead_[dealt_++]);
    shard.pass = pass_;
    shard.over = false;
    if (!shard.first) shard.first = pass_;
    busy_ = turn_;
    turn_ = turn_ + 1 == shards_.size() ? 0 : turn_ + 1;
  }

  /// Lets the batcher of a shard cut batches until it needs another element; at the end of the stream, those of all
  /// shards. May be repeated when it fails.
  Result<void> advance() {
    ShardBatches& shard = shards_[*busy_];
    if (!shard.open) shard.open = std::make_unique<Rows>(&shard.pass);
    BatchRows& rows = shard.open->placed;
    std::int64_t oldest = shard.first.value_or(shard.pass);
    oldest = std::min(oldest, shard.batcher->oldest().value_or(oldest));
    const auto got = shard.batcher->cut(shard.stream, rows);
    if (!got.ok() && !shard.stream.asked()) return got.error();
    if (got.ok() && *got == Cut::batch) {
      rows.trim();
      if (std::ssize(shard.waiting) == max_waiting) return too_far();
      WaitingBatch batch{.epoch = rows.epoch().value_or(shard.pass), .oldest = oldest, .rows = std::move(shard.open)};
      if (*busy_ != own_) drop(batch);
      shard.waiting.push_back(std::move(batch));
      shard.first = shard.pass;  // of the element that did not fit
      return {};
    }
    if (!got.ok()) return busy_.reset(), Result<void>{};
    shard.first.reset();
    shard.stream.set_ended(false);
    shard.over = true;
    if (++*busy_ == shards_.size()) busy_.reset();
    return {};
  }

  /// Releases the rows of another shard.
  void drop(WaitingBatch& batch) {
    for (const Handle& element : batch.rows->placed.elements()) {
      if (element.block != Handle::nowhere) reader_.drop({&element, 1});
    }
    for (const BatchRows::Part& part : batch.rows->placed.parts()) reader_.drop({&part.element, 1});
    batch.rows.reset();
  }

  /// Gives the first batch that waits for this shard, and takes away those of the others.
  void give(BatchRows& out) {
    std::optional<std::int64_t> epoch;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      auto& waiting = shards_[i].waiting;
      if (waiting.empty()) continue;
      epoch = std::min(epoch.value_or(waiting.front().epoch), waiting.front().epoch);
      if (i == own_ && waiting.front().rows) place(waiting.front().rows->placed, out);
      waiting.pop_front();
    }
    out.set_epoch(epoch.value_or(pass_));
    if (out.rows() > 0) return;
    for (std::int64_t row = 0; row < empty_rows_; ++row) out.begin_row();
  }

  static void place(const BatchRows& rows, BatchRows& out) {
    const auto begins = rows.passes();
    std::size_t next = 0;
    const auto tell_pass = [&](std::size_t element) {
      for (; next < begins.size() && begins[next].first == element; ++next) out.of_pass(begins[next].pass);
    };
    if (rows.placed()) {
      const auto parts = rows.parts();
      std::size_t part = 0;
      for (std::int64_t row = 0; row < rows.rows(); ++row) {
        out.begin_row();
        for (; part < parts.size() && parts[part].row == row; ++part) {
          tell_pass(part);
          out.span(parts[part].element, parts[part].start, parts[part].length, parts[part].at);
        }
      }
    } else {
      for (std::size_t element = 0; element < rows.elements().size(); ++element) {
        tell_pass(element);
        out.row(rows.elements()[element]);
      }
      out.pad_to(rows.rows());
    }
    for (const BatchRows::Longest& longest : rows.longest()) out.pad_frames(longest.column, longest.frames);
  }

  [[nodiscard]] Error too_far() const {
    return Error{
        Code::data, Detail::resource_exhausted,
        "shard: one shard by element has " + std::to_string(max_waiting) +
            " batches more than another, which gets elements of other lengths; shuffle them, or shard by rows"};
  }

  static constexpr std::size_t at_once = 16;
  static constexpr std::int64_t max_waiting = 4096;
  Reader& reader_;
  const std::int64_t empty_rows_;  // of a batch that has no others
  const std::size_t own_;
  std::vector<ShardBatches> shards_;
  std::array<Handle, at_once> ahead_;
  std::size_t pulled_ = 0, dealt_ = 0;  // of ahead_
  std::int64_t pass_ = 0;               // of those
  std::size_t turn_ = 0;                // the shard that gets the next element
  std::optional<std::size_t> busy_;     // the shard whose batcher goes on
  bool ended_ = false;                  // the stream
};

}  // namespace

std::int64_t empty_rows(const Batching& batching) {
  return std::max<std::int64_t>(batching.pads_to, batching.packs.empty() ? 0 : 1);
}

bool can_be_dealt(const Batching& batching) {
  return batching.carries > 0 && batching.lanes == 0 && !batching.asks && !batching.numbers && !batching.counts;
}

std::int64_t max_shards(const Batching& batching) {
  return (static_cast<std::int64_t>(max_carried) - 1) / (2 + batching.carries);
}

std::unique_ptr<Batcher> dealt_batches(const Batching& batching, const BatcherContext& context, std::int64_t index,
                                       std::int64_t count) {
  return std::make_unique<DealtBatches>(batching, context, static_cast<std::size_t>(index),
                                        static_cast<std::size_t>(count));
}

}  // namespace forebay::engine
