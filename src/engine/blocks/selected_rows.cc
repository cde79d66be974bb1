// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/selected_rows.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::int64_t rows_to_look_at = 4096;  // between two questions whether to go on

}  // namespace

Result<void> SelectedRows::select(std::span<const std::uint32_t> parts, const std::function<bool()>& go_on) {
  parts_.resize(program_.source.rows->parts.size());
  for (const std::uint32_t number : parts) {
    if (rows_.rows(number) > std::int64_t{UINT32_MAX}) {
      return Error{Code::data, Detail::resource_exhausted,
                   fmt::format("there are {} rows, and at most {} can be filtered before they are reached in any order",
                               rows_.rows(number), UINT32_MAX),
                   Place{.file = program_.source.rows->parts[number].name}};
    }
    while (parts_[number].looked < rows_.rows(number)) {
      if (!go_on()) return Error{Code::cancelled, "interrupted"};
      FOREBAY_DO(look(number, parts_[number]));
    }
  }
  return {};
}

/// Looks at the next rows of a part. A failure changes nothing.
Result<void> SelectedRows::look(std::uint32_t number, Part& part) {
  const std::int64_t count = std::min(rows_to_look_at, rows_.rows(number) - part.looked);
  std::vector<Handle> rows(static_cast<std::size_t>(count));
  std::vector<std::int64_t> verdicts(rows.size());
  std::vector<std::uint8_t> keeps(rows.size(), 1);
  FOREBAY_DO(rows_.name(number, part.looked, rows));
  for (std::size_t filter = 0; filter < program_.early.selecting; ++filter) {
    FOREBAY_DO(attributes_.read(filter, rows, verdicts));
    for (std::size_t i = 0; i < rows.size(); ++i) keeps[i] = keeps[i] != 0 && verdicts[i] != 0 ? 1 : 0;
  }
  FOREBAY_DO(make_room(part, rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (keeps[i] != 0) part.kept.push_back(static_cast<std::uint32_t>(part.looked + static_cast<std::int64_t>(i)));
  }
  part.looked += count;
  return {};
}

/// Doubles the room of the list when it may become full.
Result<void> SelectedRows::make_room(Part& part, std::size_t rows) const {
  if (part.kept.size() + rows <= part.kept.capacity()) return {};
  const std::size_t room = std::max(part.kept.size() + rows, 2 * part.kept.capacity());
  const auto bytes = static_cast<std::int64_t>(room * sizeof(std::uint32_t));
  if (bytes > pool_->limit() / 2) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("the list of the rows that the filters keep takes {} bytes, and may take half of the "
                             "memory budget of {} bytes; raise `memory`",
                             bytes, pool_->limit())};
  }
  part.kept.reserve(room);
  part.charge = pool_->charge(bytes, MemoryUse::scan);
  return {};
}

}  // namespace forebay::engine
