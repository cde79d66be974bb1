// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/blocks/block_table.h"
#include "engine/order/passes.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Gives the rows of a plan with a step that draws their epoch, and counts how often a record comes in a pass.
///
/// The OrderPlane owns it and calls it for every batch that it cuts, in order, before the rows of other shards are
/// dropped. A restart goes through the pass again from its beginning, so it counts the same. The count takes memory for
/// each record of the pass; plans whose orders repeat nothing keep no count.
class Occurrences {
 public:
  explicit Occurrences(const Program& program) : program_{program} {}

  /// Fills `layout.occurrences`. `passes` has pulled the handles of the layout in their order.
  void assign(BatchLayout& layout, const Passes& passes, const BlockTable& table);
  /// Bytes of the count.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  [[nodiscard]] std::uint64_t name_of(const Handle& handle, const BlockTable& table) const;

  const Program& program_;
  std::int64_t epoch_ = -1;
  std::unordered_map<std::uint64_t, std::uint32_t> seen_;  // by record of pass `epoch_`
};

}  // namespace forebay::engine
