// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/column.h>
#include <forebay/schema.h>

#include "expression/tree.h"

namespace forebay::expression {

enum class Type : std::uint8_t {
  boolean,
  integer,  ///< 64 bits with a sign.
  real,     ///< 64-bit floating point.
  string,   ///< Bytes.
};
[[nodiscard]] std::string_view to_string(Type type);  ///< With an article: "an integer".

/// One value for each row, in the vector of the type; the other vectors are empty. A constant has a single value.
struct Values {
  Type type = Type::boolean;
  bool constant = false;
  std::vector<std::uint8_t> booleans = {};  ///< 0 or 1.
  std::vector<std::int64_t> integers = {};
  std::vector<double> reals = {};
  std::vector<std::string_view> strings = {};  ///< Point into the columns and into the expression.
};

/// The value of a row as an attribute holds it: 0 or 1, the integer, or the bits of the real number. Not for strings.
[[nodiscard]] inline std::int64_t attribute_of(const Values& values, std::size_t row) {
  const std::size_t at = values.constant ? 0 : row;
  if (values.type == Type::boolean) return values.booleans[at];
  return values.type == Type::real ? std::bit_cast<std::int64_t>(values.reals[at]) : values.integers[at];
}

/// A row for which the expression has no value: an integer overflowed, or a divisor was zero.
struct RowFault {
  std::int64_t row = 0;
  std::string message;
};

/// A tree that is bound to columns. Immutable; any thread may use it.
class Expression {
 public:
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Type type() const { return nodes_.back().type; }
  [[nodiscard]] const std::vector<ColumnId>& reads() const { return reads_; }  ///< Its columns, each once.
  /// Evaluates all rows of the block, one operator at a time. Adds the rows without a value to `faults`, each once, in
  /// ascending order; their values are unspecified. `and` and `or` do not evaluate their right side for rows that the
  /// left side decides. Throws std::bad_alloc.
  [[nodiscard]] Values evaluate(const ColumnBlock& block, std::vector<RowFault>& faults) const;

  /// A node of the tree with its type, its column, and the sorted list of `in`.
  struct Bound {
    Op op = Op::literal;
    Type type = Type::boolean;
    std::uint32_t at = 0;
    std::uint32_t size = 0;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    ColumnId column = 0;
    Literal value = false;
    std::vector<std::int64_t> integers = {};
    std::vector<double> reals = {};
    std::vector<std::string> strings = {};
  };

 private:
  friend Result<Expression> bind(const Tree& tree, const Schema& schema);
  std::string text_;
  std::vector<Bound> nodes_;
  std::vector<ColumnId> reads_;
};

/// Finds the columns of a tree among the visible ones of `schema` and checks all types. Numbers and strings are never
/// converted into each other. Fails with all faults together; each says where in the text it is, and one about an
/// unknown name also names the nearest tensor.
[[nodiscard]] Result<Expression> bind(const Tree& tree, const Schema& schema);

}  // namespace forebay::expression
