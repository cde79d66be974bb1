// SPDX-License-Identifier: Apache-2.0
// Stored indexes: any bytes are refused, or all promises of the index hold.
#include <cstring>

#include "columns/crc32c.h"
#include "engine/read/index_layout.h"
#include "engine/read/record_index.h"
#include "fuzz/check.h"

using forebay::engine::RecordIndex;
using forebay::fuzz::check;

namespace {

void check_records(const RecordIndex& index) {
  for (std::int64_t i = 0; i < index.records(); ++i) {
    check(i == 0 || index.offset(i) > index.offset(i - 1), "offsets increase");
    check(index.offset(i) + index.length(i) <= index.bytes(), "records lie inside the content");
  }
}

void check_points(const RecordIndex& index) {
  for (std::int64_t i = 0; i < index.points(); ++i) {
    const forebay::io::RestartPoint point = index.point(i);
    check(point.compressed >= 0 && point.compressed < index.identity().size, "points lie inside the file");
    check(point.uncompressed >= 0 && point.uncompressed <= index.bytes(), "points lie inside the content");
    check(i == 0 || point.uncompressed > index.point(i - 1).uncompressed, "points are in order");
    check(index.point_before(point.uncompressed) == point, "a point is found");
    check(forebay::io::Inflater::resume(index.compression(), point).ok(), "inflating can begin at a point");
  }
  check(index.point_before(0) == forebay::io::RestartPoint{}, "the first point is the beginning");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = forebay::fuzz::bytes_of(data + 1, size - 1);
  std::vector<std::byte> image{bytes.begin(), bytes.end()};
  using forebay::engine::index_checksum_bytes;
  if ((data[0] & 1) != 0 && image.size() >= sizeof(forebay::engine::StoredHead) + index_checksum_bytes) {
    // A fuzzer does not find right sizes and checksums by chance, so they are corrected here.
    const std::uint64_t total = image.size();
    std::memcpy(image.data() + offsetof(forebay::engine::StoredHead, total), &total, sizeof(total));
    const std::size_t covered = image.size() - index_checksum_bytes;
    const std::uint32_t sum = forebay::columns::crc32c(std::span{image}.first(covered));
    std::memcpy(image.data() + covered, &sum, sizeof(sum));
  }
  const auto index = RecordIndex::parse(std::move(image));
  if (!index.ok()) {
    check(!index.error().text().empty(), "a refusal says why");
    return 0;
  }
  check_records(**index);
  check_points(**index);
  return 0;
}
