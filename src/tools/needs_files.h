// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <forebay/format.h>

#include "engine/program/program.h"

namespace forebay::engine {

/// Fails with Code::config when the source is rows that come ready: a tool that looks into files finds none.
[[nodiscard]] inline Result<void> needs_files(const Source& source) {
  if (!source.rows) return {};
  if (source.rows->charged) {
    return Error{
        Code::config, Detail::invalid_argument,
        "the rows of this plan are made between its stages (docs/composition.md): give a document of the stages "
        "before that"};
  }
  return Error{Code::config, Detail::invalid_argument,
               "the source of this plan is rows that the program holds: it has no files"};
}

/// The source of a program, or those of its branches.
[[nodiscard]] inline std::vector<const Source*> sources_of(const Program& program) {
  if (program.branches.empty()) return {&program.source};
  std::vector<const Source*> out;
  for (const Program& branch : program.branches) out.push_back(&branch.source);
  return out;
}

}  // namespace forebay::engine
