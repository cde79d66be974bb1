// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/index/early_check.h"
#include "engine/order/files/open_files.h"
#include "engine/read/whole_file_reader.h"

namespace forebay::engine {

/// One part of OpenFiles in one pass, from `announce` or `open` to `close`.
///
/// OpenFiles owns it; a thread that scans the file shares it. Each member belongs to one of three parties, as below:
/// the thread that scans, any thread that holds the mutex of OpenFiles, or the order plane. The picture is in
/// open_files.h.
struct ReaderState {
  ReaderState(const Program& program, std::uint32_t file, std::unique_ptr<BlockReader> reader)
      : number{file},
        first_file{static_cast<std::uint32_t>(program.source.locate(file, 0, 0).file)},
        scanner{std::move(reader)},
        memory{.kept = program.epochs != 1 && program.source.files_a_part == 0 &&
                       corruption_of(program) == Corruption::fail} {}

  const std::uint32_t number;      // of the part
  const std::uint32_t first_file;  // of the part, as an index of the source's list

  std::size_t branch = 0;  // of a combination; set by the thread that claims the file, for itself

  const std::unique_ptr<BlockReader> scanner;  // used by the thread that set `state` to running
  // Guarded by the mutex of OpenFiles.
  Scan state = Scan::idle;
  std::deque<std::unique_ptr<Block>> ready;  // found and not yet read, in order; null: a thread still checks the block
  std::uint64_t taken = 0;                   // blocks that the order has taken out of `ready`
  bool faulty = false;                       // a check has found the fault that ends the file
  std::optional<Error> broken;               // reported after the `ready` blocks: a scan ran out of memory
  bool soon = false;                         // the thread that scans must not be held up
  bool settling = false;                     // the file was just written: a worker must wait before its first block
  bool begun = false;                        // a block has been scanned
  bool read = false;                         // the order has taken a block
  bool need = false;                         // and that was so when the present scan began
  BlockMemory memory;   // of the blocks of this scan; that it is kept is assumed until the first block is scanned
  bool closed = false;  // no more blocks are read
  // Used by the order plane only.
  std::optional<std::uint32_t> block;        // slot of the block that is being read
  std::size_t next_record = 0;               // in that block
  std::size_t next_skip = 0;                 // in that block; while records are named, in the file
  std::int64_t skips = 0;                    // passed in the file
  bool left = false;                         // the rest of the file is skipped, or the file is closed
  bool brings = false;                       // reads files of a batch whose order is decided (bring_files)
  bool own = false;                          // records are named from beginning to end (OwnRows)
  std::shared_ptr<const RecordIndex> index;  // set while records are named by it: a restart catches up, or `own`
  std::optional<std::int64_t> named;         // set while records are named, and not read: their number in the part
  std::int64_t indexed = 0;                  // number of records that were named so far
  std::uint32_t left_out = 0;                // and of skipped records among them
  double fraction = 0;                       // part of the file that was read, up to the end of the block: 0 … 1
};

}  // namespace forebay::engine
