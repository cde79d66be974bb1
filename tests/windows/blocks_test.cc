// SPDX-License-Identifier: Apache-2.0
// The windows do not depend on how the elements of a part are divided into blocks, nor on how many windows a call
// makes.
#include <random>

#include "columns/take/take.h"
#include "tests/windows/cutters.h"

namespace forebay {
namespace {

using testing::bound;
using testing::cut_all;
using testing::Lengths;
using testing::texts_of;

/// Cuts a part whose elements come in blocks. As an engine does, it keeps only the elements that a later window needs.
class BlockwiseCut {
 public:
  BlockwiseCut(const Windowing& windowing, const Lengths& lengths) : windowing_{windowing}, in_{lengths} {}

  /// `block` and `room` say how many elements come next, and how many windows a call may make.
  template <class Block, class Room>
  SpanTable run(Block block, Room room) {
    SpanTable out{windowing_.axes};
    while (!cut(room, out)) {
      const std::size_t count = std::min(block(), in_.elements() - next_);
      const auto from = in_.values.begin() + static_cast<std::ptrdiff_t>(next_ * in_.keys);
      held_.insert(held_.end(), from, from + static_cast<std::ptrdiff_t>(count * in_.keys));
      next_ += count;
    }
    return out;
  }

 private:
  template <class Room>
  bool cut(Room room, SpanTable& out) {
    const bool ends = next_ == in_.elements();
    for (CutEnd end = CutEnd::full; end == CutEnd::full;) {
      const auto cut = windowing_.cutter->cut({.first_element = first_element_,
                                               .first_frame = first_frame_,
                                               .lengths = held_,
                                               .ends = ends,
                                               .place = in_.place},
                                              at_, room(), out);
      EXPECT_TRUE(cut.ok()) << cut.error().text();
      if (!cut.ok()) return true;
      end = *cut;
    }
    drop();
    return ends;
  }
  void drop() {
    while (!held_.empty()) {
      const std::int64_t size = windowing_.by_element ? 1 : held_[0];
      const bool used =
          windowing_.grain == WindowGrain::parts ? first_frame_ + size <= at_.position : first_element_ < at_.position;
      if (!used) return;
      first_frame_ += size;
      ++first_element_;
      held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(in_.keys));
    }
  }

