// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "expression/lexer.h"
#include "expression/tree.h"

#include <forebay/messages.h>

namespace forebay::expression {

namespace {

struct Operator {
  std::string_view word;
  Op op;
};
constexpr std::array<Operator, 6> comparisons{{{"==", Op::equal},
                                               {"!=", Op::not_equal},
                                               {"<", Op::less},
                                               {"<=", Op::less_equal},
                                               {">", Op::greater},
                                               {">=", Op::greater_equal}}};
constexpr std::array<Operator, 2> sums{{{"+", Op::add}, {"-", Op::subtract}}};
constexpr std::array<Operator, 4> products{
    {{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor_divide}, {"%", Op::modulo}}};
constexpr std::array<Operator, 1> conjunctions{{{"and", Op::logical_and}}};
constexpr std::array<Operator, 1> disjunctions{{{"or", Op::logical_or}}};
constexpr std::array<std::string_view, 6> keywords{"and", "or", "not", "in", "true", "false"};

std::optional<Op> find_operator(std::span<const Operator> operators, const Token& token) {
  for (const Operator& known : operators) {
    if (token.is(known.word)) return known.op;
  }
  return std::nullopt;
}

/// A recursive descent over the words of one text. Lives for one call of `parse`.
///
///     any        = all { "or" all }              sum     = product { ("+" | "-") product }
///     all        = negation { "and" negation }   product = sign { ("*" | "/" | "//" | "%") sign }
///     negation   = "not" negation | comparison   sign    = "-" sign | operand
///     comparison = sum [ (== != < <= > >=) sum | ["not"] "in" "[" literal { "," literal } "]" ]
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_{text} { tree_.text = text; }

  Result<Tree> run() {
    FOREBAY_DO(advance());
    if (token_.kind == TokenKind::end) return fault(token_, "an expression is wanted here, such as label >= 0");
    FOREBAY_TRY([[maybe_unused]] const std::uint32_t root, any());
    if (token_.kind != TokenKind::end) return fault(token_, after_the_end());
    return std::move(tree_);
  }

 private:
  using Operand = Result<std::uint32_t> (Parser::*)();

  [[nodiscard]] Error fault(const Token& at, std::string_view message) const {
    return fault_at(tree_.text, at.at, at.size, message);
  }

  [[nodiscard]] std::string_view after_the_end() const {
    if (find_operator(comparisons, token_) || token_.is("in") || token_.is("not"))
      return "comparisons do not chain; write a < b and b < c";
    if (token_.is(".")) return "an operator is wanted here; a name with a dot is written in backquotes";
    return "an operator is wanted here";
  }

  Result<void> advance() {
    FOREBAY_TRY(token_, lexer_.next());
    return {};
  }

  /// Adds a node whose operands are in the tree. Fails when the chain of operators is too long.
  Result<std::uint32_t> add(Node node, const Token& at, std::uint32_t operands) {
    node.at = static_cast<std::uint32_t>(at.at);
    node.size = static_cast<std::uint32_t>(at.size);
    if (operands > 0) node.depth = 1 + tree_.nodes[node.left].depth;
    if (operands > 1) node.depth = std::max(node.depth, 1 + tree_.nodes[node.right].depth);
    if (node.depth > max_depth)
      return fault(at, fmt::format("more than {} operators in a row; a list of values is tested with `in`", max_depth));
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }

  Result<std::uint32_t> chain(std::span<const Operator> operators, Operand part) {
    FOREBAY_TRY(std::uint32_t left, (this->*part)());
    while (const auto op = find_operator(operators, token_)) {
      const Token at = token_;
      FOREBAY_DO(advance());
      FOREBAY_TRY(const std::uint32_t right, (this->*part)());
      FOREBAY_TRY(left, add({.op = *op, .left = left, .right = right}, at, 2));
    }
    return left;
  }

  Result<std::uint32_t> any() { return chain(disjunctions, &Parser::all); }
  Result<std::uint32_t> all() { return chain(conjunctions, &Parser::negation); }
  Result<std::uint32_t> sum() { return chain(sums, &Parser::product); }
  Result<std::uint32_t> product() { return chain(products, &Parser::sign); }

