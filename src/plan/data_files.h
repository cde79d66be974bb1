// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <forebay/describe.h>
#include <forebay/plan.h>
#include <forebay/plugin.h>

#include "engine/program/on_corrupt.h"
#include "engine/requests/known_versions.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// The context with a function that opens files of any scheme. `known` has the versions of files of stores that the
/// plan knows, and takes those that it finds out; null: nobody needs them.
[[nodiscard]] BindContext with_files(BindContext context, const std::shared_ptr<engine::KnownVersions>& known = {});

/// The option that names the data files of a source; null for a source without files.
[[nodiscard]] const FieldInfo* paths_field(const Description& source);

/// Asks stores, at the same time, for what the sources of a document, a combination for example, ask for one after the
/// other: the lists of folders, and with `checks` the versions of named files, as check_files does. What fails is asked
/// for again where it is needed. `context`, `known`: as of with_files.
void ask_together(const Json& document, const BindContext& context, const Registry& registry,
                  std::optional<FileChecks> checks, const std::shared_ptr<engine::KnownVersions>& known);

/// Adds a fault for each file that is missing or is no regular file, which a run would only find later. Files that
/// `policy` passes over have none. `paths` is the option that lists the files. Asks the file system once a file, and
/// not at all for a list of more than 1,000 names, unless `checks` says so: a run over 100,000 files shall begin at
/// once. `context`, `known`: as of with_files.
void check_files(const Json& paths, const BindContext& context, const engine::OnCorrupt& policy, FileChecks checks,
                 const std::shared_ptr<engine::KnownVersions>& known, Faults& faults);

}  // namespace forebay::plan
