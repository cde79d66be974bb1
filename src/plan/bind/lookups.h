// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forebay/format.h>

#include "plan/bind/stages.h"

namespace forebay::plan {

/// Reads the small files that attributes of orders name (TextLookup), and makes their functions. A file that cannot be
/// read is a fault of the option that names it; a fault in a file has its place there.
void read_lookups(Stages& stages, const BindContext& context, Faults& faults);

/// A name and a hash of the content of each small file, for the hashes of a plan.
using FileHashes = std::vector<std::pair<std::string, std::uint64_t>>;
[[nodiscard]] FileHashes lookup_hashes(const Stages& stages, FileHashes of_steps);

/// Reads the small files that a bound step names, and adds the hashes of their contents.
void read_step_files(const Bound<Step>& bound, const Stage& stage, const std::string& folder, FileHashes& hashes,
                     Faults& faults);

}  // namespace forebay::plan
