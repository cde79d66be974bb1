// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/error.h>

#include "engine/read/block.h"
#include "engine/read/corruption.h"
#include "engine/read/record_index.h"

namespace forebay::engine {

/// Where the bytes of blocks are.
struct BlockMemory {
  bool own = true;    ///< In memory of the blocks, and not in a mapping or a content that stays.
  bool kept = false;  ///< They are collected for later passes (PassCache), and shared with the blocks.
};

/// Reads one part of a source from its beginning to its end, block by block: a file (FileReader), or a run of files of
/// which each is a record (WholeFileReader).
///
///     find  ─► a block of records, in the order of the part ─► check: any thread, several blocks at a time
///
/// A ReaderState of the run owns it. One thread at a time calls it; `check` alone is for any thread at any time.
class BlockReader {
 public:
  virtual ~BlockReader() = default;
  /// Fills a cleared block with the next records. Called until a block has `last` or an error. An error is stored in
  /// the block; the block's records come before it.
  virtual void find(Block& block) = 0;
  /// Looks into the records of a block of `find`, with a check that no other thread uses now. Adds the attributes, and
  /// skips or the error of the first bad record, which comes before an error that the block has.
  virtual void check(Block& block, const RecordCheck& check) const = 0;
  /// Starts at a record instead of the first one. Called before the first `find`. `index` is that of a file; null for a
  /// part of whole files. Does not wait for another machine: then `find` fails where this would.
  [[nodiscard]] virtual Result<void> seek(std::int64_t record, const std::shared_ptr<const RecordIndex>& index) = 0;
  /// Returns whether the first `find` waits because the file was written a moment ago.
  [[nodiscard]] virtual bool must_settle() { return false; }
  /// Returns whether the next `find` gets on: bytes that it needs have come, or may be asked for. A `find` never waits;
  /// without bytes it fills nothing. False only between two calls; the run is woken when that changes.
  [[nodiscard]] virtual bool ready() const { return true; }
  /// Called between two calls of `find`, when the order reads this part now: it comes before those that are read ahead.
  virtual void need() {}
  /// Returns whether the next `find` works on a record of more than `large_bytes`, as far as is known now.
  [[nodiscard]] virtual bool next_is_large() const = 0;
  [[nodiscard]] virtual BlockMemory memory() const { return {}; }
};

}  // namespace forebay::engine