  /// Parses `op` and its operand, one level deeper.
  Result<std::uint32_t> prefix(Op op, Operand part) {
    const Token at = token_;
    FOREBAY_DO(advance());
    FOREBAY_DO(deeper(at));
    FOREBAY_TRY(const std::uint32_t left, (this->*part)());
    --nesting_;
    return add({.op = op, .left = left}, at, 1);
  }

  Result<void> deeper(const Token& at) {
    if (++nesting_ <= max_nesting) return {};
    return fault(at, fmt::format("more than {} parentheses, `not` or `-` within each other", max_nesting));
  }

  Result<std::uint32_t> negation() {
    if (token_.is("not")) return prefix(Op::logical_not, &Parser::negation);
    return comparison();
  }

  Result<std::uint32_t> comparison() {
    FOREBAY_TRY(const std::uint32_t left, sum());
    const Token at = token_;
    if (const auto op = find_operator(comparisons, token_)) {
      FOREBAY_DO(advance());
      FOREBAY_TRY(const std::uint32_t right, sum());
      return add({.op = *op, .left = left, .right = right}, at, 2);
    }
    Node node{.op = Op::in, .left = left};
    if (token_.is("not")) {
      node.op = Op::not_in;
      FOREBAY_DO(advance());
      if (!token_.is("in")) return fault(token_, "'in' is wanted after this 'not'");
    } else if (!token_.is("in")) {
      return left;
    }
    FOREBAY_DO(advance());
    FOREBAY_TRY(node.list, literals());
    return add(std::move(node), at, 1);
  }

  Result<std::vector<Literal>> literals() {
    if (!token_.is("[")) return fault(token_, "a list of literals is wanted after 'in', as in [1, 2, 3]");
    std::vector<Literal> out;
    do {
      FOREBAY_DO(advance());
      const Token at = token_;
      FOREBAY_TRY(auto value, literal());
      if (!value || std::holds_alternative<bool>(*value)) return fault(at, "a list has numbers or strings");
      const bool text = std::holds_alternative<std::string>(*value);
      if (!out.empty() && text != std::holds_alternative<std::string>(out.front()))
        return fault(at, "a list has numbers or strings, not both");
      out.push_back(*std::move(value));
    } while (token_.is(","));
    if (!token_.is("]")) return fault(token_, "',' or ']' is wanted in this list");
    FOREBAY_DO(advance());
    return out;
  }

  /// Parses a literal if there is one; numbers may have a sign.
  Result<std::optional<Literal>> literal() {
    Token first = token_;
    std::optional<Literal> out;
    if (token_.is("-")) FOREBAY_DO(advance());
    if (token_.kind == TokenKind::integer || token_.kind == TokenKind::real) {
      FOREBAY_TRY(out, number(token_, first.is("-")));
    } else if (first.is("-")) {
      return fault(token_, "a number is wanted after this '-'");
    } else if (token_.kind == TokenKind::string) {
      out = std::move(token_.value);
    } else if (token_.is("true") || token_.is("false")) {
      out = token_.is("true");
    } else {
      return out;
    }
    FOREBAY_DO(advance());
    return out;
  }

  [[nodiscard]] Result<Literal> number(const Token& token, bool negative) const {
    const std::string text = (negative ? "-" : "") + std::string{token.written};
    const char* const end = text.data() + text.size();
    if (token.kind == TokenKind::integer) {
      std::int64_t value = 0;
      if (std::from_chars(text.data(), end, value).ec != std::errc{})
        return fault(token, "an integer is from -2^63 to 2^63 - 1; write 1e20 for a larger real number");
      return Literal{value};
    }
    double value = 0;
    const auto done = std::from_chars(text.data(), end, value);
    if (done.ec != std::errc{} || !std::isfinite(value)) return fault(token, "this number is too large or too small");
    return Literal{value};
  }

