// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/error.h>
#include <forebay/format.h>
#include <forebay/record.h>
#include <forebay/rows.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/frames/frame_lists.h"
#include "engine/read/mapped_file.h"

namespace forebay::engine {

class PartInFiles;  // engine/blocks/part_in_files.h

/// The least number of readable bytes after every copy of a record. Decoders may read that many bytes past its end.
inline constexpr std::size_t min_room_after = 16;
/// The bytes after a record that its format verifies; rows that come ready have none.
[[nodiscard]] inline std::size_t trailer_of(const Source& source) {
  return source.format ? source.format->trailer() : 0;
}
/// The readable bytes after a copy of a record: its trailer, or `min_room_after` if more.
[[nodiscard]] inline std::size_t room_after(const Source& source) {
  return std::max(min_room_after, trailer_of(source));
}

/// Bytes: 32 MiB. The consumer leaves a larger batch to a worker if there is one, and with a deadline it does not scan
/// a larger record.
inline constexpr std::int64_t large_bytes = std::int64_t{32} << 20;

/// A part of a file that is not an intact record. With Corruption::find it is reported instead of an error.
struct Skip {
  enum class What : std::uint8_t {
    record,  ///< A record whose checksum is wrong or whose message is malformed: `records[index]`.
    range,   ///< Bytes that belong to no record, before `records[index]` or after the last record.
    file,    ///< A file that cannot be read at all. The size of the loss is not known.
  };
  What what = What::range;
  std::size_t index = 0;
  std::int64_t offset = 0;  ///< Offset in the (uncompressed) file.
  std::int64_t bytes = 0;   ///< Bytes of the whole frame or range. After a fault of compressed data: only the
                            ///< decompressed bytes, which may be none.
  Error error;  ///< The fault. Its place has the file, the offset, and the record; for a range, the next record.
};

/// Skips by kind.
struct SkipCounts {
  static constexpr std::size_t max_errors = 16;

  std::int64_t records = 0;  ///< Corrupt or malformed records.
  std::int64_t ranges = 0;   ///< Ranges of bytes in which no record was found.
  std::int64_t files = 0;    ///< With `skip_file`: files given up at their first corruption, or not readable at all.
  std::int64_t bytes = 0;    ///< Bytes of the skipped records and ranges.
  std::vector<Error> first;  ///< The errors of the first 16 skips.

  /// Adds what `now` has counted since it was `before`.
  void add(const SkipCounts& now, const SkipCounts& before) {
    records += now.records - before.records;
    ranges += now.ranges - before.ranges;
    files += now.files - before.files;
    bytes += now.bytes - before.bytes;
    for (std::size_t i = before.first.size(); i < now.first.size() && first.size() < max_errors; ++i)
      first.push_back(now.first[i]);
  }

