// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/streams.h"
#include "engine/trial_decode.h"

namespace forebay::engine {

/// A file of a run, from its announcement until nothing more is wanted of it.
struct Streams::Open {
  Open(const Program& program, std::uint32_t file, const std::shared_ptr<Pool>& pool, KeptFiles& kept)
      : number{file},
        scanner{program.source, file, pool, kept, damage_of(program), check_of(program, pool.get())},
        keeping{program.epochs != 1 && damage_of(program) == Damage::fail} {}

  static Damage damage_of(const Program& program) {
    return program.on_corrupt.policy == Corrupt::fail ? Damage::fail : Damage::find;
  }
  static RecordCheck check_of(const Program& program, const StopCheck* check) {
    if (damage_of(program) == Damage::fail) return {};
    return trial_check(program, check);
  }

  const std::uint32_t number;  // of the file

  Scanner scanner;  // of whoever has set `state` to running
  // Guarded by the mutex of Streams.
  Scan state = Scan::idle;
  std::deque<std::unique_ptr<Block>> ready;
  std::optional<Error> broken;  // behind what is ready: there was no memory to scan it
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
