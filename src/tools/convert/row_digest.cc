// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>

#include <fmt/format.h>

#include "columns/crc32c.h"
#include "columns/crc32c_ranges.h"
#include "tools/convert/value_rows.h"

namespace forebay {

namespace {

/// The checksum and the number of bytes of a stream, of which a piece is appended; independent of how it is cut.
struct ByteStream {
  std::uint64_t& sum;  // 32 bits of checksum below 32 bits of a count

  void append(std::span<const std::byte> bytes) {
    const auto before = static_cast<std::uint32_t>(sum);
    const auto count = static_cast<std::uint32_t>((sum >> 32) + bytes.size());
    const std::uint32_t now = columns::crc32c_joined(before, columns::crc32c(bytes), bytes.size());
    sum = std::uint64_t{count} << 32 | now;
  }
  void append(const std::vector<std::int64_t>& numbers) { append(std::as_bytes(std::span{numbers})); }
};

/// Differences of neighbours: lengths, which do not depend on where a batch begins.
std::vector<std::int64_t> lengths_of(const std::int64_t* splits, std::size_t first, std::size_t end) {
  std::vector<std::int64_t> out;
  for (std::size_t i = first; i < end; ++i) out.push_back(splits[i + 1] - splits[i]);
  return out;
}

void add_values(const Tensor& values, std::size_t first, std::size_t end, std::uint64_t& sum, std::uint64_t& sizes) {
  if (end == first) return;
  if (values.dtype != DType::string) {
    const std::size_t size = size_of(values.dtype);
    return ByteStream{sum}.append({values.data + first * size, (end - first) * size});
  }
  const std::int64_t* const splits = values.byte_splits;
  ByteStream{sum}.append({values.bytes + splits[first], static_cast<std::size_t>(splits[end] - splits[first])});
  ByteStream{sizes}.append(lengths_of(splits, first, end));
}

/// The lengths of the lists of each level.
void add_levels(const Value& value, std::size_t end, std::vector<std::uint64_t>& levels) {
  levels.resize(value.row_splits.size());
  std::size_t first = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::vector<std::int64_t> splits = tools::numbers_of(value.row_splits[level]);
    ByteStream{levels[level]}.append(lengths_of(splits.data(), first, end));
    first = static_cast<std::size_t>(splits[first]);
    end = static_cast<std::size_t>(splits[end]);
  }
}

/// The same of a tensor whose lists have their lengths beside it.
void add_lengths(const Value& lengths, std::size_t end, std::vector<std::uint64_t>& levels) {
  levels.resize(2);
  const std::vector<std::int64_t> splits = tools::numbers_of(lengths.row_splits[0]);
  ByteStream{levels[0]}.append(lengths_of(splits.data(), 0, end));
  const std::vector<std::int64_t> all = tools::numbers_of(lengths.values);
  const auto used = static_cast<std::size_t>(splits[end]);
  ByteStream{levels[1]}.append(std::as_bytes(std::span{all}.first(used)));
}

}  // namespace

Result<void> RowDigest::add(const Batch& batch) {
  for (const std::string& name : batch.names()) {
    if (tools::are_lengths(batch, name)) continue;
    const Value& value = *batch.find(name);
    auto rows = tools::ValueRows::make(value, batch.rows());
    if (!rows.ok()) return rows.error().at(Place{.feature = name});
    Sums& sums = tensors_[name];
    const auto end = static_cast<std::size_t>(batch.valid_rows());
    if (const Value* const lengths = tools::lengths_beside(batch, name)) {
      add_lengths(*lengths, end, sums.levels);
    } else {
      add_levels(value, end, sums.levels);
    }
    add_values(value.values, rows->begin(0), rows->begin(batch.valid_rows()), sums.values, sums.sizes);
  }
  rows_ += batch.valid_rows();
  return {};
}

std::string RowDigest::text() const {
  std::string out = fmt::format("{} rows", rows_);
  for (const auto& [name, sums] : tensors_) {
    out += fmt::format(" {}:{:x}.{:x}", name, sums.values, sums.sizes);
    for (const std::uint64_t level : sums.levels) out += fmt::format(".{:x}", level);
  }
  return out;
}

}  // namespace forebay
