// SPDX-License-Identifier: Apache-2.0
#include "columns/take/merge_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "columns/strided.h"
#include "columns/take/row_copy.h"

namespace forebay::columns {

namespace {

/// The number of places from `at` on whose rows follow each other.
std::size_t neighbours(std::span<const std::int64_t> rows, std::size_t at) {
  std::size_t end = at + 1;
  while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
  return end - at;
}

void fill_fixed(std::span<const std::byte> fill, std::byte* out, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += fill.size()) std::memcpy(out + done, fill.data(), fill.size());
}

/// Copies rows of a size that the compiler knows one by one.
template <std::size_t row_bytes>
void scatter(const MergedRows& some, std::int64_t first, std::byte* out, const StopCheck& check) {
  constexpr std::size_t rows_between_looks = StopCheck::interval / row_bytes;
  const std::byte* from = some.column->values.data();
  for (std::size_t begin = 0; begin < some.rows.size(); begin += rows_between_looks) {
    if (begin > 0) check.look();
    const auto rows = some.rows.subspan(begin, std::min(rows_between_looks, some.rows.size() - begin));
    for (const std::int64_t row : rows) {
      std::memcpy(out + static_cast<std::size_t>(row - first) * row_bytes, from, row_bytes);
      from += row_bytes;
    }
  }
}

using Scatter = void (*)(const MergedRows&, std::int64_t, std::byte*, const StopCheck&);
/// Null: rows of this size are copied with their neighbours.
Scatter scatter_of(std::size_t row_bytes) {
  switch (row_bytes) {
    case 1:
      return scatter<1>;
    case 2:
      return scatter<2>;
    case 4:
      return scatter<4>;
    case 8:
      return scatter<8>;
    case 16:
      return scatter<16>;
    case 32:
      return scatter<32>;
    case 64:
      return scatter<64>;
    default:
      return nullptr;
  }
}

void merge_fixed(std::span<const MergedRows> from, const RowRange& range, std::span<const std::byte> fill, Column& to,
                 const StopCheck& check) {
  const std::size_t row_bytes = to.row_bytes();
  if (row_bytes == 0) return;
  const Scatter scatter = scatter_of(row_bytes);
  for (const MergedRows& some : from) {
    if (some.column != nullptr && scatter != nullptr) {
      scatter(some, range.first, to.values.data(), check);
      continue;
    }
    std::size_t since_look = 0;
    for (std::size_t i = 0; i < some.rows.size();) {
      const std::size_t count = neighbours(some.rows, i);
      std::byte* const out = to.values.data() + static_cast<std::size_t>(some.rows[i] - range.first) * row_bytes;
      if (some.column != nullptr) {
        std::memcpy(out, some.column->values.data() + i * row_bytes, count * row_bytes);
      } else {
        fill_fixed(fill, out, count * row_bytes);
      }
      i += count;
      since_look += count * row_bytes;
      if (since_look < StopCheck::interval) continue;
      check.look();
      since_look = 0;
    }
  }
}

void append_filled(std::span<const std::byte> fill, Column& to) {
  if (!to.fixed()) {
    const std::array<std::int64_t, max_rank> none{};
    to.end_row({none.data(), to.shape.unknown()});
    return;
  }
  for (std::int64_t i = 0; i < to.shape.count(); ++i) to.push_string(fill);
  ++to.rows;
}

/// Where the next row of the result comes from.
struct Source {
  const MergedRows* rows = nullptr;
  std::size_t next = 0;
};

void merge_growing(std::span<const MergedRows> from, const RowRange& range, std::span<const std::byte> fill, Column& to,
                   const StopCheck& check) {
  constexpr std::int64_t rows_between_looks = 256;
  std::vector<Source> sources;
  std::vector<RowColumn> views;
  for (const MergedRows& some : from) {
    sources.push_back({.rows = &some});
    views.push_back(some.column != nullptr ? view_of(*some.column) : RowColumn{});
  }
  for (std::int64_t row = range.first; row < range.first + range.count; ++row) {
    if (row % rows_between_looks == 0) check.look();
    std::size_t i = 0;
    while (sources[i].next == sources[i].rows->rows.size() || sources[i].rows->rows[sources[i].next] != row) ++i;
    const auto place = static_cast<std::int64_t>(sources[i].next++);
    if (const Column* const column = sources[i].rows->column) {
      append_row(views[i], place, column->shape, to);
    } else {
      append_filled(fill, to);
    }
  }
}

}  // namespace

void merge_rows(std::span<const MergedRows> from, const RowRange& range, std::span<const std::byte> fill, Column& to,
                const StopCheck& check) {
  if (to.fixed() && to.dtype != DType::string) {
    merge_fixed(from, range, fill, to, check);
  } else {
    merge_growing(from, range, fill, to, check);
  }
  for (std::size_t part = 0; part < to.parts.size(); ++part) {
    std::vector<MergedRows> parts(from.begin(), from.end());
    for (MergedRows& some : parts) {
      if (some.column != nullptr) some.column = &some.column->parts[part];
    }
    merge_rows(parts, range, {}, to.parts[part], check);
  }
}

}  // namespace forebay::columns
