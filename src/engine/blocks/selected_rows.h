// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <forebay/order.h>

#include "engine/blocks/resident_rows.h"
#include "engine/blocks/row_attributes.h"

namespace forebay::engine {

/// The rows in memory that filters before an order by index keep (EarlyWork::selecting). That order counts only these:
///
///     rows of a part   0 1 2 3 4 5 6        kept   1 4 5        the order's row 2 is row 5
///
/// A member of OpenFiles, used by the order plane only.
class SelectedRows {
 public:
  /// `program`, `rows` and `attributes` must outlive this object.
  SelectedRows(const Program& program, std::shared_ptr<BufferPool> pool, ResidentRows& rows, RowAttributes& attributes)
      : program_{program}, pool_{std::move(pool)}, rows_{rows}, attributes_{attributes} {}

  /// Looks at the rows of these parts, once in a run. Fails with the fault of a row, with Code::data,
  /// resource_exhausted, when a part has too many rows or the budget no room, and with Code::cancelled when `go_on`
  /// returns false; then the next call goes on.
  [[nodiscard]] Result<void> select(std::span<const std::uint32_t> parts, const std::function<bool()>& go_on);
  [[nodiscard]] std::int64_t rows(std::uint32_t part) const { return std::ssize(parts_[part].kept); }
  /// The name among all rows.
  [[nodiscard]] RecordName in_part(const RecordName& name) const {
    return {.file = name.file, .record = parts_[name.file].kept[static_cast<std::size_t>(name.record)]};
  }

 private:
  struct Part {
    std::vector<std::uint32_t> kept;
    std::int64_t looked = 0;       // rows
    std::shared_ptr<void> charge;  // of `kept`, to the budget
  };
  [[nodiscard]] Result<void> look(std::uint32_t number, Part& part);
  [[nodiscard]] Result<void> make_room(Part& part, std::size_t rows) const;

  const Program& program_;
  const std::shared_ptr<BufferPool> pool_;
  ResidentRows& rows_;
  RowAttributes& attributes_;
  std::vector<Part> parts_;  // by number
};

}  // namespace forebay::engine
