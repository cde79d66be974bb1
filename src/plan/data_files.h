// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/program/on_corrupt.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// Faults for the files that a run would only find missing, or no files at all, in its middle; not for those that
/// `policy` passes over. `options` are the source's, whose "files" the paths come from. Inspects each path once.
void check_files(const std::vector<std::string>& files, const Json& options, const std::string& folder,
                 const engine::OnCorrupt& policy, Faults& faults);

/// The files of the patterns in "files" that name some, where others do not.
[[nodiscard]] std::vector<std::string> known_files(const Json& options, const std::string& folder);

}  // namespace forebay::plan
