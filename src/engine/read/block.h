// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/error.h>
#include <forebay/format.h>
#include <forebay/record.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/mapped_file.h"

namespace forebay::engine {

/// Readable bytes that follow every copy of a record, for decoders that read a few bytes past its end. A format whose
/// trailer is longer gets its trailer instead (`room_after`).
inline constexpr std::size_t min_room_after = 16;
[[nodiscard]] inline std::size_t room_after(const Format& format) { return std::max(min_room_after, format.trailer()); }

/// What has more bytes than this is not for who must come back soon.
inline constexpr std::int64_t large_bytes = std::int64_t{32} << 20;

/// Something in a file that is no intact record.
struct Skip {
  enum class What : std::uint8_t {
    record,  ///< A record whose checksum is wrong or whose message is malformed: `records[index]`.
    range,   ///< Bytes that belong to no record, before `records[index]` or behind the last one.
    file,    ///< A file that cannot be read at all: how much that is, nobody knows.
  };
  What what = What::range;
  std::size_t index = 0;
  std::int64_t offset = 0;  ///< Where it begins in the (uncompressed) file.
  std::int64_t bytes = 0;   ///< All of its frame. Behind a fault of compressed data only what was inflated: perhaps 0.
  Error error;  ///< What is wrong, with file, ordinal of the record (a range's: of the next one) and offset.
};

/// The unit of reading: bytes of one file and the extents of the records in them. A mapped block points into its file
/// and holds no memory; a streamed one owns a buffer of the pool, or shares one that is kept.
struct Block {
  const std::byte* base = nullptr;
  std::vector<Extent> records;
  std::vector<std::uint32_t> ordinals;  ///< Of a parcel: which records of the file `records` are, ascending.
  std::vector<Skip> skips;              ///< In the order of the file; with Corruption::find only.
  std::uint32_t file = 0;
  std::int64_t file_offset = 0;        ///< Of `base` in the (uncompressed) file.
  std::int64_t file_end = 0;           ///< Where the next block begins.
  std::int64_t first_record = 0;       ///< Ordinal in the file of the first record.
  const std::byte* checked = nullptr;  ///< With Corruption::find, of a mapped file: the private copy of `base` in which
                                       ///< records were checked. Valid until the next scan.
  std::shared_ptr<MappedFile> mapping;
  std::size_t mapped_bytes = 0;
  bool kept = false;                         ///< Its pages stay mapped anyway.
  std::shared_ptr<const std::byte> content;  ///< Kept from an earlier pass (kept_files.h), and accounted there.
  std::shared_ptr<std::byte> buffer;
  std::size_t buffer_bytes = 0;
  std::optional<Error> error;   ///< Comes behind the records.
  bool last = false;            ///< The file ends here.
  std::int64_t bytes_read = 0;  ///< From the file, compressed if it is.
  double fraction = 0;          ///< Of the file's bytes, up to the end of this block.

  void clear() {
    base = checked = nullptr;
    records.clear();
    ordinals.clear();
    skips.clear();
    mapping.reset();
    content.reset();
    buffer.reset();
    mapped_bytes = buffer_bytes = 0;
    error.reset();
    last = false;
  }
};

}  // namespace forebay::engine
