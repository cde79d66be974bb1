// SPDX-License-Identifier: Apache-2.0
#include "engine/read/record_index.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "columns/crc32c.h"
#include "engine/read/index_layout.h"

namespace forebay::engine {
namespace {

constexpr std::uint64_t max_offset = std::uint64_t{1} << 62;

Error corrupt(std::string_view what) {
  return Error{Code::data, Detail::data_loss, fmt::format("the index is corrupt: {}", what)};
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// Whether the parts that the head counts add up to `size` bytes. Counts are bounded before they are multiplied.
bool sizes_agree(const StoredHead& head, std::size_t size) {
  if (head.total != size || head.records > size / 12 || head.points > size / sizeof(StoredPoint)) return false;
  if (head.history_bytes > size || head.sums > size / sizeof(std::uint32_t)) return false;
  return records_begin(head.signature_size) + 12 * head.records + sizeof(StoredPoint) * head.points +
             head.history_bytes + sizeof(std::uint32_t) * head.sums + index_checksum_bytes ==
         size;
}

Result<void> check_head(const StoredHead& head, std::span<const std::byte> image) {
  if (head.magic != index_magic || head.version != ~head.not_version || head.version == 0) {
    return corrupt("it does not begin like one");
  }
  if (head.version > index_version) {
    return Error{Code::data, Detail::failed_precondition,
                 fmt::format("the index has version {}; this program reads version {}", head.version, index_version)};
  }
  if (head.version < index_version) return corrupt(fmt::format("it has version {}, an old one", head.version));
  if (!sizes_agree(head, image.size())) return corrupt("its parts do not add up to its size");
  const std::size_t covered = image.size() - index_checksum_bytes;
  if (columns::crc32c(image.first(covered)) != load<std::uint32_t>(image.data() + covered)) {
    return corrupt("its checksum is wrong");
  }
  if (head.compression > static_cast<std::uint8_t>(Compression::xz)) return corrupt("unknown compression");
  if (head.zero != decltype(head.zero){}) return corrupt("bytes that must be zero are not");
  if (head.bytes > max_offset || head.file_size > max_offset) return corrupt("a size is too large");
  const bool plain = head.compression == static_cast<std::uint8_t>(Compression::none);
  if (plain && (head.bytes != head.file_size || head.points != 0)) return corrupt("a plain file has restart points");
  if (plain ? head.history_bytes != 0 : (head.points == 0 && head.bytes != 0)) return corrupt("no restart point");
  return {};
}

}  // namespace

RecordIndex::RecordIndex(Token, std::vector<std::byte> image) : image_{std::move(image)} {
  const auto head = load<StoredHead>(image_.data());
  records_ = static_cast<std::int64_t>(head.records);
  points_ = static_cast<std::int64_t>(head.points);
  bytes_ = static_cast<std::int64_t>(head.bytes);
  history_total_ = static_cast<std::int64_t>(head.history_bytes);
  sum_count_ = static_cast<std::int64_t>(head.sums);
  compression_ = static_cast<Compression>(head.compression);
  identity_ = {.size = static_cast<std::int64_t>(head.file_size),
               .modified_ns = head.modified_ns,
               .head = head.head_hash,
               .tail = head.tail_hash};
  signature_.assign(reinterpret_cast<const char*>(image_.data() + sizeof(head)), head.signature_size);
  offsets_ = image_.data() + records_begin(head.signature_size);
  lengths_ = offsets_ + 8 * head.records;
  point_table_ = lengths_ + 4 * head.records;
  histories_ = point_table_ + sizeof(StoredPoint) * head.points;
  sums_ = histories_ + head.history_bytes;
}

std::vector<std::byte> RecordIndex::image_for(const io::FileIdentity& identity) const {
  std::vector<std::byte> out = image_;
  auto head = load<StoredHead>(out.data());
  head.file_size = static_cast<std::uint64_t>(identity.size);
  head.modified_ns = identity.modified_ns;
  head.head_hash = identity.head;
  head.tail_hash = identity.tail;
  std::memcpy(out.data(), &head, sizeof(head));
  const std::size_t covered = out.size() - index_checksum_bytes;
  const std::uint32_t crc = columns::crc32c(std::span{out}.first(covered));
  std::memcpy(out.data() + covered, &crc, sizeof(crc));
  return out;
}

Result<std::shared_ptr<const RecordIndex>> RecordIndex::parse(std::vector<std::byte> image) {
  if (image.size() < sizeof(StoredHead)) return corrupt("it is too short");
  FOREBAY_DO(check_head(load<StoredHead>(image.data()), image));
  auto index = std::make_shared<RecordIndex>(Token{}, std::move(image));
  FOREBAY_DO(index->check_records());
  FOREBAY_DO(index->check_points());
  return std::shared_ptr<const RecordIndex>{std::move(index)};
}

Result<void> RecordIndex::check_records() {
  std::int64_t end = 0;     // of the previous record
  std::int64_t begin = -1;  // of the previous record
  bool equal_gaps = records_ > 1;
  std::int64_t spacing = 0;
  for (std::int64_t i = 0; i < records_; ++i) {
    const std::int64_t at = offset(i);
    const std::int64_t length = stored_length(i);
    if (at <= begin || at > bytes_ || length > bytes_ - at) {
      return corrupt(fmt::format("record {} does not begin after the one before and end inside the file", i));
    }
    if (i == 1) spacing = at - end;
    equal_gaps = equal_gaps && (i == 0 || at - end == spacing);
    if (__builtin_add_overflow(payload_bytes_, length, &payload_bytes_)) payload_bytes_ = INT64_MAX;
    begin = at;
    end = at + length;
  }
  if (equal_gaps) spacing_ = spacing;  // negative when records overlap: the stored lengths are used then
  return {};
}

Result<void> RecordIndex::check_points() {
  const bool has_blocks = compression_ == Compression::gzip || compression_ == Compression::zlib;
  std::uint64_t histories = 0;
  StoredPoint before;
  for (std::int64_t i = 0; i < points_; ++i) {
    const auto point = load<StoredPoint>(point_table_ + i * static_cast<std::int64_t>(sizeof(StoredPoint)));
    const bool stream = point.at == 0;
    const bool possible = point.at <= (has_blocks ? 1 : 0) && point.bit <= 7 && point.zero == decltype(point.zero){} &&
                          point.history_size <= io::history_bytes &&
                          (stream ? point.bit == 0 && point.history_size == 0 : point.compressed > 0);
    const bool inside = point.compressed < static_cast<std::uint64_t>(identity_.size) &&
                        point.uncompressed <= static_cast<std::uint64_t>(bytes_) &&
                        point.history_size <= point.uncompressed && point.history == histories &&
                        point.history_size <= static_cast<std::uint64_t>(history_total_) - histories;
    const bool follows = i == 0 ? stream && point.compressed == 0 && point.uncompressed == 0
                                : point.uncompressed > before.uncompressed && point.compressed >= before.compressed;
    if (!possible || !inside || !follows) return corrupt(fmt::format("restart point {} is not possible", i));
    histories += point.history_size;
    before = point;
  }
  if (histories != static_cast<std::uint64_t>(history_total_)) return corrupt("unused history");
  std::int64_t sums = 0;
  for (std::int64_t i = 0; i < points_; ++i) {
    first_sums_.push_back(sums);
    const std::int64_t end = i + 1 < points_ ? uncompressed(i + 1) : bytes_;
    sums += (end - uncompressed(i) + chunk_bytes - 1) / chunk_bytes;
  }
  return sums == sum_count_ ? Result<void>{} : corrupt("its checksums are not those of its content");
}

io::RestartPoint RecordIndex::point(std::int64_t number) const {
  const auto stored = load<StoredPoint>(point_table_ + number * static_cast<std::int64_t>(sizeof(StoredPoint)));
  const std::byte* const history = histories_ + stored.history;
  return {.at = static_cast<io::RestartPoint::At>(stored.at),
          .bit = stored.bit,
          .compressed = static_cast<std::int64_t>(stored.compressed),
          .uncompressed = static_cast<std::int64_t>(stored.uncompressed),
          .history = {history, history + stored.history_size}};
}

std::int64_t RecordIndex::records_before(std::int64_t offset) const {
  std::int64_t first = 0, last = records();  // offsets before `first` are smaller, those from `last` on are not
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    if (this->offset(middle) < offset) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

std::int64_t RecordIndex::uncompressed(std::int64_t point) const {
  const auto stored = load<StoredPoint>(point_table_ + point * static_cast<std::int64_t>(sizeof(StoredPoint)));
  return static_cast<std::int64_t>(stored.uncompressed);
}

std::int64_t RecordIndex::compressed(std::int64_t point) const {
  const auto stored = load<StoredPoint>(point_table_ + point * static_cast<std::int64_t>(sizeof(StoredPoint)));
  return static_cast<std::int64_t>(stored.compressed);
}

io::ByteRange RecordIndex::compressed_range(std::int64_t begin, std::int64_t end) const {
  const std::int64_t first = std::max<std::int64_t>(0, points_up_to(begin) - 1);
  const std::int64_t after = end > begin ? points_up_to(end - 1) : first + 1;  // a block may begin inside a byte
  const std::int64_t from = first < points_ ? compressed(first) : 0;
  const std::int64_t to = after < points_ ? std::min(compressed(after) + 1, identity_.size) : identity_.size;
  return {.offset = from, .bytes = to - from};
}

std::vector<io::ByteRange> RecordIndex::compressed_pieces(std::int64_t begin, std::int64_t end) const {
  const io::ByteRange all = compressed_range(begin, end);
  std::vector<io::ByteRange> out;
  std::int64_t from = all.offset;
  for (std::int64_t next = std::max<std::int64_t>(1, points_up_to(begin)); from < all.end(); ++next) {
    const std::int64_t after = next < points_ ? std::min(compressed(next), all.end()) : all.end();
    out.push_back({.offset = from, .bytes = std::min(after + 1, all.end()) - from});
    if (out.back().end() == all.end()) break;
    from = after;
  }
  return out;
}

std::int64_t RecordIndex::points_up_to(std::int64_t offset) const {
  std::int64_t low = 0;  // points before this one are at or before `offset`
  for (std::int64_t high = points_; low < high;) {
    const std::int64_t middle = low + (high - low) / 2;
    if (uncompressed(middle) <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

io::RestartPoint RecordIndex::point_before(std::int64_t offset) const {
  const std::int64_t points = points_up_to(offset);
  return points == 0 ? io::RestartPoint{} : point(points - 1);
}

std::int64_t RecordIndex::restart_before(std::int64_t offset) const {
  const std::int64_t points = points_up_to(offset);
  return points == 0 ? 0 : uncompressed(points - 1);
}

RecordIndex::Chunk RecordIndex::chunk_at(std::int64_t offset) const {
  const std::int64_t point = points_up_to(offset) - 1;
  const std::int64_t end = point + 1 < points_ ? uncompressed(point + 1) : bytes_;
  const std::int64_t chunk = (offset - uncompressed(point)) / chunk_bytes;
  const std::int64_t begin = uncompressed(point) + chunk * chunk_bytes;
  const std::int64_t sum = first_sums_[static_cast<std::size_t>(point)] + chunk;
  return {.begin = begin, .end = std::min(begin + chunk_bytes, end), .crc = number<std::uint32_t>(sums_ + 4 * sum)};
}

}  // namespace forebay::engine
