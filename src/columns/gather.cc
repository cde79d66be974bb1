// SPDX-License-Identifier: Apache-2.0
#include "columns/gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "columns/fill.h"
#include "columns/strided.h"

namespace forebay::columns {

namespace {

/// One row and the array it is padded to.
struct Target {
  std::array<std::int64_t, max_rank> row{};
  std::array<std::int64_t, max_rank> out{};
  std::size_t rank = 0;
  bool full = true;       // nothing to fill
  bool tail_only = true;  // only the first axis is short: the row is one run, its padding another
};

Target target_of(const Column& column, std::int64_t row, const Shape& shape) {
  Target target;
  target.rank = shape.rank();
  const auto unknown = static_cast<std::int64_t>(column.shape.unknown());
  const std::int64_t* size = column.dims.as<std::int64_t>() + row * unknown;
  for (std::size_t axis = 0; axis < target.rank; ++axis) {
    target.row[axis] = column.shape[axis] == unknown_dim ? *size++ : column.shape[axis];
    target.out[axis] = shape[axis];
    if (target.row[axis] != target.out[axis]) {
      target.full = false;
      if (axis > 0) target.tail_only = false;
    }
  }
  return target;
}

std::int64_t product(const std::array<std::int64_t, max_rank>& dims, std::size_t first, std::size_t rank) {
  std::int64_t count = 1;
  for (std::size_t axis = first; axis < rank; ++axis) count *= dims[axis];
  return count;
}

/// Calls place(source element, destination element, count) for each run of the row's innermost axis.
template <class Place>
void for_each_run(const Target& target, Place place) {
  if (product(target.row, 0, target.rank) == 0) return;
  const std::size_t last = target.rank - 1;
  std::array<std::int64_t, max_rank> at{};
  std::int64_t source = 0;
  while (true) {
    std::int64_t destination = 0;
    for (std::size_t axis = 0; axis <= last; ++axis) destination = destination * target.out[axis] + at[axis];
    place(source, destination, target.row[last]);
    source += target.row[last];
    std::size_t axis = last;
    while (axis > 0 && ++at[axis - 1] == target.row[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

void fill_up(std::byte* out, std::span<const std::byte> filler, std::size_t count, const StopCheck* check) {
  const std::size_t most = std::max<std::size_t>(1, StopCheck::interval / filler.size());
  for (; count > most; count -= most, out += most * filler.size()) {
    StopCheck::look(check);
    fill(out, filler, most);
  }
  fill(out, filler, count);
}

void pad_row(const Column& column, std::int64_t row, const Target& target, std::span<const std::byte> filler,
             std::byte* out, const StopCheck* check) {
  const std::size_t size = filler.size();
  const std::int64_t begin = column.fixed() ? row * column.shape.count() : column.row_splits.as<std::int64_t>()[row];
  const std::byte* const in = column.values.data() + static_cast<std::size_t>(begin) * size;
  const auto wanted = static_cast<std::size_t>(product(target.out, 0, target.rank));
  if (target.full || target.tail_only) {
    const auto have = static_cast<std::size_t>(product(target.row, 0, target.rank));
    copy_bytes({in, have * size}, out, check);
    fill_up(out + have * size, filler, wanted - have, check);
    return;
  }
  fill_up(out, filler, wanted, check);
  for_each_run(target, [&](std::int64_t source, std::int64_t destination, std::int64_t count) {
    copy_bytes({in + static_cast<std::size_t>(source) * size, static_cast<std::size_t>(count) * size},
               out + static_cast<std::size_t>(destination) * size, check);
  });
}

void pad_string_row(const Column& column, std::int64_t row, const Target& target, std::span<const std::byte> filler,
                    StringsOut& out, const StopCheck* check) {
  const std::int64_t begin = column.fixed() ? row * column.shape.count() : column.row_splits.as<std::int64_t>()[row];
  const std::int64_t wanted = product(target.out, 0, target.rank);
  std::int64_t next = 0;
  const auto fill_up_to = [&](std::int64_t end) {
    for (; next < end; ++next) out.add(filler, check);
  };
  if (target.rank == 0) {
    out.add(column.string(begin), check);
    return;
  }
  for_each_run(target, [&](std::int64_t source, std::int64_t destination, std::int64_t count) {
    fill_up_to(destination);
    for (std::int64_t i = 0; i < count; ++i) out.add(column.string(begin + source + i), check);
    next = destination + count;
  });
  fill_up_to(wanted);
}

}  // namespace

Extents extents(Pieces pieces) {
  Extents sum;
  for (const Column* piece : pieces) {
    sum.elements += piece->elements();
    sum.bytes += static_cast<std::int64_t>(piece->bytes.size());
  }
  return sum;
}

std::vector<std::int64_t> largest_sizes(Pieces pieces) {
  std::vector<std::int64_t> largest(pieces.empty() ? 0 : pieces.front()->shape.unknown());
  for (const Column* piece : pieces) {
    const auto sizes = piece->dims.span<std::int64_t>();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t& most = largest[i % largest.size()];
      most = std::max(most, sizes[i]);
    }
  }
  return largest;
}

std::int64_t first_unequal(Pieces pieces) {
  const std::int64_t* first = nullptr;
  std::int64_t row = 0;
  for (const Column* piece : pieces) {
    const auto unknown = static_cast<std::int64_t>(piece->shape.unknown());
    for (std::int64_t i = 0; i < piece->rows; ++i, ++row) {
      const std::int64_t* const sizes = piece->dims.as<std::int64_t>() + i * unknown;
      if (first == nullptr) first = sizes;
      if (!std::equal(first, first + unknown, sizes)) return row;
    }
  }
  return -1;
}

std::int64_t* copy_sizes(const Column& piece, std::int64_t* out) {
  return std::copy_n(piece.dims.as<std::int64_t>(), piece.dims.size() / sizeof(std::int64_t), out);
}

void copy_bytes(std::span<const std::byte> in, std::byte* out, const StopCheck* check) {
  for (; in.size() > StopCheck::interval; in = in.subspan(StopCheck::interval), out += StopCheck::interval) {
    StopCheck::look(check);
    std::memcpy(out, in.data(), StopCheck::interval);
  }
  if (!in.empty()) std::memcpy(out, in.data(), in.size());
}

std::byte* copy_values(const Column& piece, std::byte* out, const StopCheck* check) {
  copy_bytes({piece.values.data(), piece.values.size()}, out, check);
  return out + piece.values.size();
}

void StringsOut::add(std::span<const std::byte> value, const StopCheck* check) {
  copy_bytes(value, bytes + size, check);
  size += static_cast<std::int64_t>(value.size());
  *ends++ = size;
}

void copy_strings(const Column& piece, StringsOut& out, const StopCheck* check) {
  const auto own = piece.byte_splits.span<std::int64_t>().subspan(1);
  copy_bytes({piece.bytes.data(), piece.bytes.size()}, out.bytes + out.size, check);
  out.ends = std::transform(own.begin(), own.end(), out.ends, [&out](std::int64_t split) { return split + out.size; });
  out.size += static_cast<std::int64_t>(piece.bytes.size());
}

std::byte* pad(const Column& piece, const Shape& shape, std::span<const std::byte> filler, std::byte* out,
               const StopCheck* check) {
  const std::size_t row_bytes = static_cast<std::size_t>(shape.count()) * filler.size();
  std::size_t since_look = 0;
  for (std::int64_t row = 0; row < piece.rows; ++row, out += row_bytes) {
    since_look += row_bytes;
    if (since_look >= StopCheck::interval) {
      StopCheck::look(check);
      since_look = 0;
    }
    pad_row(piece, row, target_of(piece, row, shape), filler, out, check);
  }
  return out;
}

void pad_strings(const Column& piece, const Shape& shape, std::span<const std::byte> filler, StringsOut& out,
                 const StopCheck* check) {
  for (std::int64_t row = 0; row < piece.rows; ++row)
    pad_string_row(piece, row, target_of(piece, row, shape), filler, out, check);
}

}  // namespace forebay::columns
