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

/// A name and a hash of the content of each of these files, for the hashes of a plan.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> lookup_hashes(const Stages& stages);

}  // namespace forebay::plan
