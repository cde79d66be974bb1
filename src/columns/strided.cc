// SPDX-License-Identifier: Apache-2.0
#include "columns/strided.h"

#include <cstring>
#include <span>

namespace forebay::columns {

void Strided::wrap(std::int64_t count, std::int64_t step) {
  if (count == 1) return;
  if (rank_ == 0 && step == run_) {
    run_ *= count;
  } else if (rank_ > 0 && step == axes_[rank_ - 1].count * axes_[rank_ - 1].step) {
    axes_[rank_ - 1].count *= count;
  } else {
    axes_[rank_++] = {count, step};
  }
}

std::int64_t Strided::count() const {
  std::int64_t product = run_;
  for (std::size_t axis = 0; axis < rank_; ++axis) product *= axes_[axis].count;
  return product;
}

namespace {

/// With a length that the compiler knows, copying a run is one or two moves instead of a call.
template <std::size_t bytes>
void copy_short(const std::byte* in, std::int64_t size, const Strided& selection, std::byte* out) {
  selection.walk([&](std::int64_t offset, std::int64_t times, std::int64_t step) {
    const std::byte* from = in + offset * size;
    for (std::int64_t i = 0; i < times; ++i, from += step * size, out += bytes) std::memcpy(out, from, bytes);
  });
}

void copy_long(const std::byte* in, std::int64_t size, const Strided& selection, std::byte* out) {
  const auto bytes = static_cast<std::size_t>(selection.run() * size);
  selection.walk([&](std::int64_t offset, std::int64_t times, std::int64_t step) {
    const std::byte* from = in + offset * size;
    for (std::int64_t i = 0; i < times; ++i, from += step * size, out += bytes) std::memcpy(out, from, bytes);
  });
}

}  // namespace

void copy_strided(const std::byte* in, std::size_t size, const Strided& selection, std::byte* out) {
  const auto element = static_cast<std::int64_t>(size);
  switch (selection.run() * element) {
    case 1:
      return copy_short<1>(in, element, selection, out);
    case 2:
      return copy_short<2>(in, element, selection, out);
    case 4:
      return copy_short<4>(in, element, selection, out);
    case 8:
      return copy_short<8>(in, element, selection, out);
    case 12:
      return copy_short<12>(in, element, selection, out);
    case 16:
      return copy_short<16>(in, element, selection, out);
    case 32:
      return copy_short<32>(in, element, selection, out);
    default:
      return copy_long(in, element, selection, out);
  }
}

void append_strings(const Column& in, const Strided& selection, Column& out) {
  const std::int64_t* const splits = in.byte_splits.as<std::int64_t>();
  const auto run = static_cast<std::size_t>(selection.run());
  selection.walk([&](std::int64_t offset, std::int64_t times, std::int64_t step) {
    for (std::int64_t i = 0; i < times; ++i, offset += step) {
      const std::int64_t* const from = splits + offset;
      const auto bytes = static_cast<std::size_t>(from[run] - from[0]);
      const std::int64_t moved = static_cast<std::int64_t>(out.bytes.size()) - from[0];
      if (bytes != 0) std::memcpy(out.bytes.extend(bytes), in.bytes.data() + from[0], bytes);
      auto* const to = reinterpret_cast<std::int64_t*>(out.byte_splits.extend(run * sizeof(std::int64_t)));
      for (std::size_t k = 0; k < run; ++k) to[k] = from[k + 1] + moved;
    }
  });
}

}  // namespace forebay::columns
