// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/index/trial_decode.h"
#include "engine/order/open_files.h"

namespace forebay::engine {

/// A file of a run, from its announcement until nothing more is wanted of it.
struct OpenFiles::ReaderState {
  ReaderState(const Program& program, std::uint32_t file, const std::shared_ptr<BufferPool>& pool, PassCache& kept,
              FileVersions& versions)
      : number{file},
        scanner{program.source, file, pool, kept, corruption_of(program), check_of(program, pool.get())},
        keeping{program.epochs != 1 && corruption_of(program) == Corruption::fail} {
    scanner.remember(versions);
  }

  static Corruption corruption_of(const Program& program) {
    return program.on_corrupt.policy == Corrupt::fail ? Corruption::fail : Corruption::find;
  }
  static RecordCheck check_of(const Program& program, const StopCheck* check) {
    if (corruption_of(program) == Corruption::fail) return {};
    return trial_check(program, check);
  }

  const std::uint32_t number;  // of the file

  FileReader scanner;  // of whoever has set `state` to running
  // Guarded by the mutex of OpenFiles.
  Scan state = Scan::idle;
  std::deque<std::unique_ptr<Block>> ready;
  std::optional<Error> broken;  // behind what is ready: there was no memory to scan it
  bool soon = false;            // the thread that scans it must come back soon
  bool settling = false;        // the file has just been written: its first block has to wait for a worker
  bool streamed = true;
  bool begun = false;  // a block has been scanned
  bool keeping;        // what is found is for later passes; before a block has shown it, supposed
  bool closed = false;
  // The order plane's own.
  std::optional<std::uint32_t> block;  // the one being read
  std::size_t next_record = 0;
  std::size_t next_skip = 0;
  bool left = false;                         // nothing more is wanted of it
  std::shared_ptr<const RecordIndex> index;  // names its records while a restart catches up …
  std::int64_t indexed = 0;                  // … up to this one
  double fraction = 0;                       // of the file, up to that block's end
};

}  // namespace forebay::engine
