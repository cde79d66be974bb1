// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/format.h>
#include <forebay/step.h>

#include "engine/blocks/batch_layout.h"

namespace forebay::engine {

/// The place of the record of a row below handles.size().
[[nodiscard]] inline Source::Located located(const Source& source, const BatchLayout& layout, std::int64_t row) {
  const std::int64_t record = layout.record_of(row);
  const std::int64_t offset = source.rows ? record : source.format->record_offset(layout.payload_offset(row));
  return source.locate(layout.block_of(row).file, record, offset);
}

/// The identities of the rows of a batch, from row `first` on. Rows that no record fills have part -1 and count from 0.
class LayoutRows final : public RowIdentities {
 public:
  /// `layout` and `source` must outlive this object.
  LayoutRows(const BatchLayout& layout, const Source& source, std::int64_t first)
      : layout_{layout}, source_{source}, first_{first} {}

  [[nodiscard]] RowIdentity of(std::int64_t row) const override {
    const std::int64_t at = first_ + row;
    const auto known = layout_.identities.empty() ? std::ssize(layout_.handles) : std::ssize(layout_.identities);
    if (at >= known) return {.part = -1, .record = at - known, .epoch = layout_.epoch};
    if (!layout_.identities.empty()) return layout_.identities[static_cast<std::size_t>(at)];
    const auto place = source_.locate(layout_.block_of(at).file, layout_.record_of(at), 0);
    RowIdentity out{.part = static_cast<std::int64_t>(place.file), .record = place.record, .epoch = layout_.epoch};
    if (layout_.occurrences.empty()) return out;
    const Occurrence& occurrence = layout_.occurrences[static_cast<std::size_t>(at)];
    out.epoch = occurrence.epoch;
    out.occurrence = occurrence.number;
    return out;
  }

  [[nodiscard]] std::string key(std::int64_t row) const override {
    const std::int64_t at = first_ + row;
    return at >= std::ssize(layout_.handles) ? std::string{} : source_.key(located(source_, layout_, at));
  }

 private:
  const BatchLayout& layout_;
  const Source& source_;
  const std::int64_t first_;
};

}  // namespace forebay::engine
