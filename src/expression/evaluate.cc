// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "columns/cast.h"
#include "expression/expression.h"

namespace forebay::expression {

namespace {

using Mask = std::vector<std::uint8_t>;  // by row: 1 where a value is wanted

/// -1, 0 or 1 for less, equal and greater; 2 when one is no number. Exact, also where a double has no such integer.
int compare(std::int64_t left, double right) {
  constexpr double limit = 9223372036854775808.0;
  if (std::isnan(right)) return 2;
  if (right >= limit) return -1;
  if (right < -limit) return 1;
  const double whole = std::trunc(right);
  const auto integer = static_cast<std::int64_t>(whole);
  if (left != integer) return left < integer ? -1 : 1;
  return right > whole ? -1 : right < whole ? 1 : 0;
}
int compare(double left, std::int64_t right) {
  const int turned = compare(right, left);
  return turned == 2 ? 2 : -turned;
}
int compare(double left, double right) { return left < right ? -1 : left > right ? 1 : left == right ? 0 : 2; }
template <class T>
int compare(const T& left, const T& right) {
  return left < right ? -1 : right < left ? 1 : 0;
}

bool holds(Op op, int order) {
  switch (op) {
    case Op::equal:
      return order == 0;
    case Op::not_equal:
      return order != 0;
    case Op::less:
      return order == -1;
    case Op::less_equal:
      return order == -1 || order == 0;
    case Op::greater:
      return order == 1;
    default:
      return order == 1 || order == 0;
  }
}

constexpr std::string_view overflowed = "the integers are too large for 64 bits";
constexpr std::string_view divided = "the divisor is zero";

/// Computes with integers, as Python does: // and % round down. Returns what is wrong, or nothing.
std::string_view compute(Op op, std::int64_t left, std::int64_t right, std::int64_t& out) {
  switch (op) {
    case Op::add:
      return __builtin_add_overflow(left, right, &out) ? overflowed : "";
    case Op::subtract:
      return __builtin_sub_overflow(left, right, &out) ? overflowed : "";
    case Op::multiply:
      return __builtin_mul_overflow(left, right, &out) ? overflowed : "";
    default:
      break;
  }
  if (right == 0) return divided;
  if (right == -1) {  // the smallest integer divided by -1 is too large
    if (op == Op::modulo) return out = 0, "";
    return __builtin_sub_overflow(std::int64_t{0}, left, &out) ? overflowed : "";
  }
  const std::int64_t rest = left % right;
  const bool down = rest != 0 && (rest < 0) != (right < 0);
  out = op == Op::modulo ? rest + (down ? right : 0) : left / right - (down ? 1 : 0);
  return "";
}

std::string_view compute(Op op, double left, double right, double& out) {
  switch (op) {
    case Op::add:
      return out = left + right, "";
    case Op::subtract:
      return out = left - right, "";
    case Op::multiply:
      return out = left * right, "";
    default:
      break;
  }
  if (right == 0) return divided;
  if (op == Op::divide) return out = left / right, "";
  if (op == Op::floor_divide) return out = std::floor(left / right), "";
  out = std::fmod(left, right);
  if (out != 0 && (out < 0) != (right < 0)) out += right;
  return "";
}

/// One evaluation. Each function computes a node for all rows; values of rows outside the mask are unspecified.
class Evaluation {
 public:
  using Bound = Expression::Bound;

  Evaluation(std::string_view text, const std::vector<Bound>& nodes, const ColumnBlock& block,
             std::vector<RowFault>& faults)
      : text_{text}, nodes_{nodes}, block_{block}, rows_{static_cast<std::size_t>(block.rows)}, faults_{faults} {}

  Values run(std::uint32_t number, const Mask& mask) {
    const Bound& node = nodes_[number];
    switch (node.op) {
      case Op::literal:
        return literal(node.value);
      case Op::column:
        return column(node, mask);
      case Op::length:
        return lengths(node);
      case Op::present:
        return presence(node);
      case Op::startswith:
        return prefixes(node, mask);
      case Op::negate:
        return negated(node, mask);
      case Op::logical_not:
        return inverted(node, mask);
      case Op::in:
      case Op::not_in:
        return membership(node, mask);
      case Op::logical_and:
      case Op::logical_or:
        return connected(node, mask);
      default:
        return node.op < Op::equal ? arithmetic(node, mask) : comparison(node, mask);
    }
  }

 private:
  void fault(const Bound& node, std::size_t row, std::string_view message) {
    if (failed_.empty()) failed_.resize(rows_);
    if (std::exchange(failed_[row], std::uint8_t{1}) != 0) return;
    faults_.push_back({static_cast<std::int64_t>(row), fault_at(text_, node.at, node.size, message).message()});
  }

