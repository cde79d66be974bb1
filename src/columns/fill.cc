// SPDX-License-Identifier: Apache-2.0
#include "columns/fill.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace forebay::columns {

void fill(std::byte* out, std::span<const std::byte> element, std::size_t count) {
  const std::size_t total = element.size() * count;
  if (total == 0) return;
  if (std::all_of(element.begin(), element.end(), [&](std::byte at) { return at == element.front(); })) {
    std::memset(out, static_cast<int>(element.front()), total);
    return;
  }
  std::memcpy(out, element.data(), element.size());
  for (std::size_t done = element.size(); done < total;) {  // the filled part is appended to itself
    const std::size_t more = std::min(done, total - done);
    std::memcpy(out + done, out, more);
    done += more;
  }
}

void fill_strings(Column& out, std::span<const std::byte> element, std::size_t count) {
  auto end = static_cast<std::int64_t>(out.bytes.size());
  if (!element.empty()) fill(out.bytes.extend(element.size() * count), element, count);
  auto* const splits = reinterpret_cast<std::int64_t*>(out.byte_splits.extend(count * sizeof(std::int64_t)));
  for (std::size_t i = 0; i < count; ++i) splits[i] = end += static_cast<std::int64_t>(element.size());
}

namespace {

void copy(const Storage& in, Storage& out) {
  if (in.size() != 0) std::memcpy(out.resize(in.size()), in.data(), in.size());
}

}  // namespace

void copy_rows(const Column& in, Column& out) {
  out.rows = in.rows;
  copy(in.row_splits, out.row_splits);
  copy(in.dims, out.dims);
}

}  // namespace forebay::columns