  /// Counts no less than `other`, of the same data.
  void raise_to(const SkipCounts& other) {
    records = std::max(records, other.records);
    ranges = std::max(ranges, other.ranges);
    files = std::max(files, other.files);
    bytes = std::max(bytes, other.bytes);
    if (first.size() < other.first.size()) first = other.first;
  }
};

/// The records of a block in columns, beside their bytes (Taking::early). A cache: without it, tickets decode.
struct DecodedRecords {
  std::shared_ptr<const RowBlock> rows;  ///< Row i is record i. Its owner counts the memory in the budget. Null: none.
  std::int64_t bytes = 0;                ///< Of memory.
};

/// The unit of reading: a run of bytes of one file, or of whole files, and the extents of the records in them.
///
/// `base` points to the bytes. One of three members owns them:
///
///     mapped    base ──► MappedFile   `mapping`   pages of the file; no memory of the pool
///     streamed  base ──► memory       `buffer`    lent by the BufferPool, counted in its budget
///     cached    base ──► memory       `content`   shared with PassCache, which another pass has filled
///     gathered  base ──► memory       `buffer`    copies of single records; `ordinals` names them
///
/// A row block has columns instead of bytes: `rows` is set, and `base` and `records` stay empty.
///
/// A FileReader fills the first three, a WholeFileReader streamed ones. An IndexedReader and WholeFileAccess fill the
/// last. An IndexedReader also makes blocks without extents: each covers a segment of an indexed file, and `base` is
/// null when the file is compressed.
///
/// One thread at a time uses a block. A worker or the consumer scans it; the order plane fills gathered ones and row
/// blocks itself. Then the order plane's BlockTable owns it and recycles it after the last batch that was cut from it.
struct Block {
  const std::byte* base = nullptr;
  std::vector<Extent> records;
  /// Gathered, and row blocks that were compacted: by record, the ordinal of its handles, ascending. Else empty.
  std::vector<std::uint32_t> ordinals;
  std::vector<std::int64_t>
      attributes;  ///< By record, as many for each as RecordCheck::attributes; 0 of a skipped one.
  std::shared_ptr<const FrameLists> frame_lists;  ///< By record, when the orders need integers of frames; else null.
  DecodedRecords decoded;
  std::vector<Skip> skips;  ///< In the order of the file. Only with Corruption::find.
  std::uint32_t file = 0;
  std::int64_t file_offset = 0;   ///< Offset of `base` in the (uncompressed) file. Gathered: that of the segment.
  std::int64_t file_end = 0;      ///< Offset of the next block in the (uncompressed) file.
  std::int64_t first_record = 0;  ///< Ordinal in the file of the first record.
  /// With Corruption::find: the private bytes in which the records were found, from the one at `base` on. Of a mapped
  /// block these are `copy`, which is dropped after the check.
  std::span<const std::byte> checked;
  std::shared_ptr<std::byte> copy;
  std::shared_ptr<MappedFile> mapping;
  std::size_t mapped_bytes = 0;              ///< Bytes of the mapping that the block covers; 0 without records.
  bool kept = false;                         ///< PassCache owns the mapping, too: its pages are counted there and stay.
  std::shared_ptr<const std::byte> content;  ///< Bytes of an earlier pass (pass_cache.h), counted there.
  std::shared_ptr<const RowBlock> rows;      ///< Row block: its columns.
  std::shared_ptr<const PartInFiles> files;  ///< Row block of a part in files: its mappings. Else null.
  const Schema* row_schema = nullptr;  ///< Row block of a reader: its columns, so that rows can be copied. Else null.
  std::shared_ptr<void> row_charge;    ///< Row block: counts its memory in the budget, unless the program owns it.
  std::shared_ptr<std::byte> buffer;
  std::size_t buffer_bytes = 0;  ///< Bytes of `buffer`, or of a row block that is charged.
  std::optional<Error> error;    ///< The fault that ends the scan. The records before it are delivered first.
  bool last = false;             ///< The file ends after this block.
  std::int64_t bytes_read = 0;   ///< Bytes of the file that the scan of this block has read, compressed if the file is.
  double fraction = 0;           ///< Share of the file's bytes that was read up to the end of this block, 0 … 1.

  /// Number of elements: rows of a row block, else records.
  [[nodiscard]] std::size_t count() const { return rows ? static_cast<std::size_t>(rows->rows) : records.size(); }

  /// Frees the copy of mapped bytes, when all records were checked.
  void drop_copy() {
    checked = {};
    copy.reset();
  }

  /// Leaves no record in a block whose error comes first.
  void forget_records() {
    records.clear();
    skips.clear();
    attributes.clear();
    frame_lists.reset();
    decoded = {};
  }

  /// Empties the block for another scan. Drops its memory and its mapping; the lists stay allocated.
  void clear() {
    base = nullptr;
    drop_copy();
    records.clear();
    ordinals.clear();
    attributes.clear();
    frame_lists.reset();
    decoded = {};
    skips.clear();
    mapping.reset();
    content.reset();
    rows.reset();
    files.reset();
    row_schema = nullptr;
    row_charge.reset();
    buffer.reset();
    mapped_bytes = buffer_bytes = 0;
    error.reset();
    last = false;
  }
};

}  // namespace forebay::engine
