// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/index/early_check.h"
#include "engine/order/open_files.h"

namespace forebay::engine {

/// One file of OpenFiles in one pass, from `announce` or `open` to `close`.
///
/// OpenFiles owns it; a thread that scans the file shares it. Each member belongs to one of three parties, as below:
/// the thread that scans, any thread that holds the mutex of OpenFiles, or the order plane. The picture is in
/// open_files.h.
struct OpenFiles::ReaderState {
  ReaderState(const Program& program, std::uint32_t file, const std::shared_ptr<BufferPool>& pool, PassCache& kept,
              FileVersions& versions)
      : number{file},
        scanner{program.source, file, pool, kept, corruption_of(program), check_of(program, pool)},
        keeping{program.epochs != 1 && corruption_of(program) == Corruption::fail} {
    scanner.remember(versions);
  }

  const std::uint32_t number;  // of the file in the source's list

  FileReader scanner;  // used by the thread that set `state` to running
  // Guarded by the mutex of OpenFiles.
  Scan state = Scan::idle;
  std::deque<std::unique_ptr<Block>> ready;  // scanned and not yet read
  std::optional<Error> broken;               // reported after the `ready` blocks: a scan ran out of memory
  bool soon = false;                         // the thread that scans must not be held up
  bool settling = false;                     // the file was just written: a worker must wait before its first block
  bool streamed = true;                      // its blocks own memory
  bool begun = false;                        // a block has been scanned
  bool keeping;         // this scan collects content for PassCache; assumed until the first block is scanned
  bool closed = false;  // no more blocks are read
  // Used by the order plane only.
  std::optional<std::uint32_t> block;        // slot of the block that is being read
  std::size_t next_record = 0;               // in that block
  std::size_t next_skip = 0;                 // in that block
  bool left = false;                         // the rest of the file is skipped, or the file is closed
  std::shared_ptr<const RecordIndex> index;  // set while a restart catches up: records are named by it
  std::int64_t indexed = 0;                  // number of records named by `index` so far
  double fraction = 0;                       // part of the file that was read, up to the end of the block: 0 … 1
};

}  // namespace forebay::engine
