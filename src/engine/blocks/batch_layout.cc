// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/batch_layout.h"

#include <algorithm>

namespace forebay::engine {

std::optional<std::int64_t> BatchLayout::place_in(std::size_t branch, std::int64_t row) const {
  const std::vector<std::int64_t>& rows_of = branches[branch].row_of;
  const auto found = std::lower_bound(rows_of.begin(), rows_of.end(), row);
  if (found == rows_of.end() || *found != row) return std::nullopt;
  return found - rows_of.begin();
}

const UsedBlock& BatchLayout::block_of(std::int64_t row) const {
  const std::uint32_t slot = handles[static_cast<std::size_t>(row)].block;
  return *std::find_if(blocks.begin(), blocks.end(), [&](const UsedBlock& used) { return used.slot == slot; });
}

}  // namespace forebay::engine
