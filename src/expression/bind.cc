// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "expression/expression.h"

namespace forebay::expression {

namespace {

bool numeric(Type type) { return type == Type::integer || type == Type::real; }

/// With an article, for messages.
std::string_view a(Type type) {
  switch (type) {
    case Type::boolean:
      return "a boolean";
    case Type::integer:
      return "an integer";
    case Type::real:
      return "a real number";
    case Type::string:
      return "a string";
  }
  return "";
}

std::optional<Type> type_of(DType dtype) {
  if (dtype == DType::boolean) return Type::boolean;
  if (dtype == DType::string) return Type::string;
  if (is_integer(dtype)) return Type::integer;
  if (is_float(dtype)) return Type::real;
  return std::nullopt;
}

Type type_of(const Literal& value) {
  constexpr Type types[] = {Type::boolean, Type::integer, Type::real, Type::string};
  return types[value.index()];
}

template <class T>
void sort_once(std::vector<T>& items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// The integer that is exactly this number, if there is one.
std::optional<std::int64_t> as_integer(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (std::trunc(value) != value || value < -limit || value >= limit) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// Binds the nodes of one tree, operands first. A node with a fault has no type, and its operators are not judged.
class Binder {
 public:
  using Bound = Expression::Bound;

  Binder(const Tree& tree, const Schema& schema) : tree_{tree}, schema_{schema} {}

  std::vector<Bound> nodes;
  std::vector<ColumnId> reads;
  std::vector<Error> faults;

  void run() {
    for (const Node& node : tree_.nodes) {
      Bound bound{.op = node.op, .at = node.at, .size = node.size, .left = node.left, .right = node.right};
      bound.value = node.value;
      const auto type = judge(node, bound);
      bound.type = type.value_or(Type::boolean);
      types_.push_back(type);
      nodes.push_back(std::move(bound));
    }
  }

 private:
  std::nullopt_t refuse(const Node& node, std::string_view message) {
    faults.push_back(fault_at(tree_.text, node.at, node.size, message));
    return std::nullopt;
  }

  std::optional<Type> judge(const Node& node, Bound& bound) {
    switch (node.op) {
      case Op::literal:
        return type_of(node.value);
      case Op::column:
      case Op::length:
      case Op::present:
        return tensor(node, bound);
      case Op::startswith:
      case Op::in:
      case Op::not_in:
      case Op::negate:
      case Op::logical_not:
        return types_[node.left] ? one_operand(node, *types_[node.left], bound) : std::nullopt;
      default:
        if (!types_[node.left] || !types_[node.right]) return std::nullopt;
        return two_operands(node, *types_[node.left], *types_[node.right]);
    }
  }

  std::optional<Type> tensor(const Node& node, Bound& bound) {
    const auto found = schema_.find(node.name);
    if (!found.ok()) return refuse(node, found.error().message());
    bound.column = *found;
    if (std::ranges::find(reads, *found) == reads.end()) reads.push_back(*found);
    const ColumnSpec& spec = schema_[*found];
    if (node.op == Op::length) return length(node, spec);
    if (node.op == Op::present) return present(node, spec);
    if (spec.shape.rank() > 0) {
      return refuse(node, fmt::format("the tensor has shape {}, but an expression computes with single values; "
                                      "use length({})",
                                      spec.shape.text(), tree_.text.substr(node.at, node.size)));
    }
    if (const auto type = type_of(spec.dtype)) return type;
    return refuse(
        node, fmt::format("the tensor is of dtype {}, which an expression cannot use", forebay::to_string(spec.dtype)));
  }

  std::optional<Type> length(const Node& node, const ColumnSpec& spec) {
    if (spec.shape.rank() == 0 && spec.dtype != DType::string) {
      return refuse(node, fmt::format("a single {} has no length; length is for tensors with an axis, and for strings",
                                      forebay::to_string(spec.dtype)));
    }
    if (!spec.parts.empty() && spec.delivery != Delivery::sparse)
      return refuse(node, "the tensor is ragged in more than one axis, and length is not defined for it");
    return Type::integer;
  }

  std::optional<Type> present(const Node& node, const ColumnSpec& spec) {
    if (!spec.shape.known()) return Type::boolean;
    return refuse(node, fmt::format("the tensor has the fixed shape {}: a record without a value has its default; "
                                    "compare with the default, or decode it as var_len",
                                    spec.shape.text()));
  }

  std::optional<Type> one_operand(const Node& node, Type type, Bound& bound) {
    if (node.op == Op::startswith) {
      if (type == Type::string) return Type::boolean;
      return refuse(node, fmt::format("startswith takes a string, not {}", a(type)));
    }
    if (node.op == Op::negate) {
      if (numeric(type)) return type;
      return refuse(node, fmt::format("'-' takes a number, not {}", a(type)));
    }
    if (node.op == Op::logical_not) {
      if (type == Type::boolean) return type;
      return refuse(node, fmt::format("'not' takes a boolean, not {}; write a comparison", a(type)));
    }
    return membership(node, type, bound);
  }

  std::optional<Type> membership(const Node& node, Type type, Bound& bound) {
    const bool texts = std::holds_alternative<std::string>(node.list.front());
    if (type == Type::boolean || texts != (type == Type::string)) {
      return refuse(node, fmt::format("{} is never in a list of {}", a(type), texts ? "strings" : "numbers"));
    }
    for (const Literal& item : node.list) add_item(item, type, bound);
    sort_once(bound.integers);
    sort_once(bound.reals);
    sort_once(bound.strings);
    return Type::boolean;
  }

  /// Adds an item as a value of the operand's type. Leaves it out when no value of that type equals it.
  static void add_item(const Literal& item, Type type, Bound& bound) {
    if (const auto* text = std::get_if<std::string>(&item)) return bound.strings.push_back(*text);
    const auto* integer = std::get_if<std::int64_t>(&item);
    const auto* real = std::get_if<double>(&item);
    if (type == Type::integer) {
      const auto same = integer != nullptr ? *integer : as_integer(*real);
      if (same) bound.integers.push_back(*same);
      return;
    }
    const double same = integer != nullptr ? static_cast<double>(*integer) : *real;
    if (integer == nullptr || as_integer(same) == *integer) bound.reals.push_back(same);
  }

  std::optional<Type> two_operands(const Node& node, Type left, Type right) {
    const std::string_view word = std::string_view{tree_.text}.substr(node.at, node.size);
    const bool numbers = numeric(left) && numeric(right);
    if (node.op == Op::logical_and || node.op == Op::logical_or) {
      if (left == Type::boolean && right == Type::boolean) return Type::boolean;
      return refuse(node, fmt::format("'{}' takes booleans, not {}; write a comparison", word,
                                      a(left == Type::boolean ? right : left)));
    }
    if (node.op >= Op::equal) {
      const bool ordered = left != Type::boolean || node.op == Op::equal || node.op == Op::not_equal;
      if (numbers || (left == right && ordered)) return Type::boolean;
      if (left == right)
        return refuse(node, fmt::format("booleans have no order; '{}' takes numbers or strings", word));
      return refuse(node, fmt::format("{} and {} cannot be compared", a(left), a(right)));
    }
    if (!numbers) return refuse(node, fmt::format("'{}' takes numbers, not {}", word, a(numeric(left) ? right : left)));
    if (node.op == Op::divide || left == Type::real || right == Type::real) return Type::real;
    return Type::integer;
  }

  const Tree& tree_;
  const Schema& schema_;
  std::vector<std::optional<Type>> types_;
};

}  // namespace

std::string_view to_string(Type type) { return a(type); }

Result<Expression> bind(const Tree& tree, const Schema& schema) {
  Binder binder{tree, schema};
  binder.run();
  if (!binder.faults.empty()) return Error::all(std::move(binder.faults));
  Expression out;
  out.text_ = tree.text;
  out.nodes_ = std::move(binder.nodes);
  out.reads_ = std::move(binder.reads);
  return out;
}

}  // namespace forebay::expression