  [[nodiscard]] bool wanted(const Mask& mask, std::size_t row) const {
    return mask[row] != 0 && (failed_.empty() || failed_[row] == 0);
  }

  static Values literal(const Literal& value) {
    Values out{.constant = true};
    if (const auto* boolean = std::get_if<bool>(&value)) {
      out.booleans = {static_cast<std::uint8_t>(*boolean ? 1 : 0)};
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      out.type = Type::integer;
      out.integers = {*integer};
    } else if (const auto* real = std::get_if<double>(&value)) {
      out.type = Type::real;
      out.reals = {*real};
    } else {
      out.type = Type::string;
      out.strings = {std::get<std::string>(value)};
    }
    return out;
  }

  Values column(const Bound& node, const Mask& mask) {
    const Column& in = block_[node.column];
    Values out{.type = node.type};
    if (node.type == Type::string) {
      out.strings.reserve(rows_);
      for (std::size_t row = 0; row < rows_; ++row) {
        const auto bytes = in.string(static_cast<std::int64_t>(row));
        out.strings.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
    } else if (node.type == Type::boolean) {
      out.booleans.resize(rows_);
      for (std::size_t row = 0; row < rows_; ++row) out.booleans[row] = in.values.as<std::uint8_t>()[row] != 0 ? 1 : 0;
    } else if (node.type == Type::real) {
      out.reals.resize(rows_);
      columns::cast(in.values.data(), in.dtype, reinterpret_cast<std::byte*>(out.reals.data()), DType::float64, rows_);
    } else {
      out.integers.resize(rows_);
      columns::cast(in.values.data(), in.dtype, reinterpret_cast<std::byte*>(out.integers.data()), DType::int64, rows_);
      for (std::size_t row = 0; in.dtype == DType::uint64 && row < rows_; ++row) {
        if (out.integers[row] < 0 && wanted(mask, row)) fault(node, row, "the value is 2^63 or more");
      }
    }
    return out;
  }

  /// Elements of each row along the first axis; bytes of a single string.
  Values lengths(const Bound& node) {
    const Column& in = block_[node.column];
    Values out{.type = Type::integer};
    out.integers.resize(rows_);
    if (in.shape.rank() == 0) {
      const auto* const splits = in.byte_splits.as<std::int64_t>();
      for (std::size_t row = 0; row < rows_; ++row) out.integers[row] = splits[row + 1] - splits[row];
    } else if (in.shape[0] != unknown_dim) {
      std::ranges::fill(out.integers, in.shape[0]);
    } else {
      const auto* const dims = in.dims.as<std::int64_t>();
      const std::size_t step = in.shape.unknown();
      for (std::size_t row = 0; row < rows_; ++row) out.integers[row] = dims[row * step];
    }
    return out;
  }

  Values presence(const Bound& node) {
    const auto* const splits = block_[node.column].row_splits.as<std::int64_t>();
    Values out;
    out.booleans.resize(rows_);
    for (std::size_t row = 0; row < rows_; ++row) out.booleans[row] = splits[row + 1] > splits[row] ? 1 : 0;
    return out;
  }

  /// A boolean for each row, or a single one of a constant operand.
  template <class Test>
  static Values tested(const Values& operand, std::size_t rows, const Test& test) {
    Values out{.constant = operand.constant};
    out.booleans.resize(operand.constant ? 1 : rows);
    for (std::size_t i = 0; i < out.booleans.size(); ++i) out.booleans[i] = test(i) ? 1 : 0;
    return out;
  }

  Values prefixes(const Bound& node, const Mask& mask) {
    const Values in = run(node.left, mask);
    const auto& prefix = std::get<std::string>(node.value);
    return tested(in, rows_, [&](std::size_t i) { return in.strings[i].starts_with(prefix); });
  }

  Values inverted(const Bound& node, const Mask& mask) {
    const Values in = run(node.left, mask);
    return tested(in, rows_, [&](std::size_t i) { return in.booleans[i] == 0; });
  }

  Values membership(const Bound& node, const Mask& mask) {
    const Values in = run(node.left, mask);
    const bool inside = node.op == Op::in;
    return tested(in, rows_, [&](std::size_t i) {
      const auto has = [&](const auto& list, const auto& value) {
        const auto found = std::lower_bound(list.begin(), list.end(), value);
        return found != list.end() && *found == value;
      };
      const bool found = in.type == Type::string    ? has(node.strings, in.strings[i])
                         : in.type == Type::integer ? has(node.integers, in.integers[i])
                                                    : !std::isnan(in.reals[i]) && has(node.reals, in.reals[i]);
      return found == inside;
    });
  }

  Values negated(const Bound& node, const Mask& mask) {
    Values in = run(node.left, mask);
    for (double& value : in.reals) value = -value;
    for (std::size_t i = 0; i < in.integers.size(); ++i) {
      if (!__builtin_sub_overflow(std::int64_t{0}, in.integers[i], &in.integers[i])) continue;
      each_row(in.constant, i, mask, [&](std::size_t row) { fault(node, row, overflowed); });
    }
    return in;
  }

  /// Calls `each` for the wanted rows that the value at `i` stands for: all of them, when it is a constant.
  template <class Each>
  void each_row(bool constant, std::size_t i, const Mask& mask, const Each& each) {
    const std::size_t end = constant ? rows_ : i + 1;
    for (std::size_t row = i; row < end; ++row) {
      if (wanted(mask, row)) each(row);
    }
  }

  /// The right side has a value only for the rows that the left side does not decide.
  Values connected(const Bound& node, const Mask& mask) {
    Values left = run(node.left, mask);
    const std::uint8_t decided = node.op == Op::logical_and ? 0 : 1;
    if (left.constant && left.booleans.front() == decided) return left;
    Mask open = mask;
    bool any = left.constant;
    for (std::size_t row = 0; !left.constant && row < rows_; ++row) {
      open[row] = static_cast<std::uint8_t>(wanted(mask, row) && left.booleans[row] != decided ? 1 : 0);
      any = any || open[row] != 0;
    }
    if (!any) return left;
    Values right = run(node.right, open);
    if (left.constant) return right;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (left.booleans[row] != decided) left.booleans[row] = right.booleans[right.constant ? 0 : row];
    }
    return left;
  }

