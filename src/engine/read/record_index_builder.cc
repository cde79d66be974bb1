// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "columns/crc32c.h"
#include "columns/crc32c_ranges.h"
#include "engine/read/index_layout.h"
#include "engine/read/record_index.h"

namespace forebay::engine {
namespace {

void append(std::vector<std::byte>& image, const void* bytes, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(bytes);
  image.insert(image.end(), begin, begin + size);
}

void append_points(std::vector<std::byte>& image, std::span<const io::RestartPoint> points) {
  std::uint64_t history = 0;
  for (const io::RestartPoint& point : points) {
    const StoredPoint stored{.compressed = static_cast<std::uint64_t>(point.compressed),
                             .uncompressed = static_cast<std::uint64_t>(point.uncompressed),
                             .history = history,
                             .history_size = static_cast<std::uint32_t>(point.history.size()),
                             .at = static_cast<std::uint8_t>(point.at),
                             .bit = point.bit};
    append(image, &stored, sizeof(stored));
    history += point.history.size();
  }
  for (const io::RestartPoint& point : points) append(image, point.history.data(), point.history.size());
}

}  // namespace

RecordIndexBuilder::RecordIndexBuilder(std::string signature)
    : signature_{std::move(signature)}, image_(records_begin(signature_.size())) {}

void RecordIndexBuilder::add(std::span<const Extent> records, std::int64_t base) {
  const std::size_t before = lengths_.size();
  const std::size_t image_before = image_.size();
  lengths_.resize(before + records.size());
  image_.resize(image_before + 8 * records.size());
  std::uint32_t* length = lengths_.data() + before;
  std::byte* place = image_.data() + image_before;
  for (const Extent& record : records) {
    const std::int64_t offset = base + record.offset;
    std::memcpy(place, &offset, sizeof(offset));
    place += sizeof(offset);
    *length++ = record.length;
  }
}

void RecordIndexBuilder::end_chunk() {
  if (content_ > chunk_begin_) sums_.push_back(chunk_crc_);
  chunk_begin_ = content_;
  chunk_crc_ = 0;
}

void RecordIndexBuilder::add_content(std::span<const std::byte> bytes, std::span<const io::RestartPoint> points) {
  while (!bytes.empty()) {
    while (next_point_ < points.size() && points[next_point_].uncompressed <= content_) {
      end_chunk();
      ++next_point_;
    }
    if (content_ - chunk_begin_ == chunk_bytes) end_chunk();
    std::int64_t end = chunk_begin_ + chunk_bytes;
    if (next_point_ < points.size()) end = std::min(end, points[next_point_].uncompressed);
    const std::size_t size = std::min(bytes.size(), static_cast<std::size_t>(end - content_));
    chunk_crc_ = columns::crc32c_joined(chunk_crc_, columns::crc32c(bytes.first(size)), size);
    content_ += static_cast<std::int64_t>(size);
    bytes = bytes.subspan(size);
  }
}

Result<std::shared_ptr<const RecordIndex>> RecordIndexBuilder::finish(const IndexHead& head,
                                                                      std::span<const io::RestartPoint> points) {
  if (signature_.size() > std::numeric_limits<std::uint8_t>::max()) {
    return Error{Code::internal, "a signature has at most 255 bytes"};
  }
  std::size_t histories = 0;
  for (const io::RestartPoint& point : points) histories += point.history.size();
  end_chunk();
  const std::size_t total = image_.size() + 4 * lengths_.size() + sizeof(StoredPoint) * points.size() + histories +
                            4 * sums_.size() + index_checksum_bytes;
  image_.reserve(total);
  append(image_, lengths_.data(), 4 * lengths_.size());
  append_points(image_, points);
  append(image_, sums_.data(), 4 * sums_.size());
  const StoredHead stored{.total = total,
                          .file_size = static_cast<std::uint64_t>(head.identity.size),
                          .modified_ns = head.identity.modified_ns,
                          .head_hash = head.identity.head,
                          .tail_hash = head.identity.tail,
                          .bytes = static_cast<std::uint64_t>(head.bytes),
                          .records = lengths_.size(),
                          .points = points.size(),
                          .history_bytes = histories,
                          .sums = sums_.size(),
                          .compression = static_cast<std::uint8_t>(head.compression),
                          .signature_size = static_cast<std::uint8_t>(signature_.size())};
  std::memcpy(image_.data(), &stored, sizeof(stored));
  std::copy_n(std::as_bytes(std::span{signature_}).begin(), signature_.size(),
              image_.begin() + static_cast<std::ptrdiff_t>(sizeof(stored)));
  const std::uint32_t checksum = columns::crc32c(image_);
  append(image_, &checksum, sizeof(checksum));
  std::vector<std::uint32_t>{}.swap(lengths_);
  image_.shrink_to_fit();
  return RecordIndex::parse(std::move(image_));
}

}  // namespace forebay::engine
