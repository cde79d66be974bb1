// SPDX-License-Identifier: Apache-2.0
// Compares `take` with a copy of one value after the other, for random sources of all dtypes, spans and rows.
#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "columns/take/take.h"
#include "tests/support/guarded.h"

namespace forebay::columns {
namespace {

using testing::Guarded;
using Values = std::vector<std::string>;  // the bytes of each value

struct Random {
  std::mt19937_64 bits;
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(std::max<std::int64_t>(bound, 1)));
  }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  std::string value(DType dtype) {
    std::string out(dtype == DType::string ? static_cast<std::size_t>(below(5)) : size_of(dtype), '\0');
    for (char& at : out) at = static_cast<char>(bits());
    return out;
  }
};

/// An element, one value after the other.
struct PlainElement {
  std::int64_t frames = 0;
  std::vector<std::int64_t> sizes;  // of a frame
  Values values;

  [[nodiscard]] std::int64_t frame_elements() const {
    std::int64_t out = 1;
    for (const std::int64_t size : sizes) out *= size;
    return out;
  }
};

/// A source: plain elements, and the memory of the view. Foreign memory ends at a page that cannot be read.
struct PlainSource {
  std::vector<PlainElement> elements;
  Column column;
  std::vector<Guarded> memory;
  Elements view = Elements::of(Column{});

  PlainSource(Random& random, DType dtype, const Shape& shape) {
    column = Column{ColumnSpec{.name = "x", .dtype = dtype, .shape = shape}};
    for (std::int64_t row = 0, rows = random.below(5); row < rows; ++row) {
      PlainElement element{.frames = shape[0] == unknown_dim ? random.below(7) : shape[0], .sizes = {}, .values = {}};
      std::vector<std::int64_t> unknown;
      if (shape[0] == unknown_dim) unknown.push_back(element.frames);
      for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
        element.sizes.push_back(shape[axis] == unknown_dim ? random.below(4) : shape[axis]);
        if (shape[axis] == unknown_dim) unknown.push_back(element.sizes.back());
      }
      for (std::int64_t i = 0; i < element.frames * element.frame_elements(); ++i) add(random.value(dtype), element);
      if (shape.known()) {
        ++column.rows;
      } else {
        column.end_row(unknown);
      }
      elements.push_back(std::move(element));
    }
    view = Elements::of(column);
    const bool inner_known = std::count(shape.dims().begin() + 1, shape.dims().end(), unknown_dim) == 0;
    if (random.once_in(2) && inner_known && shape.count() > 0) make_foreign();
  }

 private:
  void add(std::string value, PlainElement& element) {
    const auto bytes = std::as_bytes(std::span{value});
    if (column.dtype == DType::string) {
      column.push_string(bytes);
    } else {
      std::copy(bytes.begin(), bytes.end(), column.values.extend(bytes.size()));
    }
    element.values.push_back(std::move(value));
  }
  std::span<const std::byte> guarded(const Storage& storage) {
    memory.emplace_back(std::span{storage.data(), storage.size()});
    return memory.back().bytes();
  }
  static std::span<const std::int64_t> splits(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t)};
  }
  void make_foreign() {
    ForeignElements foreign{.dtype = column.dtype, .shape = column.shape, .rows = column.rows};
    foreign.values = guarded(column.values);
    if (!column.fixed()) foreign.splits = splits(guarded(column.row_splits));
    foreign.byte_splits = splits(guarded(column.byte_splits));
    foreign.bytes = guarded(column.bytes);
    auto made = Elements::of(foreign);
    ASSERT_TRUE(made.ok()) << made.error().text();
    view = *made;
  }
};

/// One random task, and its result by the plain way.
struct Task {
  DType dtype = DType::int8;
  std::vector<PlainSource> sources;
  std::vector<Elements> views;
  Unfold unfold;
  Shape frame;  // sizes of an output frame; unknown_dim: of the first element of a row
  std::string filler;
  std::vector<PlacedSpan> spans;
  std::int64_t rows = 0;
  std::int64_t frames = 0;  // of every row that has a known length

