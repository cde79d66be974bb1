// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay::engine {

/// The files of a run when it began, as far as a restart depends on them.
struct SourceSizes {
  std::int64_t files = 0;    ///< Those that are there.
  std::int64_t bytes = 0;    ///< Of them together.
  std::uint64_t digest = 0;  ///< Of the sizes in the order of the files; one that is not there has none.
};

/// Asks for the size of every file once. A file that cannot be asked is not there: whether that is a fault is for
/// whoever reads it to say.
[[nodiscard]] SourceSizes inspect(std::span<const std::string> files);

}  // namespace forebay::engine
