// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/format.h>

#include "io/identity.h"
#include "io/inflate.h"

namespace forebay::engine {

/// The offset and length of every record of one file; for a compressed file also its restart points and the checksums
/// of its content. It is held in memory in the stored form (docs/formats/index.md):
///
///     head │ offsets       │ lengths       │ restart points │ histories             │ checksums          │ CRC-32C
///          │ 8 bytes each  │ 4 bytes each  │ 32 bytes each  │ up to 32 KiB a point  │ 4 bytes per 64 KiB │
///
/// Shared by the threads of a run. Immutable; any thread may read it.
class RecordIndex {
  struct Token {};  // only `parse` has one

 public:
  /// Takes the bytes of an index and checks all of them. In an index that is accepted, offsets increase strictly,
  /// every record lies inside the content (records may overlap), and restart points are in order. Fails with
  /// Code::data: data_loss for a corrupt index, failed_precondition for one of a newer version.
  [[nodiscard]] static Result<std::shared_ptr<const RecordIndex>> parse(std::vector<std::byte> image);
  RecordIndex(Token, std::vector<std::byte> image);  // for `parse`
  RecordIndex(const RecordIndex&) = delete;
  RecordIndex& operator=(const RecordIndex&) = delete;

  [[nodiscard]] std::int64_t records() const { return records_; }
  [[nodiscard]] std::int64_t records_before(std::int64_t offset) const;  ///< Whose offsets are smaller.
  /// Offset of the record's first payload byte in the (uncompressed) file. `record` must be from 0 to records() - 1.
  [[nodiscard]] std::int64_t offset(std::int64_t record) const { return number<std::int64_t>(offsets_ + 8 * record); }
  /// Bytes of the record's payload. When all gaps between records are equal, as in any intact file of frames, the
  /// length is computed from the next offset, which is in the same cache line; the stored length is in another page.
  [[nodiscard]] std::uint32_t length(std::int64_t record) const {
    if (spacing_ < 0 || record + 1 == records_) return stored_length(record);
    return static_cast<std::uint32_t>(offset(record + 1) - offset(record) - spacing_);
  }
  /// Prefetches the numbers of a record into the processor's cache.
  // always_inline: the compiler removes a call of a function that only prefetches, as one without effect.
  [[gnu::always_inline]] void prefetch(std::int64_t record) const {
    __builtin_prefetch(offsets_ + 8 * record);
    __builtin_prefetch(spacing_ < 0 ? lengths_ + 4 * record : offsets_ + 8 * record + 8);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  ///< Bytes of the uncompressed file.
  /// Sum of the payload bytes, at most INT64_MAX. It exceeds `bytes()` when records overlap.
  [[nodiscard]] std::int64_t payload_bytes() const { return payload_bytes_; }
  [[nodiscard]] Compression compression() const { return compression_; }
  [[nodiscard]] const io::FileIdentity& identity() const { return identity_; }  ///< The file's when it was scanned.
  /// The format's name and the options that change its records.
  [[nodiscard]] std::string_view signature() const { return signature_; }

  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] io::RestartPoint point(std::int64_t number) const;
  /// The last point at or before an offset of the uncompressed file; the file's beginning when there is none.
  [[nodiscard]] io::RestartPoint point_before(std::int64_t offset) const;
  /// Offset of that point in the uncompressed file.
  [[nodiscard]] std::int64_t restart_before(std::int64_t offset) const;
  /// The bytes of a compressed file that decompression to the bytes from `begin` to `end` of its content begins with:
  /// from the restart point before `begin` to the first one that is not before `end`.
  [[nodiscard]] io::ByteRange compressed_range(std::int64_t begin, std::int64_t end) const;
  /// The same bytes in pieces, one from each restart point to the next. Neighbours share a byte: a block may begin
  /// inside one.
  [[nodiscard]] std::vector<io::ByteRange> compressed_pieces(std::int64_t begin, std::int64_t end) const;
  /// A range of the uncompressed file with no restart point inside, and its CRC-32C.
  struct Chunk {
    std::int64_t begin = 0, end = 0;
    std::uint32_t crc = 0;
  };
  /// The chunk of a compressed file that contains `offset`, which must be from 0 to bytes() - 1.
  [[nodiscard]] Chunk chunk_at(std::int64_t offset) const;