  const Windowing& windowing_;
  const Lengths& in_;
  std::vector<std::int64_t> held_;
  std::int64_t first_element_ = 0;
  std::int64_t first_frame_ = 0;
  std::size_t next_ = 0;
  WindowCursor at_;
};

struct Case {
  const char* name;
  Windowing windowing;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const auto part = [&](const char* options) {
    out.push_back({options, bound(windows::continuous(), options, {"x", "y"})});
  };
  part(R"({"min_window": 3, "max_window": 3})");
  part(R"({"min_window": 5, "max_window": 5, "stride": 1})");
  part(R"({"min_window": 2, "max_window": 2, "stride": 17})");
  part(R"({"min_window": 1, "max_window": 9, "min_stride": 1, "max_stride": 12})");
  part(R"({"min_window": 1, "max_window": 9, "window_draw": "per_file"})");
  part(R"({"min_window": 2, "max_window": 30, "tail": "keep_if_min"})");
  part(R"({"min_window": 4, "max_window": 4, "stride": 3, "tail": "keep"})");
  for (const char* options : {R"({"size": 3})", R"({"size": 4, "step": 1, "min_size": 2})",
                              R"({"size": 2, "step": 5, "rule": "returnn"})", R"({"size": 6, "variance": 0.9})"}) {
    out.push_back({options, bound(windows::chunk(), options, {"x", "y"})});
    const Windowing chunk = out.back().windowing;
    out.push_back({"context", bound(windows::context(), R"({"window": {"x": 4, "y": 7}})", {"x", "y"}, &chunk)});
  }
  for (const char* options :
       {R"({"min_window": 3, "max_window": 3})", R"({"min_window": 1, "max_window": 5, "tail": "keep"})",
        R"({"min_window": 2, "max_window": 9, "window_draw": "per_file", "tail": "keep_if_min"})"})
    out.push_back({options, bound(windows::discrete(), options, {"x", "y"})});
  out.push_back({"unbatch", bound(windows::unbatch(), "{}", {"x", "y"})});
  out.push_back({"whole context", bound(windows::context(), R"({"window": 5})", {"x", "y"})});
  return out;
}

Lengths random_lengths(std::mt19937_64& random) {
  Lengths out{.values = {}, .keys = 2, .place = {.seed = random(), .epoch = random() % 3, .part = random() % 5}};
  for (std::uint64_t i = random() % 30; i-- > 0;) {
    const auto length = static_cast<std::int64_t>(random() % 3 == 0 ? random() % 2 : random() % 12);
    out.values.insert(out.values.end(), {length, length});
  }
  return out;
}

TEST(Windows, DoNotDependOnTheSizesOfBlocksNorOfCalls) {
  std::mt19937_64 random{11};
  const std::vector<Case> all = cases();
  std::size_t windows = 0;
  for (int round = 0; round < 300; ++round) {
    const Lengths lengths = random_lengths(random);
    const auto everything = [] { return std::numeric_limits<std::int64_t>::max(); };
    const auto some = [&random] { return static_cast<std::int64_t>(1 + random() % 4); };
    for (const Case& one : all) {
      const auto expected = cut_all(one.windowing, lengths);
      ASSERT_TRUE(expected.ok());
      windows += expected->size();
      const auto by_one = BlockwiseCut{one.windowing, lengths}.run([] { return std::size_t{1}; }, everything);
      ASSERT_TRUE(by_one == *expected) << one.name;
      const auto single = BlockwiseCut{one.windowing, lengths}.run([] { return std::size_t{1}; }, some);
      ASSERT_TRUE(single == *expected) << one.name;
      const auto by_some = BlockwiseCut{one.windowing, lengths}.run([&] { return std::size_t{random() % 6}; }, some);
      ASSERT_TRUE(by_some == *expected) << one.name;
    }
  }
  EXPECT_GT(windows, 50'000U);
}

TEST(Windows, OverTheEdgeOfBlocksBecomeRowsOfSeveralSpans) {
  std::mt19937_64 random{12};
  const Windowing windowing = bound(windows::continuous(), R"({"min_window": 7, "max_window": 7, "stride": 2})", {"x"});
  for (int round = 0; round < 100; ++round) {
    Lengths lengths{.values = {}};
    std::vector<Column> blocks;                                  // of at most three records each
    std::vector<std::pair<std::uint32_t, std::uint32_t>> where;  // block and row of each record
    std::int64_t frame = 0;
    for (std::uint64_t i = random() % 20; i-- > 0;) {
      if (blocks.empty() || blocks.back().rows == 3)
        blocks.emplace_back(ColumnSpec{.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
      where.emplace_back(static_cast<std::uint32_t>(blocks.size() - 1), static_cast<std::uint32_t>(blocks.back().rows));
      lengths.values.push_back(static_cast<std::int64_t>(random() % 9));
      for (std::int64_t k = 0; k < lengths.values.back(); ++k) blocks.back().values.push(frame++);
      blocks.back().end_row(std::span{lengths.values}.last(1));
    }
    const auto table = cut_all(windowing, lengths);
    ASSERT_TRUE(table.ok());
    std::vector<columns::Elements> sources;
    for (const Column& block : blocks) sources.push_back(columns::Elements::of(block));
    std::vector<columns::PlacedSpan> spans;
    for (std::size_t window = 0; window < table->size(); ++window) {
      std::int64_t at = 0;
      for (const WindowSpan& span : (*table)[window]) {
        const auto [block, row] = where[static_cast<std::size_t>(span.element)];
        spans.push_back({.source = block,
                         .element = row,
                         .start = span.start,
                         .length = span.length,
                         .row = static_cast<std::int64_t>(window),
                         .at = at});
        at += span.length;
      }
    }
    std::vector<std::int64_t> out(table->size() * 7, -1), expected;
    for (std::size_t window = 0; window < table->size(); ++window) {
      for (std::int64_t k = 0; k < 7; ++k) expected.push_back(static_cast<std::int64_t>(window) * 2 + k);
    }
    ASSERT_EQ(table->size(), frame < 7 ? 0U : static_cast<std::size_t>((frame - 7) / 2 + 1));
    const auto taken = columns::take({.sources = sources, .spans = spans, .filler = {}}, {0, spans.size()},
                                     {.dtype = DType::int64,
                                      .memory = std::as_writable_bytes(std::span{out}),
                                      .rows = static_cast<std::int64_t>(table->size()),
                                      .shape = {7}});
    ASSERT_TRUE(taken.ok()) << taken.error().text();
    ASSERT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace forebay
