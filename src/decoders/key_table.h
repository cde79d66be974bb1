// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/wire.h"

namespace forebay::decoders {

/// A hash table from the keys of a message to source numbers. Immutable. Reads up to 8 bytes after a key.
class KeyTable {
 public:
  static constexpr int none = -1;

  KeyTable() = default;
  /// The number of a key is its position in `names`. Empty entries are never found.
  explicit KeyTable(std::vector<std::optional<std::string>> names);
  [[nodiscard]] int find(columns::Wire name) const;

 private:
  std::vector<std::optional<std::string>> names_;
  std::vector<int> slots_;  ///< Size: a power of two. At least half of the slots are `none`.
};

}  // namespace forebay::decoders