  explicit Task(Random& random) {
    dtype = static_cast<DType>(random.below(static_cast<std::int64_t>(DType::string) + 1));
    const bool ragged_frames = random.once_in(4);
    std::vector<std::int64_t> inner;
    for (std::int64_t axis = random.below(3); axis-- > 0;) inner.push_back(random.once_in(9) ? 0 : 1 + random.below(3));
    for (std::int64_t source = 1 + random.below(3); source-- > 0;) {
      std::vector<std::int64_t> dims{random.once_in(2) ? unknown_dim : random.below(6)};
      for (const std::int64_t size : inner) dims.push_back(ragged_frames ? unknown_dim : size);
      sources.emplace_back(random, dtype, Shape{dims});
    }
    for (const PlainSource& source : sources) views.push_back(source.view);
    frame = Shape{inner};
    if (ragged_frames) {
      for (std::int64_t& size : inner) size = 3;
      frame = Shape{inner};
    } else if (random.once_in(3)) {
      unfold = {1 + random.below(3), random.below(4)};
      frame = Shape{(unfold.left + 1 + unfold.right) * frame.count()};
    }
    filler = random.once_in(3) ? std::string{} : random.value(dtype);
    if (random.once_in(3)) filler.assign(filler.size(), '\x05');
    place(random);
  }

  void place(Random& random) {
    rows = random.below(6);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t at = 0;
      for (std::int64_t count = random.below(4); count-- > 0;) {
        PlacedSpan span{.source = static_cast<std::uint32_t>(random.below(static_cast<std::int64_t>(sources.size())))};
        const auto& elements = sources[span.source].elements;
        if (elements.empty()) continue;
        span.element = static_cast<std::uint32_t>(random.below(static_cast<std::int64_t>(elements.size())));
        const std::int64_t frames_in = elements[span.element].frames;
        span.start = random.below(frames_in + 1);
        span.length = random.below(frames_in - span.start + 1);
        if (random.once_in(3)) span.pad_left = random.below(4);
        if (random.once_in(3)) span.pad_right = random.below(4);
        span.row = row;
        span.at = at + (random.once_in(3) ? random.below(3) : 0);
        at = span.end();
        spans.push_back(span);
      }
      frames = std::max(frames, at);
    }
    frames += random.below(3);
  }

  [[nodiscard]] std::string padding() const {
    return filler.empty() && dtype != DType::string ? std::string(size_of(dtype), '\0') : filler;
  }

  /// The values of one frame of an element, padded to the sizes of an output frame.
  [[nodiscard]] Values frame_of(const PlainElement& element, std::int64_t frame_index, const Shape& to) const {
    Values out(static_cast<std::size_t>(to.count()), padding());
    const std::int64_t count = element.frame_elements();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, place = 0, step = 1;
      for (std::size_t axis = element.sizes.size(); axis-- > 0; step *= to[axis]) {
        place += rest % element.sizes[axis] * step;
        rest /= element.sizes[axis];
      }
      out[static_cast<std::size_t>(place)] = element.values[static_cast<std::size_t>(frame_index * count + i)];
    }
    return out;
  }

  [[nodiscard]] Values stacked(const PlainElement& element, std::int64_t frame_index) const {
    Values out;
    for (std::int64_t i = frame_index - unfold.left; i <= frame_index + unfold.right; ++i) {
      const bool inside = i >= 0 && i < element.frames;
      for (std::int64_t k = 0; k < element.frame_elements(); ++k)
        out.push_back(inside ? element.values[static_cast<std::size_t>(i * element.frame_elements() + k)] : padding());
    }
    return out;
  }

  /// The values of one row of `length` frames.
  [[nodiscard]] Values row_of(std::int64_t row, std::int64_t length) const {
    Values out(static_cast<std::size_t>(length * frame.count()), padding());
    for (const PlacedSpan& span : spans) {
      if (span.row != row) continue;
      const PlainElement& element = sources[span.source].elements[span.element];
      for (std::int64_t i = 0; i < span.length; ++i) {
        const Values one = unfold.none() ? frame_of(element, span.start + i, frame) : stacked(element, span.start + i);
        std::copy(one.begin(), one.end(), out.begin() + (span.at + span.pad_left + i) * frame.count());
      }
    }
    return out;
  }

  [[nodiscard]] Taking taking() const {
    return {.sources = views, .spans = spans, .filler = std::as_bytes(std::span{filler}), .unfold = unfold};
  }
  [[nodiscard]] Shape row_shape(std::int64_t length) const {
    std::vector<std::int64_t> sizes = frame.dims();
    sizes.insert(sizes.begin(), length);
    return Shape{sizes};
  }
};

