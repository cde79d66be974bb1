// SPDX-License-Identifier: Apache-2.0
#include "engine/order/occurrences.h"

#include <algorithm>

#include "base/draw.h"
#include "engine/order/branches/open_branches.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t bytes_a_record = 40;  // a node of the map and its bucket, about
constexpr int record_bits = 40;

}  // namespace

/// The part and the record in it, which are the same however the record is reached, and the count if there is one.
RowIdentity Occurrences::identify(std::size_t branch, const Handle& handle, std::int64_t epoch) {
  RowIdentity out = windows_ != nullptr ? windows_->identity(handle) : parts_.branch(branch).identity(handle);
  out.epoch = epoch;
  out.branch = static_cast<std::int64_t>(branch);
  if (program_.identity == Program::Identity::occurrences) count(out);
  return out;
}

void Occurrences::count(RowIdentity& row) {
  std::uint64_t name = (static_cast<std::uint64_t>(row.part) << record_bits) ^ static_cast<std::uint64_t>(row.record);
  if (row.window > 0) name = mix(name) ^ static_cast<std::uint64_t>(row.window);
  auto& seen = seen_[row.epoch];
  seen.resize(std::max<std::size_t>(1, program_.branches.size()));
  row.occurrence = seen[static_cast<std::size_t>(row.branch)][name]++;
}

/// Adds the identities of a row of a combination: one, or one of each branch side by side.
void Occurrences::add(BatchLayout& layout, std::size_t row, std::int64_t epoch) {
  auto& branches = static_cast<OpenBranches&>(parts_);  // of a program with branches, `open_parts` makes one
  const std::size_t before = layout.identities.size();
  branches.each(std::span{layout.handles}.subspan(row, 1), [&](std::size_t branch, const Handle& handle) {
    layout.identities.push_back(identify(branch, handle, epoch));
  });
  layout.identities.resize(before + branches.elements_a_row());  // of a batch that is dropped, none was added
}

/// Adds the identity of a row that is a window, or holds several elements: that of its first one.
void Occurrences::add_row(BatchLayout& layout, std::int64_t row, std::int64_t epoch) {
  const std::int64_t element = layout.element_of(row);
  const bool none =
      element == RowSpans::no_element || layout.handles[static_cast<std::size_t>(element)].block == BlockTable::nowhere;
  layout.identities.push_back(none ? RowIdentity{.part = -1, .record = row, .epoch = layout.epoch}
                                   : identify(0, layout.handles[static_cast<std::size_t>(element)], epoch));
}

void Occurrences::assign(BatchLayout& layout, const Passes& passes, const BatchRows& placed) {
  if (program_.identity == Program::Identity::none) return;
  const std::vector<std::int64_t> epochs = epochs_of(layout, passes, placed);
  const bool combined = !program_.branches.empty();
  const bool by_row = windows_ != nullptr || !program_.batching.packs.empty();
  const bool counts = program_.identity == Program::Identity::occurrences;
  layout.identities.clear();
  if (!combined && !by_row) layout.occurrences.resize(epochs.size());
  for (std::size_t row = 0; row < epochs.size(); ++row) {
    if (combined) {
      add(layout, row, epochs[row]);
    } else if (by_row) {
      add_row(layout, static_cast<std::int64_t>(row), epochs[row]);
    } else {
      const bool counted = counts && layout.handles[row].block != BlockTable::nowhere;  // else it is dropped
      layout.occurrences[row] = {.epoch = epochs[row],
                                 .number = counted ? identify(0, layout.handles[row], epochs[row]).occurrence : 0};
    }
  }
  // Batchers may hold elements of earlier passes.
  if (!epochs.empty())
    seen_.erase(seen_.begin(), seen_.lower_bound(std::min(passes.oldest(), std::ranges::max(epochs))));
}

/// The pass of each row that has an element.
std::vector<std::int64_t> Occurrences::epochs_of(const BatchLayout& layout, const Passes& passes,
                                                 const BatchRows& placed) {
  const bool of_parts = placed.placed();
  std::vector<std::int64_t> out(of_parts ? static_cast<std::size_t>(layout.rows) : layout.handles.size(), layout.epoch);
  std::vector<BatchRows::PassBegin> begins{placed.passes().begin(), placed.passes().end()};
  if (begins.empty()) {
    for (const Passes::PassBegin& begin : passes.batch_passes())
      begins.push_back({static_cast<std::size_t>(begin.row), begin.epoch});
  }
  std::size_t next = 0;
  const std::size_t elements = of_parts ? placed.parts().size() : out.size();
  for (std::size_t i = elements; i-- > 0;) {  // backwards: of the parts of a row, the first one counts
    while (next < begins.size() && begins[begins.size() - 1 - next].first > i) ++next;
    if (next == begins.size()) break;
    out[of_parts ? static_cast<std::size_t>(placed.parts()[i].row) : i] = begins[begins.size() - 1 - next].pass;
  }
  return out;
}

std::int64_t Occurrences::bytes() const {
  std::int64_t out = 0;
  for (const auto& [epoch, branches] : seen_) {
    for (const auto& seen : branches) out += static_cast<std::int64_t>(seen.size()) * bytes_a_record;
  }
  return out;
}

}  // namespace forebay::engine
