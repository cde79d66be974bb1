// SPDX-License-Identifier: Apache-2.0
#include "engine/order/occurrences.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t bytes_a_record = 40;  // a node of the map and its bucket, about
constexpr int record_bits = 40;

}  // namespace

/// The file and the record in it, which are the same however the record is reached.
std::uint64_t Occurrences::name_of(const Handle& handle, const BlockTable& table) const {
  const Block& block = table[handle.block];
  const auto at = program_.source.locate(block.file, block.first_record + handle.ordinal, 0);
  return (static_cast<std::uint64_t>(at.file) << record_bits) ^ static_cast<std::uint64_t>(at.record);
}

void Occurrences::assign(BatchLayout& layout, const Passes& passes, const BlockTable& table) {
  if (program_.identity == Program::Identity::none) return;
  layout.occurrences.resize(layout.handles.size());
  const auto& begins = passes.batch_passes();
  std::size_t next = 0;
  std::int64_t epoch = layout.epoch;
  for (std::size_t row = 0; row < layout.handles.size(); ++row) {
    for (; next < begins.size() && begins[next].row <= static_cast<std::int64_t>(row); ++next)
      epoch = begins[next].epoch;
    layout.occurrences[row] = {.epoch = epoch, .number = 0};
    if (program_.identity != Program::Identity::occurrences) continue;
    if (layout.handles[row].block == BlockTable::nowhere) continue;  // of a batch that is dropped
    if (epoch != epoch_) seen_.clear();
    epoch_ = epoch;
    layout.occurrences[row].number = seen_[name_of(layout.handles[row], table)]++;
  }
}

std::int64_t Occurrences::bytes() const { return static_cast<std::int64_t>(seen_.size()) * bytes_a_record; }

}  // namespace forebay::engine
