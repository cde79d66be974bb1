// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <forebay/record.h>

#include "engine/memory/buffer_pool.h"

namespace forebay::engine {

/// Private copies of the records of one group, with the trailer of each (Format::trailer: its checksum) and
/// `record_slack` bytes after the last one.
///
/// Each worker owns one. Its buffer comes from the pool and counts against the budget. A buffer of up to 1 MiB stays
/// for the next group, a larger one until `end`.
///
///     mapping     … | header | payload | trailer | header | payload | trailer | …
///                             └───────┬───────┘            └───────┬───────┘
///     buffer                  payload trailer pad          payload trailer pad … slack
class RecordCopies {
 public:
  /// `trailer`: bytes after a record that its format verifies.
  explicit RecordCopies(std::size_t trailer) : trailer_{trailer} {}

  static constexpr std::size_t step =
      64;  ///< Bytes are copied in steps of this size; a mapping has them after its end.

  /// Makes room for copies of `records` records with this many bytes in all. The copies made so far become invalid.
  void begin(BufferPool& pool, std::size_t bytes, std::size_t records) {
    const std::size_t needed = bytes + records * (trailer_ + step);
    if (needed > capacity_ || capacity_ > max_cached) lend(pool, needed);
    next_ = buffer_.get();
  }
  /// Replaces each record by its copy. Throws Closed when the run is stopped during the copy of a large record.
  void add(std::span<Record> records, const StopCheck& check) {
    next_ = capacity_ <= max_cached ? copy_records(records, trailer_, next_) : copy_large(records, check);
  }
  /// The copies are not used any more. A large buffer goes back to the pool.
  void end() {
    if (capacity_ <= max_cached) return;
    buffer_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr std::size_t max_cached = std::size_t{1} << 20;  // bytes of a buffer that stays for the next group
  [[nodiscard]] static std::byte* copy_records(std::span<Record> records, std::size_t trailer, std::byte* out);
  [[nodiscard]] std::byte* copy_large(std::span<Record> records, const StopCheck& check);
  void lend(BufferPool& pool, std::size_t bytes);

  const std::size_t trailer_;
  std::shared_ptr<std::byte> buffer_;
  std::size_t capacity_ = 0;
  std::byte* next_ = nullptr;
};

}  // namespace forebay::engine