  [[nodiscard]] std::span<const std::byte> image() const { return image_; }  ///< The bytes to store.
  /// The same for a file with this identity, which has the same bytes.
  [[nodiscard]] std::vector<std::byte> image_for(const io::FileIdentity& identity) const;

 private:
  [[nodiscard]] std::int64_t points_up_to(std::int64_t offset) const;
  template <class T>
  [[nodiscard]] T number(const std::byte* at) const {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  [[nodiscard]] std::uint32_t stored_length(std::int64_t record) const {
    return number<std::uint32_t>(lengths_ + 4 * record);
  }
  [[nodiscard]] Result<void> check_records();  // also sets spacing_ and payload_bytes_
  [[nodiscard]] Result<void> check_points();   // also sets first_sums_
  [[nodiscard]] std::int64_t uncompressed(std::int64_t point) const;
  [[nodiscard]] std::int64_t compressed(std::int64_t point) const;

  std::vector<std::byte> image_;
  const std::byte* offsets_ = nullptr;
  const std::byte* lengths_ = nullptr;
  const std::byte* point_table_ = nullptr;
  const std::byte* histories_ = nullptr;
  const std::byte* sums_ = nullptr;
  std::vector<std::int64_t> first_sums_;  // by restart point: the number of its first checksum
  std::int64_t records_ = 0, points_ = 0, bytes_ = 0, history_total_ = 0, sum_count_ = 0;
  std::int64_t payload_bytes_ = 0;
  std::int64_t spacing_ = -1;  // bytes between neighbouring payloads when all gaps are equal; else negative
  Compression compression_ = Compression::none;
  io::FileIdentity identity_;
  std::string signature_;
};

/// The facts about the file that an index stores in its head.
struct IndexHead {
  io::FileIdentity identity;
  Compression compression = Compression::none;
  std::int64_t bytes = 0;  ///< Of the uncompressed file.
};

/// Collects the records of one file and makes their index. The scan that makes the index owns it, on one thread.
/// Throws std::bad_alloc.
class RecordIndexBuilder {
 public:
  explicit RecordIndexBuilder(std::string signature);  ///< At most 255 bytes.
  /// Adds records in their order. Their extents count from `base`, an offset of the uncompressed file.
  void add(std::span<const Extent> records, std::int64_t base);
  /// Adds the next bytes of a compressed file's content, for the checksums. All content must be added, in its order.
  /// `points` must have all restart points up to the end of `bytes`.
  void add_content(std::span<const std::byte> bytes, std::span<const io::RestartPoint> points);
  [[nodiscard]] std::int64_t records() const { return static_cast<std::int64_t>(lengths_.size()); }
  /// Bytes of memory that the builder owns.
  [[nodiscard]] std::int64_t owned() const {
    return static_cast<std::int64_t>(image_.capacity() + 4 * lengths_.capacity() + 4 * sums_.capacity());
  }
  /// Makes the index; nothing may be added afterwards. Fails with Code::internal for a signature of more than 255
  /// bytes, and with Code::data as `RecordIndex::parse`.
  [[nodiscard]] Result<std::shared_ptr<const RecordIndex>> finish(const IndexHead& head,
                                                                  std::span<const io::RestartPoint> points);

 private:
  void end_chunk();
  const std::string signature_;
  std::vector<std::byte> image_;  // room for the head and the signature, then the offsets
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint32_t> sums_;
  std::int64_t content_ = 0;      // bytes of content so far
  std::int64_t chunk_begin_ = 0;  // offset of the current chunk
  std::uint32_t chunk_crc_ = 0;   // CRC-32C of the current chunk so far
  std::size_t next_point_ = 0;    // number of the first restart point after the current chunk's beginning
};

}  // namespace forebay::engine