std::string joined(const Values& values) {
  std::string out;
  for (const std::string& value : values) out += value;
  return out;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The rows of a column as the column shows them.
std::vector<Values> rows_of(const Column& column) {
  std::vector<Values> out;
  for (std::int64_t row = 0, element = 0; row < column.rows; ++row) {
    Values& values = out.emplace_back();
    for (std::int64_t left = column.row_shape(row).count(); left-- > 0; ++element) {
      if (column.dtype == DType::string) {
        values.push_back(text_of(column.string(element)));
      } else {
        const std::size_t size = size_of(column.dtype);
        values.push_back(text_of({column.values.data() + static_cast<std::size_t>(element) * size, size}));
      }
    }
  }
  return out;
}

TEST(TakeRandom, DenseRowsEqualACopyOfOneValueAfterTheOther) {
  Random random{std::mt19937_64{1}};
  for (int round = 0; round < 6000; ++round) {
    const Task task{random};
    if (task.dtype == DType::string) continue;
    const Shape shape = task.row_shape(task.frames);
    std::string expected;
    for (std::int64_t row = 0; row < task.rows; ++row) expected += joined(task.row_of(row, task.frames));
    Guarded out{std::vector<std::byte>(expected.size(), std::byte{0xAA})};
    const auto cut = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(task.spans.size()) + 1));
    const DenseRows to{.dtype = task.dtype, .memory = out.writable(), .rows = task.rows, .shape = shape};
    for (const IndexRange range : {IndexRange{cut, task.spans.size()}, IndexRange{0, cut}}) {
      if (range.first == range.last && cut != task.spans.size()) continue;
      const auto taken = take(task.taking(), range, to);
      ASSERT_TRUE(taken.ok()) << taken.error().text() << ", round " << round;
    }
    ASSERT_TRUE(text_of(out.bytes()) == expected) << "round " << round;
  }
}

TEST(TakeRandom, AppendedRowsEqualACopyOfOneValueAfterTheOther) {
  Random random{std::mt19937_64{2}};
  for (int round = 0; round < 6000; ++round) {
    const Task task{random};
    const bool known = random.once_in(2);
    std::vector<Values> expected;
    for (std::int64_t row = 0; row < task.rows; ++row) {
      std::int64_t length = known ? task.frames : 0;
      for (const PlacedSpan& span : task.spans) {
        if (span.row == row) length = std::max(length, span.end());
      }
      expected.push_back(task.row_of(row, length));
    }
    const Shape shape = task.row_shape(known ? task.frames : unknown_dim);
    Column out{ColumnSpec{.name = "x", .dtype = task.dtype, .shape = shape}};
    const auto cut = static_cast<std::size_t>(random.below(task.rows + 1));
    const auto first = take(task.taking(), {0, cut}, out);
    ASSERT_TRUE(first.ok()) << first.error().text() << ", round " << round;
    ASSERT_TRUE(take(task.taking(), {cut, static_cast<std::size_t>(task.rows)}, out).ok());
    ASSERT_EQ(out.rows, task.rows);
    ASSERT_TRUE(rows_of(out) == expected) << "round " << round;
  }
}

TEST(TakeRandom, WrongSpansAreErrorsAndNeverTouchOtherMemory) {
  Random random{std::mt19937_64{3}};
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Task task{random};
    if (task.spans.empty() || task.dtype == DType::string) continue;
    PlacedSpan& span = task.spans[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(task.spans.size())))];
    const std::int64_t any = random.once_in(2) ? static_cast<std::int64_t>(random.bits()) : random.below(12) - 2;
    std::int64_t* const numbers[] = {&span.start, &span.length, &span.pad_left, &span.pad_right, &span.row, &span.at};
    if (const std::int64_t which = random.below(8); which < 6) {
      *numbers[which] = any;
    } else {
      (which == 6 ? span.source : span.element) = static_cast<std::uint32_t>(any);
    }
    const Shape shape = task.row_shape(task.frames);
    Guarded out{std::vector<std::byte>(static_cast<std::size_t>(task.rows * shape.count()) * size_of(task.dtype))};
    const auto cut = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(task.spans.size()) + 1));
    const DenseRows to{.dtype = task.dtype, .memory = out.writable(), .rows = task.rows, .shape = shape};
    for (const IndexRange range : {IndexRange{0, cut}, IndexRange{cut, task.spans.size()}})
      refused += take(task.taking(), range, to).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace forebay::columns
