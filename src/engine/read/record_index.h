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

/// The place of every record of one file; for a compressed file also its restart points and the checksums of its
/// content. It takes 12 bytes a record, a history of 32 KiB for each restart point inside a stream, and 4 bytes for
/// each 64 KiB of compressed content, and is held in memory as it is stored (docs/formats/index.md). Immutable; any
/// thread may read it.
class RecordIndex {
  struct Token {};  // only `parse` has one

 public:
  /// Takes the bytes of an index. Nothing in them is trusted: in an index that is accepted, offsets increase strictly,
  /// every record lies inside the content (records may overlap), and restart points are in order. Fails with
  /// Code::data: data_loss for a corrupt index, failed_precondition for one of a newer version.
  [[nodiscard]] static Result<std::shared_ptr<const RecordIndex>> parse(std::vector<std::byte> image);
  RecordIndex(Token, std::vector<std::byte> image);  // for `parse`
  RecordIndex(const RecordIndex&) = delete;
  RecordIndex& operator=(const RecordIndex&) = delete;

  [[nodiscard]] std::int64_t records() const { return records_; }
  /// Of the record's first payload byte in the uncompressed file. `record` must be from 0 to records() - 1.
  [[nodiscard]] std::int64_t offset(std::int64_t record) const { return number<std::int64_t>(offsets_ + 8 * record); }
  /// Where the gaps between records are equal, as in any intact file of frames, the next record's offset gives the
  /// length: it is in the same cache line, the stored length in another page.
  [[nodiscard]] std::uint32_t length(std::int64_t record) const {
    if (spacing_ < 0 || record + 1 == records_) return stored_length(record);
    return static_cast<std::uint32_t>(offset(record + 1) - offset(record) - spacing_);
  }
  // A call of a function that does nothing but this would be taken for one without effect.
  [[gnu::always_inline]] void prefetch(std::int64_t record) const {
    __builtin_prefetch(offsets_ + 8 * record);
    __builtin_prefetch(spacing_ < 0 ? lengths_ + 4 * record : offsets_ + 8 * record + 8);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }  ///< Of the uncompressed file.
  /// Bytes of all payloads together, at most INT64_MAX: more than `bytes()` where records overlap.
  [[nodiscard]] std::int64_t payload_bytes() const { return payload_bytes_; }
  [[nodiscard]] Compression compression() const { return compression_; }
  [[nodiscard]] const io::FileIdentity& identity() const { return identity_; }  ///< Of the file when it was scanned.
  /// What split the file into records: the format's name and the options that matter.
  [[nodiscard]] std::string_view signature() const { return signature_; }

  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] io::RestartPoint point(std::int64_t number) const;
  /// The last point at or before a place in the uncompressed file; the file's beginning when there is none.
  [[nodiscard]] io::RestartPoint point_before(std::int64_t offset) const;
  /// Where that point begins in the uncompressed file.
  [[nodiscard]] std::int64_t restart_before(std::int64_t offset) const;
  /// A piece of the content, which no restart point divides, and its CRC-32C.
  struct Chunk {
    std::int64_t begin = 0, end = 0;
    std::uint32_t crc = 0;
  };
  /// Of a compressed file: the one that a place from 0 to bytes() - 1 lies in.
  [[nodiscard]] Chunk chunk_at(std::int64_t offset) const;

  [[nodiscard]] std::span<const std::byte> image() const { return image_; }  ///< To be stored.

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
  [[nodiscard]] Result<void> check_records();  // and finds their spacing
  [[nodiscard]] Result<void> check_points();   // and finds the checksums of what follows each
  [[nodiscard]] std::int64_t uncompressed(std::int64_t point) const;

  std::vector<std::byte> image_;
  const std::byte* offsets_ = nullptr;
  const std::byte* lengths_ = nullptr;
  const std::byte* point_table_ = nullptr;
  const std::byte* histories_ = nullptr;
  const std::byte* sums_ = nullptr;
  std::vector<std::int64_t> first_sums_;  // by restart point
  std::int64_t records_ = 0, points_ = 0, bytes_ = 0, history_total_ = 0, sum_count_ = 0;
  std::int64_t payload_bytes_ = 0;
  std::int64_t spacing_ = -1;  // bytes between two neighbouring records, where all gaps are equal; else negative
  Compression compression_ = Compression::none;
  io::FileIdentity identity_;
  std::string signature_;
};

/// What an index says besides its records.
struct IndexHead {
  io::FileIdentity identity;
  Compression compression = Compression::none;
  std::int64_t bytes = 0;
};

/// Collects records into the form that is stored.
class RecordIndexBuilder {
 public:
  explicit RecordIndexBuilder(std::string signature);  ///< Of at most 255 bytes.
  /// Records in their order; extents count from `base` in the uncompressed file.
  void add(std::span<const Extent> records, std::int64_t base);
  /// The content of a compressed file, in its order and all of it, from which checksums are made. Of the restart points
  /// up to the end of `bytes` none may be missing.
  void add_content(std::span<const std::byte> bytes, std::span<const io::RestartPoint> points);
  [[nodiscard]] std::int64_t records() const { return static_cast<std::int64_t>(lengths_.size()); }
  /// Bytes of memory that it owns.
  [[nodiscard]] std::int64_t owned() const {
    return static_cast<std::int64_t>(image_.capacity() + 4 * lengths_.capacity() + 4 * sums_.capacity());
  }
  /// Nothing may be added afterwards.
  [[nodiscard]] Result<std::shared_ptr<const RecordIndex>> finish(const IndexHead& head,
                                                                  std::span<const io::RestartPoint> points);

 private:
  void end_chunk();
  const std::string signature_;
  std::vector<std::byte> image_;  // room for the head, then the offsets
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint32_t> sums_;
  std::int64_t content_ = 0;      // bytes of it so far
  std::int64_t chunk_begin_ = 0;  // of the chunk that has begun …
  std::uint32_t chunk_crc_ = 0;   // … up to here
  std::size_t next_point_ = 0;    // that no chunk begins with so far
};

}  // namespace forebay::engine
