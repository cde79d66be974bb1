// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/collected_rows.h"

#include <algorithm>

namespace forebay::engine {

CollectedRows::Part& CollectedRows::of(std::uint32_t part) {
  if (part >= parts_.size()) parts_.resize(std::size_t{part} + 1);
  return parts_[part];
}

void CollectedRows::add(std::uint32_t part, std::span<const Handle> rows) {
  if (rows.empty()) return;
  Part& to = of(part);
  to.stretches.push_back({to.rows, rows.front()});
  to.rows += std::ssize(rows);
}

Handle CollectedRows::at(const Part& part, std::int64_t row) {
  const auto after = std::ranges::upper_bound(part.stretches, row, {}, &Stretch::first);
  const Stretch& stretch = *(after - 1);
  const auto further = static_cast<std::uint32_t>(row - stretch.first);
  Handle out = stretch.handle;
  out.ordinal += further;
  out.offset += further;
  return out;
}

void CollectedRows::name(std::span<const RecordName> names, std::span<Handle> out, bool counted) const {
  std::ranges::transform(names, out.begin(),
                         [&](const RecordName& name) { return at(parts_[name.file], name.record); });
  if (counted) table_.hold(out.first(names.size()));
}

void CollectedRows::clear(std::int64_t batch) {
  for (const Part& part : parts_) {
    for (std::size_t i = 0; i < part.stretches.size(); ++i) {
      const std::int64_t end = i + 1 < part.stretches.size() ? part.stretches[i + 1].first : part.rows;
      Handle row = part.stretches[i].handle;
      for (std::int64_t left = end - part.stretches[i].first; left > 0; --left, ++row.ordinal, ++row.offset)
        table_.release({&row, 1}, batch);
    }
  }
  parts_.clear();
}

}  // namespace forebay::engine
