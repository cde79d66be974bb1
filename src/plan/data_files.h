// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <forebay/describe.h>
#include <forebay/plan.h>
#include <forebay/plugin.h>

#include "engine/program/on_corrupt.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// The context with a function that opens files of any scheme.
[[nodiscard]] BindContext with_files(BindContext context);

/// The option that names the data files of a source; null for a source without files.
[[nodiscard]] const FieldInfo* paths_field(const Description& source);

/// Adds a fault for each file that is missing or is no regular file, which a run would only find later. Files that
/// `policy` passes over have none. `paths` is the option that lists the files. Asks the file system once a file, and
/// not at all for a list of more than 1,000 names, unless `checks` says so: a run over 100,000 files shall begin at
/// once.
void check_files(const Json& paths, const std::string& folder, const engine::OnCorrupt& policy, FileChecks checks,
                 Faults& faults);

}  // namespace forebay::plan
