// SPDX-License-Identifier: Apache-2.0
#include "engine/order/occurrences.h"

#include "engine/order/branches/open_branches.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t bytes_a_record = 40;  // a node of the map and its bucket, about
constexpr int record_bits = 40;

}  // namespace

/// The part and the record in it, which are the same however the record is reached, and the count if there is one.
RowIdentity Occurrences::identify(std::size_t branch, const Handle& handle, std::int64_t epoch) {
  const Source& source = program_.branches.empty() ? program_.source : program_.branches[branch].source;
  const Block& block = parts_.branch(branch).table()[handle.block];
  const auto at = source.locate(block.file, block.first_record + handle.ordinal, 0);
  RowIdentity out{.part = static_cast<std::int64_t>(at.file),
                  .record = at.record,
                  .epoch = epoch,
                  .branch = static_cast<std::int64_t>(branch)};
  if (program_.identity != Program::Identity::occurrences) return out;
  const std::uint64_t name =
      (static_cast<std::uint64_t>(at.file) << record_bits) ^ static_cast<std::uint64_t>(at.record);
  out.occurrence = seen_[branch][name]++;
  return out;
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

void Occurrences::assign(BatchLayout& layout, const Passes& passes) {
  if (program_.identity == Program::Identity::none) return;
  const bool combined = !program_.branches.empty();
  const bool counts = program_.identity == Program::Identity::occurrences;
  if (!combined) layout.occurrences.resize(layout.handles.size());
  const auto& begins = passes.batch_passes();
  std::size_t next = 0;
  std::int64_t epoch = layout.epoch;
  for (std::size_t row = 0; row < layout.handles.size(); ++row) {
    for (; next < begins.size() && begins[next].row <= static_cast<std::int64_t>(row); ++next)
      epoch = begins[next].epoch;
    if (epoch != epoch_) {
      for (auto& seen : seen_) seen.clear();
    }
    epoch_ = epoch;
    if (combined) {
      add(layout, row, epoch);
      continue;
    }
    const bool counted = counts && layout.handles[row].block != BlockTable::nowhere;  // else it is dropped
    layout.occurrences[row] = {.epoch = epoch,
                               .number = counted ? identify(0, layout.handles[row], epoch).occurrence : 0};
  }
}

std::int64_t Occurrences::bytes() const {
  std::int64_t out = 0;
  for (const auto& seen : seen_) out += static_cast<std::int64_t>(seen.size()) * bytes_a_record;
  return out;
}

}  // namespace forebay::engine
