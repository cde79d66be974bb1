// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/describe.h>

#include "engine/program/on_corrupt.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// The option that names the data files of a source; null for a source without files.
[[nodiscard]] const FieldInfo* paths_field(const Description& source);

/// Adds a fault for each of the files that is missing or is no regular file, which a run would only find later. Files
/// that `policy` passes over have none. `paths` is the option that the files are from. Asks the file system once a
/// file.
void check_files(const std::vector<std::string>& files, const Json& paths, const std::string& folder,
                 const engine::OnCorrupt& policy, Faults& faults);

/// The files that the paths and patterns of the option stand for, without those patterns that match nothing.
[[nodiscard]] std::vector<std::string> known_files(const Json& paths, const std::string& folder);

}  // namespace forebay::plan
