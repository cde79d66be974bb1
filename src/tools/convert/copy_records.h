// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <forebay/convert_records.h>

namespace forebay::tools {

/// The records of one output file.
struct RecordRange {
  std::vector<std::string> files;  ///< Inputs, in their order.
  std::int64_t first = 0;          ///< Of the order of these files.
  std::int64_t records = 0;
  std::int64_t bytes_each = 1;  ///< About.
};

/// Called after some records were written; false ends the work with Code::cancelled.
using CopyWatch = std::function<bool(std::int64_t records)>;

/// Copies records to a new file, reads it back, and gives it its path. `memory` is that of one loader.
[[nodiscard]] Result<void> copy_records(const RecordRange& range, const std::string& path,
                                        const ConvertRecordsOptions& options, std::int64_t memory,
                                        const CopyWatch& watch);

}  // namespace forebay::tools
