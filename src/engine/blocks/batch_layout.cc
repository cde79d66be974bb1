// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/batch_layout.h"

#include <algorithm>

namespace forebay::engine {

const UsedBlock& BatchLayout::block_of(std::int64_t row) const {
  const std::uint32_t slot = handles[static_cast<std::size_t>(row)].block;
  return *std::find_if(blocks.begin(), blocks.end(), [&](const UsedBlock& used) { return used.slot == slot; });
}

}  // namespace forebay::engine
