// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <forebay/error.h>

/// Expressions over the tensors of one record: `label >= 0 and length(tokens) < 4096`.
///
///     text ─► parse ─► Tree: names and positions ─► bind with a Schema ─► Expression: columns and types ─► evaluate
///
/// A tree and an expression are immutable; any thread may use them. docs/expressions.md has the grammar.
namespace forebay::expression {

enum class Op : std::uint8_t {
  literal,
  column,
  length,
  present,
  startswith,
  negate,
  logical_not,
  logical_and,
  logical_or,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in,
};

using Literal = std::variant<bool, std::int64_t, double, std::string>;

/// One operator or operand.
struct Node {
  Op op = Op::literal;
  std::uint32_t at = 0;    ///< Byte offset in the text of the operator, name or literal.
  std::uint32_t size = 0;  ///< Its bytes.
  std::uint32_t left = 0;  ///< Number of the first operand's node, for operators and `startswith`.
  std::uint32_t right = 0;
  std::uint32_t depth = 1;         ///< Nodes on the longest way down from here.
  std::string name = {};           ///< Of a column, also for `length` and `present`.
  Literal value = false;           ///< Of a literal; of `startswith` the prefix.
  std::vector<Literal> list = {};  ///< Of `in` and `not_in`: all numbers, or all strings.
};

/// A parsed text. Operands come before their operators; the last node is the whole expression.
struct Tree {
  std::string text;
  std::vector<Node> nodes;

  [[nodiscard]] std::vector<std::string> names() const;  ///< The columns that are named, each once.
};

inline constexpr std::size_t max_text = std::size_t{64} << 10;  ///< Bytes of a text.
inline constexpr int max_nesting = 64;                          ///< Parentheses, `not` and `-` within each other.
inline constexpr std::uint32_t max_depth = 256;                 ///< Operators in a chain, as in a + b + c.

/// Parses a text. A fault is Code::config and says where in the text it is.
[[nodiscard]] Result<Tree> parse(std::string_view text);

/// A fault at bytes `at` to `at + size` of `text`: "character 8, 'lable': …". Characters are counted from 1.
[[nodiscard]] Error fault_at(std::string_view text, std::size_t at, std::size_t size, std::string_view message);

}  // namespace forebay::expression