  static void to_reals(Values& values) {
    if (values.type == Type::real) return;
    values.reals.assign(values.integers.begin(), values.integers.end());
    values.integers.clear();
    values.type = Type::real;
  }

  Values arithmetic(const Bound& node, const Mask& mask) {
    Values left = run(node.left, mask);
    Values right = run(node.right, mask);
    Values out{.type = node.type, .constant = left.constant && right.constant};
    if (node.type == Type::integer) {
      compute_all(node, mask, left, right, left.integers, right.integers, out.constant, out.integers);
    } else {
      to_reals(left);
      to_reals(right);
      compute_all(node, mask, left, right, left.reals, right.reals, out.constant, out.reals);
    }
    return out;
  }

  template <class T>
  void compute_all(const Bound& node, const Mask& mask, const Values& left, const Values& right,
                   const std::vector<T>& lefts, const std::vector<T>& rights, bool constant, std::vector<T>& out) {
    out.resize(constant ? 1 : rows_);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::string_view wrong =
          compute(node.op, lefts[left.constant ? 0 : i], rights[right.constant ? 0 : i], out[i]);
      if (!wrong.empty()) each_row(constant, i, mask, [&](std::size_t row) { fault(node, row, wrong); });
    }
  }

  Values comparison(const Bound& node, const Mask& mask) {
    const Values left = run(node.left, mask);
    const Values right = run(node.right, mask);
    if (left.type == Type::string) return compared(node, left, right, left.strings, right.strings);
    if (left.type == Type::boolean) return compared(node, left, right, left.booleans, right.booleans);
    if (left.type == Type::integer && right.type == Type::integer)
      return compared(node, left, right, left.integers, right.integers);
    if (left.type == Type::integer) return compared(node, left, right, left.integers, right.reals);
    if (right.type == Type::integer) return compared(node, left, right, left.reals, right.integers);
    return compared(node, left, right, left.reals, right.reals);
  }

  template <class L, class R>
  Values compared(const Bound& node, const Values& left, const Values& right, const L& lefts, const R& rights) {
    Values out{.constant = left.constant && right.constant};
    out.booleans.resize(out.constant ? 1 : rows_);
    for (std::size_t i = 0; i < out.booleans.size(); ++i) {
      const int order = compare(lefts[left.constant ? 0 : i], rights[right.constant ? 0 : i]);
      out.booleans[i] = holds(node.op, order) ? 1 : 0;
    }
    return out;
  }

  const std::string_view text_;
  const std::vector<Bound>& nodes_;
  const ColumnBlock& block_;
  const std::size_t rows_;
  std::vector<RowFault>& faults_;
  Mask failed_;  // by row: has a fault; empty while there is none
};

}  // namespace

Values Expression::evaluate(const ColumnBlock& block, std::vector<RowFault>& faults) const {
  const std::size_t before = faults.size();
  Evaluation evaluation{text_, nodes_, block, faults};
  Values out = evaluation.run(static_cast<std::uint32_t>(nodes_.size() - 1),
                              Mask(static_cast<std::size_t>(block.rows), std::uint8_t{1}));
  std::sort(faults.begin() + static_cast<std::ptrdiff_t>(before), faults.end(),
            [](const RowFault& left, const RowFault& right) { return left.row < right.row; });
  return out;
}

}  // namespace forebay::expression
