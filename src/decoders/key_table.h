// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/wire.h"

namespace forebay::decoders {

/// Names of a message to small numbers. Looks at up to 8 bytes behind a name.
class KeyTable {
 public:
  static constexpr int none = -1;

  KeyTable() = default;
  /// Numbers are positions in `names`; those without a name are never found.
  explicit KeyTable(std::vector<std::optional<std::string>> names);
  [[nodiscard]] int find(columns::Wire name) const;

 private:
  std::vector<std::optional<std::string>> names_;
  std::vector<int> slots_;  ///< A power of two, at least half of it `none`.
};

}  // namespace forebay::decoders
