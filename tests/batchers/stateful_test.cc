// SPDX-License-Identifier: Apache-2.0
// Rows that follow sequences, over streams that are interrupted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <sstream>

#include <forebay/batcher.h>

#include "tests/support/handles.h"

namespace forebay::batchers {
BatcherType stateful();
}  // namespace forebay::batchers

namespace forebay {
namespace {

using ::testing::HasSubstr;

/// Segments as handles: `block` is the sequence, `ordinal` the number of the segment, `length` their count.
class Segments final : public testing::NumberFiles {
 public:
  Segments() : NumberFiles{{}} {}
  WindowNumber window_number(const Handle& window) const override {
    return {.number = window.ordinal, .count = window.length};
  }
};

/// Passes of sequences with so many segments, three handles at a time. Every second pull is interrupted.
class SequencePasses final : public Handles {
 public:
  SequencePasses(std::vector<std::vector<std::uint32_t>> passes, std::function<void()> on_pass)
      : passes_{std::move(passes)}, on_pass_{std::move(on_pass)} {}
  void begin(std::int64_t) override {}
  Result<std::size_t> pull(std::span<Handle> out) override {
    if (pulls_++ % 2 == 0) return Error{Code::cancelled, "interrupted"};
    while (waiting_.empty() && next_ < passes_.size()) {
      pass = static_cast<std::int64_t>(next_);
      on_pass_();
      for (const std::uint32_t segments : passes_[next_]) {
        for (std::uint32_t i = 0; i < segments; ++i)
          waiting_.push_back({.block = number_, .ordinal = i, .offset = 0, .length = segments});
        ++number_;
      }
      ++next_;
    }
    const std::size_t count = std::min<std::size_t>({out.size(), 3, waiting_.size()});
    std::copy_n(waiting_.begin(), count, out.begin());
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  void number_from(std::uint32_t first) { number_ = first; }

  std::int64_t pass = 0;

 private:
  const std::vector<std::vector<std::uint32_t>> passes_;
  const std::function<void()> on_pass_;
  std::deque<Handle> waiting_;
  std::size_t next_ = 0;
  std::uint32_t number_ = 0;
  int pulls_ = 0;
};

using Texts = std::vector<std::string>;

/// A batch as text: "a0 b1 -" is segment 0 of sequence a, segment 1 of b, and an empty row.
std::string text_of_rows(std::span<const Handle> rows) {
  std::string out;
  for (const Handle& row : rows) {
    if (!out.empty()) out += ' ';
    out += row.block == Handle::nowhere
               ? "-"
               : std::string(1, static_cast<char>('a' + row.block)) + std::to_string(row.ordinal);
  }
  return out;
}

struct LaneRun {
  Texts batches;
  std::vector<std::int64_t> epochs;
  std::vector<std::vector<std::int64_t>> carried;  // as each pass began
  std::vector<std::size_t> began_in;               // the batch in which each pass began
  std::size_t dropped = 0;
};

LaneRun run_lanes(const char* options, const std::vector<std::vector<std::uint32_t>>& passes,
                  const std::vector<std::int64_t>& carried = {}, std::uint32_t first_sequence = 0) {
  LaneRun out;
  Segments reader;
  const auto batching = batchers::stateful().bind(*parse_json(options), Schema{});
  EXPECT_TRUE(batching.ok()) << batching.error().text();
  if (!batching.ok()) return out;
  const auto batcher = batching->make({.reader = reader});
  if (!carried.empty()) {
    EXPECT_TRUE(batcher->resume(carried).ok());
    EXPECT_EQ(batcher->carried(), carried);
  }
  SequencePasses stream{passes, [&] {
                          out.carried.push_back(batcher->carried());
                          out.began_in.push_back(out.batches.size());
                        }};
  stream.number_from(first_sequence);
  std::vector<Handle> elements;
  BatchRows rows{elements, &stream.pass};
  while (true) {
    const auto got = batcher->cut(stream, rows);
    if (!got.ok()) continue;
    if (*got == Cut::end_of_pass) break;
    out.batches.push_back(text_of_rows(rows.elements()));
    out.epochs.push_back(rows.epoch().value_or(-1));
    rows.clear();
  }
  out.dropped = reader.dropped;
  EXPECT_FALSE(batcher->oldest()) << "nothing is held after the end";
  return out;
}

// SQ-5 of the specification: sequences of 2, 1 and 3 segments, two rows.
TEST(Stateful, ARowFollowsItsSequenceToTheEndAndThenTakesTheNextOne) {
  EXPECT_EQ(run_lanes(R"({"batch_size": 2})", {{2, 1, 3}}).batches, (Texts{"a0 b0", "a1 c0", "- c1", "- c2"}));
}

TEST(Stateful, TheLastSequencesAreLeftOutFromWhereARowIsEmpty) {
  const LaneRun run = run_lanes(R"({"batch_size": 2, "remainder": "drop"})", {{2, 1, 3}});
  EXPECT_EQ(run.batches, (Texts{"a0 b0", "a1 c0"}));
  EXPECT_EQ(run.dropped, 3U) << "the empty row, c1 and c2";
}

TEST(Stateful, MoreRowsThanSequencesAreEmpty) {
  EXPECT_EQ(run_lanes(R"({"batch_size": 3})", {{1}}).batches, (Texts{"a0 - -"}));
  EXPECT_EQ(run_lanes(R"({"batch_size": 3, "remainder": "drop"})", {{1}}).batches, Texts{});
  EXPECT_EQ(run_lanes(R"({"batch_size": 3})", {}).batches, Texts{});
}

TEST(Stateful, ABatchIsOfTheEpochOfTheSequenceThatBeganLast) {
  const LaneRun run = run_lanes(R"({"batch_size": 2})", {{5, 1}, {1, 2}});
  EXPECT_EQ(run.batches, (Texts{"a0 b0", "a1 c0", "a2 d0", "a3 d1", "a4 -"}));
  EXPECT_EQ(run.epochs, (std::vector<std::int64_t>{0, 1, 1, 1, 1}));
}

/// What a pass carries makes a run that begins with it go on exactly, with placeholders for the rows of before.
TEST(Stateful, BeginsAtEachPassWithWhatItCarries) {
  const std::vector<std::vector<std::uint32_t>> passes{{4, 1, 2}, {3, 1}, {1, 6, 2}, {2, 2}};
  const LaneRun whole = run_lanes(R"({"batch_size": 3})", passes);
  ASSERT_EQ(whole.carried.size(), passes.size());
  std::uint32_t first = 0;
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    SCOPED_TRACE(pass);
    const LaneRun rest =
        run_lanes(R"({"batch_size": 3})", {passes.begin() + static_cast<std::ptrdiff_t>(pass), passes.end()},
                  whole.carried[pass], first);
    const std::size_t from = whole.began_in[pass];
    ASSERT_EQ(rest.batches.size() + from, whole.batches.size());
    for (std::size_t i = 0; i < rest.batches.size(); ++i) {
      std::istringstream all{whole.batches[from + i]}, some{rest.batches[i]};
      for (std::string a, b; all >> a && some >> b;) {
        const bool earlier = a != "-" && static_cast<std::uint32_t>(a[0] - 'a') < first;
        EXPECT_EQ(b, earlier ? "-" : a);
      }
    }
    first += static_cast<std::uint32_t>(passes[pass].size());
  }
}

TEST(Stateful, RefusesIntegersOfOtherBatches) {
  Segments reader;
  const auto batching = batchers::stateful().bind(*parse_json(R"({"batch_size": 2})"), Schema{});
  const auto done = batching->make({.reader = reader})->resume(std::vector<std::int64_t>{1, 2, 3});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().text(), HasSubstr("has 3 integers, batches of 2 rows have one for each row"));
}

TEST(Stateful, RefusesStatesThatAreNotNumbersOfOneShape) {
  const auto fault = [](const char* states) {
    const auto bound =
        batchers::stateful().bind(*parse_json(std::string{R"({"batch_size": 2, "states": )"} + states + "}"), Schema{});
    return bound.ok() ? std::string{"none"} : bound.error().text();
  };
  EXPECT_EQ(fault(R"({"h": {"dtype": "float32", "shape": [2, 3], "initial": 0.5}, "n": {"dtype": "int64"}})"), "none");
  EXPECT_THAT(fault(R"({"h": {"dtype": "string"}})"), HasSubstr("state 'h': a state holds numbers"));
  EXPECT_THAT(fault(R"({"h": {"dtype": "float32", "shape": [-1]}})"), HasSubstr("its sizes are known"));
  EXPECT_THAT(fault(R"({"h": {"dtype": "float32", "shape": [3, 0]}})"), HasSubstr("at least 1"));
  EXPECT_THAT(fault(R"({"h": {"shape": [3]}})"), HasSubstr("dtype"));
  EXPECT_THAT(fault(R"({"h": {"dtype": "float32", "size": [3]}})"), HasSubstr("size"));
}

}  // namespace
}  // namespace forebay
