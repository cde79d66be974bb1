// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forebay/format.h>

#include "engine/program/program.h"

namespace forebay::engine {

/// Adds the programs that read the sources of a plan, in the order of its document.
inline void add_readers(const Program& program, std::vector<const Program*>& out) {
  const Program& reads = innermost(program);
  if (reads.branches.empty()) out.push_back(&reads);
  for (const Program& branch : reads.branches) add_readers(branch, out);
}

/// The programs of a plan that read records of files: not those of rows that come ready.
[[nodiscard]] inline std::vector<const Program*> readers_of_files(const Program& program) {
  std::vector<const Program*> out;
  add_readers(program, out);
  std::erase_if(out, [](const Program* reader) { return reader->source.rows != nullptr; });
  return out;
}

/// Why a tool that looks into records has nothing to do; `so` says what follows.
[[nodiscard]] inline Error no_records(std::string_view so) {
  return {Code::config, Detail::invalid_argument,
          "the rows of this plan are arrays, in memory or in files, or are given by the program, and no records: " +
              std::string{so}};
}

}  // namespace forebay::engine