  Result<std::uint32_t> sign() {
    if (!token_.is("-")) return operand();
    const Token at = token_;
    FOREBAY_DO(advance());
    if (token_.kind == TokenKind::integer || token_.kind == TokenKind::real) {
      FOREBAY_TRY(Literal value, number(token_, true));
      FOREBAY_DO(advance());
      return add({.value = std::move(value)}, at, 0);
    }
    FOREBAY_DO(deeper(at));
    FOREBAY_TRY(const std::uint32_t left, sign());
    --nesting_;
    return add({.op = Op::negate, .left = left}, at, 1);
  }

  Result<std::uint32_t> operand() {
    const Token at = token_;
    if (token_.is("(")) return group();
    FOREBAY_TRY(auto value, literal());
    if (value) return add({.value = *std::move(value)}, at, 0);
    const bool keyword = std::ranges::find(keywords, at.written) != keywords.end();
    if (at.kind == TokenKind::quoted_name || (at.kind == TokenKind::name && !keyword)) {
      FOREBAY_DO(advance());
      if (at.kind == TokenKind::name && token_.is("(")) return call(at);
      return add({.op = Op::column, .name = name_of(at)}, at, 0);
    }
    return fault(at, "a tensor, a number, a string or a '(' is wanted here");
  }

  static std::string name_of(const Token& token) {
    return token.kind == TokenKind::quoted_name ? token.value : std::string{token.written};
  }

  Result<std::uint32_t> group() {
    const Token open = token_;
    FOREBAY_DO(deeper(open));
    FOREBAY_DO(advance());
    FOREBAY_TRY(const std::uint32_t inner, any());
    if (!token_.is(")")) return fault(token_, "')' is wanted here");
    --nesting_;
    FOREBAY_DO(advance());
    return inner;
  }

  Result<std::uint32_t> call(const Token& name) {
    if (name.is("length")) return of_tensor(name, Op::length);
    if (name.is("present")) return of_tensor(name, Op::present);
    if (name.is("startswith")) return startswith(name);
    const std::vector<std::string> functions{"length", "present", "startswith"};
    const std::string near = nearest(name.written, functions);
    return fault(name, fmt::format("there is no such function; {}there are length(tensor), present(tensor) and "
                                   "startswith(string, 'prefix')",
                                   near.empty() ? "" : fmt::format("did you mean '{}'? ", near)));
  }

  Result<void> close(std::string_view form) {
    if (!token_.is(")")) return fault(token_, fmt::format("')' is wanted here: {}", form));
    return advance();
  }

  Result<std::uint32_t> of_tensor(const Token& name, Op op) {
    FOREBAY_DO(advance());
    const Token tensor = token_;
    if (tensor.kind != TokenKind::name && tensor.kind != TokenKind::quoted_name)
      return fault(tensor, fmt::format("a tensor's name is wanted here: {}(tensor)", name.written));
    FOREBAY_DO(advance());
    FOREBAY_DO(close(fmt::format("{}(tensor)", name.written)));
    return add({.op = op, .name = name_of(tensor)}, tensor, 0);
  }

  Result<std::uint32_t> startswith(const Token& name) {
    FOREBAY_DO(deeper(name));
    FOREBAY_DO(advance());
    FOREBAY_TRY(const std::uint32_t text, any());
    --nesting_;
    if (!token_.is(",")) return fault(token_, "',' is wanted here: startswith(string, 'prefix')");
    FOREBAY_DO(advance());
    if (token_.kind != TokenKind::string) return fault(token_, "a string is wanted here: startswith(string, 'prefix')");
    Node node{.op = Op::startswith, .left = text, .value = std::move(token_.value)};
    FOREBAY_DO(advance());
    FOREBAY_DO(close("startswith(string, 'prefix')"));
    return add(std::move(node), name, 1);
  }

  Lexer lexer_;
  Tree tree_;
  Token token_;
  int nesting_ = 0;
};

}  // namespace

std::vector<std::string> Tree::names() const {
  std::vector<std::string> out;
  for (const Node& node : nodes) {
    if (!node.name.empty() && std::ranges::find(out, node.name) == out.end()) out.push_back(node.name);
  }
  return out;
}

Result<Tree> parse(std::string_view text) {
  if (text.size() > max_text) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("the expression has {} bytes, at most {} are allowed", text.size(), max_text)};
  }
  return Parser{text}.run();
}

}  // namespace forebay::expression
