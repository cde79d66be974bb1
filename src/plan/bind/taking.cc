// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/taking.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/index/made_index.h"

namespace forebay::plan {

namespace {

/// Adds the column that holds the rows that a batcher packs.
ColumnId add_rows_of(ColumnId from, Schema& schema) {
  ColumnSpec rows = schema[from];
  std::vector<std::int64_t> sizes = rows.shape.dims();
  sizes.front() = unknown_dim;
  rows.shape = Shape{std::move(sizes)};
  return schema.put(std::move(rows));
}

/// Adds the columns that are made of the parts that the batcher places.
void add_generated(const Batching& batching, std::size_t axis, engine::Taking& taking, Schema& schema) {
  for (const auto& [kind, name] : batching.generated)
    taking.generated.push_back({.kind = kind, .column = schema.put(generated_spec(kind, name)), .axis = axis});
}

bool packs(const Batching& batching, ColumnId id) {
  return std::ranges::find(batching.packs, id) != batching.packs.end();
}

}  // namespace

std::optional<engine::Taking> pack_columns(const Batching& batching, Schema& schema) {
  if (batching.packs.empty()) return std::nullopt;
  engine::Taking out;
  for (const ColumnId id : schema.visible()) {
    if (!packs(batching, id)) out.whole.push_back(id);
  }
  for (const ColumnId from : batching.packs)
    out.cut.push_back({.from = from, .to = add_rows_of(from, schema), .axis = 0});
  add_generated(batching, 0, out, schema);
  return out;
}

Result<void> pack_windows(const Batching& batching, engine::Windows& windows, engine::Taking& taking, Schema& schema) {
  const Windowing& windowing = windows.windowing;
  const auto refuse = [](std::string message) {
    return Error{Code::config, Detail::invalid_argument, std::move(message)};
  };
  if (windowing.frames)
    return refuse("a batcher that packs places frames of windows, which `unbatch` leaves none of; leave `unbatch` out");
  for (const GeneratedColumn& made : windowing.generated) {
    if (made.kind == Generated::cu_seqlens)
      return refuse("'" + schema[made.column].name +
                    "' says where the records of one window lie, and a batcher that packs puts several windows in a "
                    "row; leave `splits` out");
  }
  for (const ColumnId id : batching.packs) {
    if (std::ranges::find(windowing.made, id) == windowing.made.end())
      return refuse(
          "the windows do not cut tensor '" + schema[id].name +
          "', which the batcher packs; name it in the `keys` of the window step, and put the steps that make it "
          "before that");
  }
  std::vector<engine::TakenColumn> cut;
  for (const bool first : {true, false}) {
    for (const engine::TakenColumn& window : taking.cut) {
      if (packs(batching, window.to) != first) continue;
      cut.push_back({.from = window.from,
                     .to = first ? add_rows_of(window.to, schema) : window.to,
                     .axis = windows.row_axes.size(),
                     .unfold = window.unfold});
      windows.row_axes.push_back({.axis = window.axis, .packs = first});
    }
  }
  taking.cut = std::move(cut);
  taking.axes = windows.row_axes.size() + 1;
  add_generated(batching, windows.row_axes.size(), taking, schema);
  return {};
}

void keep_used(engine::Taking& taking, const std::function<bool(ColumnId)>& used) {
  std::erase_if(taking.cut, [&](const engine::TakenColumn& cut) { return !used(cut.to); });
  std::erase_if(taking.whole, [&](ColumnId id) { return !used(id); });
  std::erase_if(taking.generated, [&](const GeneratedColumn& made) { return !used(made.column); });
}

bool decodes_early(const engine::Program& program) {
  if (!program.windows || !program.decoder || !engine::looks_into_records(program)) return false;
  if (std::ranges::any_of(program.taking->element_steps, &engine::PlacedStep::asks_record)) return false;
  const auto orders = std::span{program.record_orders}.subspan(program.windows->orders_before);
  return program.batching.lanes > 0 ||
         !std::ranges::all_of(orders, [](const Ordering& order) { return order.keeps_order; });
}

void take_late_steps(engine::Program& program) {
  if (program.taking && !program.windows && !program.batching.packs.empty())
    program.taking->element_steps = std::exchange(program.late, {});
}

}  // namespace forebay::plan
