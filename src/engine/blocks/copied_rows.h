// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <forebay/rows.h>
#include <forebay/schema.h>

namespace forebay::engine {

/// Some rows of a row block, in columns of their own.
struct CopiedRows {
  std::shared_ptr<const RowBlock> rows;  ///< Owns the columns.
  std::int64_t bytes = 0;                ///< Memory of the block and its columns.
};

/// Copies the rows with these numbers, which ascend. Throws std::bad_alloc.
[[nodiscard]] CopiedRows copy_rows(const Schema& schema, const RowBlock& from, std::span<const std::uint32_t> rows);

/// Bytes that a row block and the table's facts about it take beside its elements.
[[nodiscard]] std::int64_t bytes_beside(const RowBlock& block);

}  // namespace forebay::engine
