// SPDX-License-Identifier: Apache-2.0
#include <forebay/rows.h>

#include <algorithm>

namespace forebay {

std::int64_t RowPart::in_memory() const {
  if (map) return count.value_or(0);
  std::int64_t out = rows ? rows->rows : 0;
  for (const auto& block : more) out += block->rows;
  return out;
}

bool RowSource::resident() const {
  return std::ranges::all_of(parts, [](const RowPart& part) { return part.resident(); });
}

}  // namespace forebay
