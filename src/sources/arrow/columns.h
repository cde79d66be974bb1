// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forebay/arrow.h>

#include "sources/arrow/types.h"

namespace forebay::arrow {

/// A tensor of a record batch, and the way to its elements:
///
///     batch ─► structs (`path`) ─► a list? ─► lists of one size (`fixed`) ─► values, or codes of a dictionary
struct Column {
  std::string name;  ///< "a.b" of a struct.
  std::vector<std::int64_t> path;
  enum class List : std::uint8_t { none, small, large } list = List::none;  ///< With int32 or int64 offsets.
  std::vector<std::int64_t> fixed = {};
  std::vector<std::int64_t> sizes = {};               ///< Of a row: `fixed`, but for lists that are tensors of a shape.
  ValueType values;                                   ///< Of a dictionary: of its values.
  std::optional<ValueType> codes = {};                ///< Of a dictionary: of its codes.
  bool as_codes = false;                              ///< The codes are delivered.
  std::optional<std::vector<std::byte>> filled = {};  ///< The element that nulls have; empty: a null is an error.
  bool present = false;                               ///< `present(name)` follows.

  [[nodiscard]] DType dtype() const { return as_codes ? DType::int32 : values.dtype; }
  [[nodiscard]] std::int64_t fixed_count() const;  ///< Product of `fixed`.
};

/// The tensors of a batch of this schema that the options ask for. Fails as ArrowReader::make.
[[nodiscard]] Result<std::vector<Column>> columns_of(const ArrowSchema& schema, const Arrow& options, bool in_memory);

/// The name of the tensor that says where this one has no nulls.
[[nodiscard]] std::string present_name(const std::string& name);

}  // namespace forebay::arrow
