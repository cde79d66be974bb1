// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/order/open_parts.h"
#include "engine/order/passes.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Gives the rows of a plan with a step that draws their pass, and counts how often a record comes in a pass.
///
/// The OrderPlane owns it and calls it for every batch that it cuts, in order, before the rows of other shards are
/// dropped. A restart goes through the pass again from its beginning, so it counts the same. The count takes memory for
/// each record of the pass; plans whose orders repeat nothing keep no count. A combination counts the records of each
/// branch, in the passes of the combination.
class Occurrences {
 public:
  /// `program` and `parts` must outlive this object.
  Occurrences(const Program& program, OpenParts& parts)
      : program_{program}, parts_{parts}, seen_(program.branches.empty() ? 1 : program.branches.size()) {}

  /// Fills `layout.occurrences`, or `identities` of a combination. `passes` has pulled the handles of the layout in
  /// their order.
  void assign(BatchLayout& layout, const Passes& passes);
  /// Bytes of the count.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  [[nodiscard]] RowIdentity identify(std::size_t branch, const Handle& handle, std::int64_t epoch);
  void add(BatchLayout& layout, std::size_t row, std::int64_t epoch);

  const Program& program_;
  OpenParts& parts_;
  std::int64_t epoch_ = -1;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> seen_;  // by branch and record of pass `epoch_`
};

}  // namespace forebay::engine
