// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "columns/crc32c.h"
#include "engine/read/index_layout.h"
#include "engine/read/record_index.h"
#include "io/file.h"
#include "io/inflate.h"

namespace forebay::engine {

/// Reads records of one compressed file, forward only, for one `fetch_file` call on the order plane. Decompresses from
/// the nearest restart point. Fails with Code::data when a chunk does not match its checksum in the index, and
/// with Code::cancelled when `go_on` returns false.
class PackedReader {
 public:
  PackedReader(const RecordIndex& index, const io::RandomAccessFile& file, const std::function<bool()>& go_on)
      : index_{index}, file_{file}, go_on_{go_on} {}

  /// Fills `out`, which must stay valid as long as the reader. Offsets must not decrease from call to call.
  Result<void> read(std::int64_t offset, std::span<std::byte> out) {
    const std::size_t known = copy_known(offset, out);
    if (known == out.size()) return {};
    known_ = out;
    known_begin_ = offset;
    return read_new(offset + static_cast<std::int64_t>(known), out.subspan(known));
  }

  /// Bytes of the file that were decompressed so far.
  [[nodiscard]] std::int64_t consumed() const { return consumed_ + (inflater_ ? inflater_->consumed() - begun_ : 0); }

 private:
  /// Copies the first bytes of `out` from the earlier record that ends last; returns how many.
  std::size_t copy_known(std::int64_t offset, std::span<std::byte> out) const {
    const std::int64_t skipped = offset - known_begin_;
    if (skipped < 0 || skipped >= std::ssize(known_)) return 0;
    const auto from = known_.subspan(static_cast<std::size_t>(skipped));
    const std::size_t size = std::min(out.size(), from.size());
    std::memcpy(out.data(), from.data(), size);
    return size;
  }

  Result<void> read_new(std::int64_t offset, std::span<std::byte> out) {
    while (!out.empty()) {
      if (offset < chunk_.begin || offset >= chunk_.end) FOREBAY_DO(go_to(offset));
      const std::size_t size = std::min(out.size(), static_cast<std::size_t>(chunk_.end - offset));
      std::memcpy(out.data(), content_.data() + (offset - chunk_.begin), size);
      offset += static_cast<std::int64_t>(size);
      out = out.subspan(size);
    }
    return {};
  }

  Result<void> go_to(std::int64_t offset) {
    chunk_ = {};
    const RecordIndex::Chunk chunk = index_.chunk_at(offset);
    if (!inflater_ || chunk.begin < position_ || index_.restart_before(offset) > position_) {
      if (inflater_) consumed_ += inflater_->consumed() - begun_;
      const io::RestartPoint point = index_.point_before(offset);
      begun_ = point.compressed;
      FOREBAY_TRY(inflater_, io::Inflater::resume(index_.compression(), point));
      position_ = point.uncompressed;
    }
    while (position_ < chunk.begin) FOREBAY_DO(inflate(std::min(chunk.begin - position_, chunk_bytes)));
    FOREBAY_DO(inflate(chunk.end - chunk.begin));
    if (columns::crc32c(content_) != chunk.crc) {
      return Error{
          Code::data, Detail::data_loss,
          fmt::format("the compressed data are corrupt: bytes {} to {} of their content are not those that the "
                      "index was made of; `forebay verify` says what is wrong with the file",
                      chunk.begin, chunk.end),
          Place{.offset = chunk.begin}};
    }
    chunk_ = chunk;
    return {};
  }

  Result<void> inflate(std::int64_t bytes) {
    if (!go_on_()) return Error{Code::cancelled, "interrupted"};
    content_.resize(static_cast<std::size_t>(bytes));
    for (std::size_t done = 0; done < content_.size();) {
      FOREBAY_TRY(const std::size_t got, inflater_->read(file_, std::span{content_}.subspan(done)));
      if (got == 0 && !go_on_()) return Error{Code::cancelled, "interrupted"};
      if (got == 0 && inflater_->ended()) {
        return Error{Code::data, Detail::failed_precondition, "the file ends before a record that its index names",
                     Place{.offset = position_}};
      }
      done += got;
      position_ += static_cast<std::int64_t>(got);
    }
    return {};
  }

  const RecordIndex& index_;
  const io::RandomAccessFile& file_;
  const std::function<bool()>& go_on_;
  std::optional<io::Inflater> inflater_;
  RecordIndex::Chunk chunk_;          // the chunk in `content_`; empty at first and after a failure
  std::vector<std::byte> content_;    // the decompressed bytes
  std::int64_t position_ = 0;         // offset in the content of the byte that is decompressed next
  std::int64_t begun_ = 0;            // offset in the file where the present inflater began
  std::int64_t consumed_ = 0;         // bytes of the file that earlier inflaters decompressed
  std::span<const std::byte> known_;  // of the records read so far, the one that ends last
  std::int64_t known_begin_ = 0;      // offset in the content where that record begins
};

}  // namespace forebay::engine
