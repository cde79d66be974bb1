// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/order/open_parts.h"
#include "engine/order/passes.h"
#include "engine/order/windows/window_reader.h"
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
  /// `program`, `parts` and `windows` must outlive this object. `windows`: null without a window stage.
  Occurrences(const Program& program, OpenParts& parts, const WindowReader* windows)
      : program_{program}, parts_{parts}, windows_{windows} {}

  /// Fills `layout.occurrences`; `identities` of a combination, and by row where rows are windows or hold several
  /// elements. `passes` has pulled the handles of the layout, and `placed` are the rows as the batcher placed them.
  void assign(BatchLayout& layout, const Passes& passes, const BatchRows& placed);
  /// Bytes of the count.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  [[nodiscard]] RowIdentity identify(std::size_t branch, const Handle& handle, std::int64_t epoch);
  void count(RowIdentity& row);
  void add(BatchLayout& layout, std::size_t row, std::int64_t epoch);
  void add_row(BatchLayout& layout, std::int64_t row, std::int64_t epoch);
  [[nodiscard]] static std::vector<std::int64_t> epochs_of(const BatchLayout& layout, const Passes& passes,
                                                           const BatchRows& placed);

  const Program& program_;
  OpenParts& parts_;
  const WindowReader* const windows_;
  /// By pass, branch and record. Passes of which the batcher holds nothing any more are forgotten.
  std::map<std::int64_t, std::vector<std::unordered_map<std::uint64_t, std::uint32_t>>> seen_;
};

}  // namespace forebay::engine
