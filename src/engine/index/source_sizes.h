// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/format.h>

namespace forebay::engine {

/// The sizes of the files of a run when it began; a restart compares them.
struct SourceSizes {
  std::int64_t files = 0;  ///< Files that exist.
  std::int64_t bytes = 0;  ///< Their total size.
  std::uint64_t digest =
      0;  ///< Digest of the sizes in the order of the files; a missing file counts as one without a size.
};

/// Reads the size of every file once; of rows in memory, their number counts. A file whose size cannot be read counts
/// as missing; if that is a fault, reading the file reports it.
[[nodiscard]] SourceSizes inspect(const Source& source);

}  // namespace forebay::engine
