// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forebay/format.h>

#include "sources/stored/content.h"
#include "sources/stored/npy_array.h"

namespace forebay::sources {

/// The files of arrays by the name of the tensor, in order: the option `arrays` of the sources npy and idx.
using ArrayFiles = std::vector<std::pair<std::string, Paths>>;

/// Reads the headers of the files of each array; file k of every array gives part k. `parse` reads a header. Fails when
/// the arrays have different numbers of files, and with the file in the place of other faults.
[[nodiscard]] Result<Source> arrays_in_files(const ArrayFiles& arrays, std::int64_t max_bytes,
                                             const BindContext& context,
                                             Result<ArrayLayout> (*parse)(std::span<const std::byte>));

/// Adds the rows of one file, or of files that belong together, as a part that runs map. Fails when the columns differ
/// from those of the parts before it.
[[nodiscard]] Result<void> add_part(std::vector<StoredContent> contents, const std::string& name, RowSource& source);

}  // namespace forebay::sources
