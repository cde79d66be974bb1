// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "columns/fill.h"
#include "columns/gather.h"
#include "columns/strided.h"
#include "columns/take/take.h"

/// Where the values of `take` go, and how the frames of one span get there. The two targets are written from front to
/// end: `from` names the source, `copy` copies values of it, `fill` writes padding values.
namespace forebay::columns {

/// The sizes of one frame of the output: those of a row after its first axis.
struct FrameShape {
  std::array<std::int64_t, max_rank> sizes;
  std::size_t rank = 0;
  std::int64_t elements = 1;  ///< Product of the sizes, or unknown_dim.

  [[nodiscard]] bool known() const { return elements != unknown_dim; }
};

/// Numbers, written to memory that exists.
class NumbersTo {
 public:
  NumbersTo(std::byte* out, DType dtype, std::span<const std::byte> filler, const StopCheck* check)
      : out_{out}, size_{size_of(dtype)}, filler_{filler}, check_{check} {
    const auto same = [this](std::byte at) { return at == filler_.front(); };
    one_byte_ = std::all_of(filler_.begin(), filler_.end(), same);
    byte_ = filler_.empty() ? 0 : static_cast<int>(filler_.front());
  }

  void from(const Elements& source) { in_ = source.values(); }

  void copy(std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(count) * size_;
    const std::byte* const in = in_ + static_cast<std::size_t>(first) * size_;
    if (bytes <= StopCheck::interval) {
      std::memcpy(out_, in, bytes);
    } else {
      copy_bytes({in, bytes}, out_, check_);
    }
    out_ += bytes;
  }

  void fill(std::int64_t count) {
    for (std::int64_t left = count; left > 0;) {
      const std::int64_t now = std::min(left, static_cast<std::int64_t>(StopCheck::interval / size_));
      const std::size_t bytes = static_cast<std::size_t>(now) * size_;
      if (one_byte_) {
        std::memset(out_, byte_, bytes);
      } else {
        columns::fill(out_, filler_, static_cast<std::size_t>(now));
      }
      out_ += bytes;
      left -= now;
      if (left > 0) StopCheck::look(check_);
    }
  }

 private:
  std::byte* out_;
  const std::byte* in_ = nullptr;
  const std::size_t size_;
  const std::span<const std::byte> filler_;
  const StopCheck* const check_;
  bool one_byte_;  // all bytes of the padding value are `byte_`
  int byte_;
};

/// Writes nothing: only the checks of the spans are of interest.
struct NothingTo {
  void from(const Elements&) {}
  void copy(std::int64_t, std::int64_t) {}
  void fill(std::int64_t) {}
};

/// Strings, appended to a column.
class StringsTo {
 public:
  StringsTo(Column& out, std::span<const std::byte> filler, const StopCheck* check)
      : out_{out}, filler_{filler}, check_{check} {}

  void from(const Elements& source) { in_ = &source; }

  void copy(std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    const std::int64_t* const splits = in_->byte_splits() + first;
    const auto bytes = static_cast<std::size_t>(splits[count] - splits[0]);
    const std::int64_t moved = static_cast<std::int64_t>(out_.bytes.size()) - splits[0];
    if (bytes != 0) copy_bytes({in_->bytes() + splits[0], bytes}, out_.bytes.extend(bytes), check_);
    auto* const ends = reinterpret_cast<std::int64_t*>(out_.byte_splits.extend(splits_bytes(count)));
    for (std::int64_t i = 0; i < count; ++i) ends[i] = splits[i + 1] + moved;
  }

  void fill(std::int64_t count) {
    if (count > 0) fill_strings(out_, filler_, static_cast<std::size_t>(count));
  }

 private:
  static std::size_t splits_bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(std::int64_t); }

  Column& out_;
  const Elements* in_ = nullptr;
  const std::span<const std::byte> filler_;
  const StopCheck* const check_;
};

/// Writes one frame of the sizes `in` as one of the sizes `to`, padded at the high side of each axis.
template <class Out>
void place_padded(const std::int64_t* in, const std::int64_t* to, std::size_t rank, std::int64_t first, Out& out) {
  if (rank == 0) return out.copy(first, 1);
  std::int64_t in_step = 1;
  std::int64_t to_step = 1;
  for (std::size_t axis = 1; axis < rank; ++axis) in_step *= in[axis], to_step *= to[axis];
  if (in_step == to_step) {
    out.copy(first, in[0] * in_step);
  } else {
    for (std::int64_t i = 0; i < in[0]; ++i) place_padded(in + 1, to + 1, rank - 1, first + i * in_step, out);
  }
  out.fill((to[0] - in[0]) * to_step);
}

/// Writes the frames of a span with their neighbours.
template <class Out>
void place_stacked(const ElementExtent& element, const PlacedSpan& span, const Unfold& unfold, Out& out) {
  for (std::int64_t frame = span.start; frame < span.start + span.length; ++frame) {
    const std::int64_t left = std::min(unfold.left, frame);
    const std::int64_t right = std::min(unfold.right, element.frames - 1 - frame);
    out.fill((unfold.left - left) * element.frame_elements);
    out.copy(element.first + (frame - left) * element.frame_elements, (left + 1 + right) * element.frame_elements);
    out.fill((unfold.right - right) * element.frame_elements);
  }
}

/// Writes the frames of a span, without its padding.
template <class Out>
void place_frames(const Elements& source, const ElementExtent& element, const PlacedSpan& span, const Unfold& unfold,
                  const FrameShape& inner, Out& out) {
  const std::int64_t first = element.first + span.start * element.frame_elements;
  if (!unfold.none()) return place_stacked(element, span, unfold, out);
  // No size of a frame exceeds that of the output, so equal products mean equal sizes.
  if (element.frame_elements == inner.elements) return out.copy(first, span.length * element.frame_elements);
  std::array<std::int64_t, max_rank> sizes;
  source.frame_sizes(span.element, sizes.data());
  for (std::int64_t frame = 0; frame < span.length; ++frame)
    place_padded(sizes.data(), inner.sizes.data(), inner.rank, first + frame * element.frame_elements, out);
}

}  // namespace forebay::columns
