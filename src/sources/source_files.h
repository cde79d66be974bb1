// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/plugin.h>

#include "io/file_system.h"

namespace forebay::sources {

/// What the option `record_key` of all sources over files does.
inline constexpr const char* record_key_doc =
    "A tensor of this name has the key of each row's record, such as \"path:offset\"; empty: none.";

/// The files of a source's option `files`, patterns expanded, in their order. Fails with the faults of all patterns,
/// each with its place in the option, and when no file is named. Tells the context the versions that came with lists.
[[nodiscard]] Result<std::vector<std::string>> source_files(const Paths& files, const BindContext& context);
/// A file that a plan looks into, of this machine or another.
[[nodiscard]] Result<std::shared_ptr<const io::RandomAccessFile>> open_to_plan(const std::string& path,
                                                                               const BindContext& context);

}  // namespace forebay::sources
