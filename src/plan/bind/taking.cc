// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/taking.h"

#include <algorithm>
#include <utility>

namespace forebay::plan {

std::optional<engine::Taking> pack_columns(const Batching& batching, Schema& schema) {
  if (batching.packs.empty()) return std::nullopt;
  engine::Taking out;
  for (const ColumnId id : schema.visible()) {
    if (std::ranges::find(batching.packs, id) == batching.packs.end()) out.whole.push_back(id);
  }
  for (const ColumnId from : batching.packs) {
    ColumnSpec rows = schema[from];
    std::vector<std::int64_t> sizes = rows.shape.dims();
    sizes.front() = unknown_dim;
    rows.shape = Shape{std::move(sizes)};
    out.cut.push_back({.from = from, .to = schema.put(std::move(rows)), .axis = 0});
  }
  return out;
}

void keep_used(engine::Taking& taking, const std::function<bool(ColumnId)>& used) {
  std::erase_if(taking.cut, [&](const engine::TakenColumn& cut) { return !used(cut.to); });
  std::erase_if(taking.whole, [&](ColumnId id) { return !used(id); });
}

void take_late_steps(engine::Program& program) {
  if (program.taking && !program.batching.packs.empty())
    program.taking->element_steps = std::exchange(program.late, {});
}

}  // namespace forebay::plan
