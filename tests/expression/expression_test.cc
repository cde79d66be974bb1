// SPDX-License-Identifier: Apache-2.0
#include "expression/expression.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::expression {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// Columns under test; each `add` makes one column of a block.
class Columns {
 public:
  template <class T>
  Columns& add(std::string name, DType dtype, const std::vector<T>& values) {
    schema_.put({.name = std::move(name), .dtype = dtype});
    Column& column = next();
    column.set_rows(static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), column.values.as<T>());
    block.rows = column.rows;
    return *this;
  }
  Columns& add_strings(std::string name, const std::vector<std::string_view>& values) {
    schema_.put({.name = std::move(name), .dtype = DType::string});
    Column& column = next();
    for (const auto value : values) column.push_string(std::as_bytes(std::span{value}));
    column.rows = block.rows = std::ssize(values);
    return *this;
  }
  /// A list of zeros of each length.
  Columns& add_lists(std::string name, const std::vector<std::int64_t>& lengths) {
    schema_.put({.name = std::move(name), .dtype = DType::int64, .shape = {unknown_dim}});
    Column& column = next();
    for (const std::int64_t length : lengths) {
      for (std::int64_t i = 0; i < length; ++i) column.values.push(std::int64_t{0});
      column.end_row({&length, 1});
    }
    block.rows = std::ssize(lengths);
    return *this;
  }
  ColumnId put(ColumnSpec spec) { return schema_.put(std::move(spec)); }

  [[nodiscard]] const Schema& schema() const { return schema_; }
  ColumnBlock block;

 private:
  Column& next() {
    Column& column = block.columns.emplace_back(schema_[static_cast<ColumnId>(block.columns.size())]);
    column.clear();
    return column;
  }
  Schema schema_;
};

std::string text_of(const Values& values, std::size_t row) {
  const std::size_t i = values.constant ? 0 : row;
  if (values.type == Type::boolean) return values.booleans[i] != 0 ? "true" : "false";
  if (values.type == Type::integer) return std::to_string(values.integers[i]);
  if (values.type == Type::string) return std::string{values.strings[i]};
  std::string text = std::to_string(values.reals[i]);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

/// The values of all rows, "fault" where there is none; or the message of the refusal.
std::string values_of(std::string_view text, const Columns& columns) {
  const auto tree = parse(text);
  if (!tree.ok()) return tree.error().message();
  const auto bound = bind(*tree, columns.schema());
  if (!bound.ok()) return bound.error().text();
  std::vector<RowFault> faults;
  const Values values = bound->evaluate(columns.block, faults);
  std::string out;
  std::size_t next = 0;
  for (std::int64_t row = 0; row < columns.block.rows; ++row) {
    const bool failed = next < faults.size() && faults[next].row == row;
    next += failed ? 1 : 0;
    out += (row == 0 ? "" : " ") + (failed ? std::string{"fault"} : text_of(values, static_cast<std::size_t>(row)));
  }
  return out;
}

Columns numbers() {
  Columns out;
  out.add<std::int64_t>("i", DType::int64, {0, 3, -7, largest});
  out.add<float>("r", DType::float32, {0.5F, -2.0F, 3.0F, std::nanf("")});
  out.add<std::uint8_t>("b", DType::boolean, {0, 1, 1, 0});
  out.add_strings("s", {"", "cat", "cattle", "dog"});
  out.add_lists("v", {0, 1, 2, 3});
  return out;
}

TEST(Expression, ComparesIntegersRealsStringsAndBooleans) {
  EXPECT_EQ(values_of("i >= 0", numbers()), "true true false true");
  EXPECT_EQ(values_of("i < 3", numbers()), "true false true false");
  EXPECT_EQ(values_of("r <= 0.5", numbers()), "true true false false");
  EXPECT_EQ(values_of("r != 3", numbers()), "true true false true");
  EXPECT_EQ(values_of("s == 'cat'", numbers()), "false true false false");
  EXPECT_EQ(values_of("s > \"cat\"", numbers()), "false false true true");
  EXPECT_EQ(values_of("b == true", numbers()), "false true true false");
}

TEST(Expression, ComparesIntegersWithRealsExactly) {
  Columns columns;
  columns.add<std::int64_t>("i", DType::int64, {(std::int64_t{1} << 53) + 1, largest, smallest});
  EXPECT_EQ(values_of("i > 9007199254740992.0", columns), "true true false");
  EXPECT_EQ(values_of("i < 9223372036854775808.0", columns), "true true true");
  EXPECT_EQ(values_of("i == -9223372036854775808.0", columns), "false false true");
  EXPECT_EQ(values_of("i in [9007199254740993.0, -9223372036854775808.0]", columns), "false false true");
}

TEST(Expression, ConnectsBooleansWithAndOrNot) {
  EXPECT_EQ(values_of("b and i > 0", numbers()), "false true false false");
  EXPECT_EQ(values_of("b or i == 0", numbers()), "true true true false");
  EXPECT_EQ(values_of("not b", numbers()), "true false false true");
  EXPECT_EQ(values_of("not b or b and false", numbers()), "true false false true");
  EXPECT_EQ(values_of("not (b or true) and b", numbers()), "false false false false");
}

TEST(Expression, ComputesAsPythonDoes) {
  EXPECT_EQ(values_of("i // 2", numbers()), "0 1 -4 4611686018427387903");
  EXPECT_EQ(values_of("i % 4", numbers()), "0 3 1 3");
  EXPECT_EQ(values_of("i % -4", numbers()), "0 -1 -3 -1");
  EXPECT_EQ(values_of("r // 2", numbers()), "0. -1. 1. nan");
  EXPECT_EQ(values_of("r % -2", numbers()), "-1.5 -0. -1. nan");
  EXPECT_EQ(values_of("(i - 1) / 2", numbers()), "-0.5 1. -4. 4611686018427387904.");
  EXPECT_EQ(values_of("2 + 3 * 4 - 10 // 4", numbers()), "12 12 12 12");
  EXPECT_EQ(values_of("-r", numbers()), "-0.5 2. -3. -nan");
}

TEST(Expression, OverflowAndDivisionByZeroAreFaultsOfTheirRow) {
  EXPECT_EQ(values_of("i + 1", numbers()), "1 4 -6 fault");
  EXPECT_EQ(values_of("i * 9223372036854775807", numbers()), "0 fault fault fault");
  EXPECT_EQ(values_of("6 // i", numbers()), "fault 2 -1 0");
  EXPECT_EQ(values_of("6 % i", numbers()), "fault 0 -1 6");
  EXPECT_EQ(values_of("1.5 / (r + 2)", numbers()), "0.6 fault 0.3 nan");
  EXPECT_EQ(values_of("1 // 0 == 1", numbers()), "fault fault fault fault");
  EXPECT_EQ(values_of("-(-9223372036854775807 - 1) == i", numbers()), "fault fault fault fault");
  EXPECT_EQ(values_of("-9223372036854775808 // -1 == i", numbers()), "fault fault fault fault");
  EXPECT_EQ(values_of("-9223372036854775808 % -1", numbers()), "0 0 0 0");
}

TEST(Expression, AFaultSaysWhereInTheTextItIs) {
  const Columns columns = numbers();
  std::vector<RowFault> faults;
  const auto bound = bind(*parse("r > 0 or 6 // i > 1"), columns.schema());
  static_cast<void>(bound->evaluate(columns.block, faults));
  ASSERT_EQ(faults.size(), 0U);  // r is positive where i is 0
  static_cast<void>(bind(*parse("r > 1 or 6 // i > 1"), columns.schema())->evaluate(columns.block, faults));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].row, 0);
  EXPECT_EQ(faults[0].message, "character 12, '//': the divisor is zero");
}

TEST(Expression, TheRightSideCountsOnlyWhereTheLeftSideDoesNotDecide) {
  EXPECT_EQ(values_of("i != 0 and 6 // i > 0", numbers()), "false true false false");
  EXPECT_EQ(values_of("i == 0 or 6 // i > 0", numbers()), "true true false false");
  EXPECT_EQ(values_of("6 // i > 0 and i != 0", numbers()), "fault true false false");
  EXPECT_EQ(values_of("true or 1 // 0 == 1", numbers()), "true true true true");
  EXPECT_EQ(values_of("not (i != 0 and (b and 6 // i > 0))", numbers()), "true false true true");
}

TEST(Expression, TestsMembershipInLists) {
  EXPECT_EQ(values_of("i in [3, -7, 3]", numbers()), "false true true false");
  EXPECT_EQ(values_of("i not in [3.0, 0.5]", numbers()), "true false true true");
  EXPECT_EQ(values_of("r in [3, -2.0]", numbers()), "false true true false");
  EXPECT_EQ(values_of("s in ['dog', '']", numbers()), "true false false true");
  EXPECT_EQ(values_of("not s in [\"dog\"]", numbers()), "true true true false");
}

TEST(Expression, KnowsLengthsPrefixesAndPresence) {
  EXPECT_EQ(values_of("length(v)", numbers()), "0 1 2 3");
  EXPECT_EQ(values_of("length(s)", numbers()), "0 3 6 3");
  EXPECT_EQ(values_of("present(v)", numbers()), "false true true true");
  EXPECT_EQ(values_of("startswith(s, \"cat\")", numbers()), "false true true false");
  EXPECT_EQ(values_of("length(v) * 2 < length(s)", numbers()), "false true true false");
}

TEST(Expression, ReadsEveryNumericDtype) {
  Columns columns;
  columns.add<std::int8_t>("a", DType::int8, {-1, 5});
  columns.add<std::uint16_t>("c", DType::uint16, {65535, 0});
  columns.add<double>("d", DType::float64, {0.25, -1e300});
  columns.add<std::uint16_t>("h", DType::bfloat16, {0x3f80, 0xc000});
  columns.add<std::uint64_t>("u", DType::uint64, {7, std::uint64_t{1} << 63U});
  EXPECT_EQ(values_of("a", columns), "-1 5");
  EXPECT_EQ(values_of("c", columns), "65535 0");
  EXPECT_EQ(values_of("d < -1e299", columns), "false true");
  EXPECT_EQ(values_of("h", columns), "1. -2.");
  EXPECT_EQ(values_of("u", columns), "7 fault");
}

TEST(Expression, NamesWithOtherCharactersStandInBackquotes) {
  Columns columns;
  columns.add<std::int64_t>("image/height", DType::int64, {2, 4});
  columns.add<std::int64_t>("a`b", DType::int64, {2, 5});
  EXPECT_EQ(values_of("`image/height` == `a\\`b`", columns), "true false");
  EXPECT_EQ(values_of("image/height > 2", columns),
            "2 faults:\n  character 1, 'image': there is no tensor 'image'; defined here: image/height, a`b\n"
            "  character 7, 'height': there is no tensor 'height'; defined here: image/height, a`b");
}

TEST(Expression, RefusesWrongTypesWithTheirPlace) {
  EXPECT_EQ(values_of("i == 'cat'", numbers()), "character 3, '==': an integer and a string cannot be compared");
  EXPECT_EQ(values_of("b and s + 1 > 0", numbers()), "character 9, '+': '+' takes numbers, not a string");
  EXPECT_EQ(values_of("i and b", numbers()),
            "character 3, 'and': 'and' takes booleans, not an integer; write a comparison");
  EXPECT_EQ(values_of("not i", numbers()),
            "character 1, 'not': 'not' takes a boolean, not an integer; write a comparison");
  EXPECT_EQ(values_of("b < true", numbers()), "character 3, '<': booleans have no order; '<' takes numbers or strings");
  EXPECT_EQ(values_of("s in [1]", numbers()), "character 3, 'in': a string is never in a list of numbers");
  EXPECT_EQ(values_of("-s == 'a'", numbers()), "character 1, '-': '-' takes a number, not a string");
  EXPECT_EQ(values_of("startswith(i, 'a')", numbers()),
            "character 1, 'startswith': startswith takes a string, not an integer");
  EXPECT_EQ(values_of("v > 1", numbers()),
            "character 1, 'v': the tensor has shape [?], but an expression computes with single values; use length(v)");
  EXPECT_EQ(values_of("length(i) > 1", numbers()),
            "character 8, 'i': a single int64 has no length; length is for tensors with an axis, and for strings");
  EXPECT_THAT(values_of("present(i)", numbers()), HasSubstr("character 9, 'i': the tensor has the fixed shape []"));
}

TEST(Expression, AllFaultsOfNamesAndTypesAreTold) {
  EXPECT_EQ(values_of("bb and (i == s or 1 + (2 < 3))", numbers()),
            "3 faults:\n  character 1, 'bb': there is no tensor 'bb'; did you mean 'b'? defined here: i, r, b, s, v\n"
            "  character 11, '==': an integer and a string cannot be compared\n"
            "  character 21, '+': '+' takes numbers, not a boolean");
}

TEST(Expression, RefusesWhatIsNoExpressionWithItsPlace) {
  const auto refusal = [](std::string_view text) { return values_of(text, {}); };
  EXPECT_EQ(refusal(""), "character 1 (the end): an expression is wanted here, such as label >= 0");
  EXPECT_EQ(refusal("i >="), "character 5 (the end): a tensor, a number, a string or a '(' is wanted here");
  EXPECT_EQ(refusal("i = 1"), "character 3, '=': an expression has no such character; write '==' for a comparison");
  EXPECT_EQ(refusal("i && b"), "character 3, '&': an expression has no such character; write 'and'");
  EXPECT_EQ(refusal("1 < i < 3"), "character 7, '<': comparisons do not chain; write a < b and b < c");
  EXPECT_EQ(refusal("(i > 1"), "character 7 (the end): ')' is wanted here");
  EXPECT_EQ(refusal("i > 1)"), "character 6, ')': an operator is wanted here");
  EXPECT_EQ(refusal("i b"), "character 3, 'b': an operator is wanted here");
  EXPECT_EQ(refusal("a.b > 1"),
            "character 2, '.': an operator is wanted here; a name with a dot is written in backquotes");
  EXPECT_EQ(refusal("s in 1"), "character 6, '1': a list of literals is wanted after 'in', as in [1, 2, 3]");
  EXPECT_EQ(refusal("s in []"), "character 7, ']': a list has numbers or strings");
  EXPECT_EQ(refusal("s in [1, 'a']"), "character 10, ''a'': a list has numbers or strings, not both");
  EXPECT_EQ(refusal("s == 'cat"), "character 6, ''cat': the closing quote of this string is missing");
  EXPECT_EQ(refusal("s == '\\q'"),
            R"(character 7, '\q': this is no escape; there are \\, \', \", \`, \n, \r, \t and \xNN)");
  EXPECT_EQ(refusal("`é` > ü"),
            "character 7, '\\xc3': an expression has no such character; a name with such characters is "
            "written in backquotes, a string in single or double quotes");
  EXPECT_EQ(refusal("2x > 1"),
            "character 1, '2x': this is no number, and a name that begins with a digit is written in backquotes");
  EXPECT_THAT(refusal("lenght(i)"), HasSubstr("there is no such function; did you mean 'length'? there are"));
  EXPECT_EQ(refusal("max(i)"),
            "character 1, 'max': there is no such function; there are length(tensor), present(tensor) and "
            "startswith(string, 'prefix')");
  EXPECT_EQ(
      refusal("i > 9223372036854775808"),
      "character 5, '9223372036854775808': an integer is from -2^63 to 2^63 - 1; write 1e20 for a larger real number");
  EXPECT_EQ(refusal("i > 1e999"), "character 5, '1e999': this number is too large or too small");
}

TEST(Expression, LengthAndDepthOfATextAreLimited) {
  const auto repeated = [](std::string_view text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  EXPECT_TRUE(parse(repeated("(", 64) + "i" + repeated(")", 64)).ok());
  EXPECT_THAT(parse(repeated("(", 65) + "i" + repeated(")", 65)).error().message(),
              HasSubstr("character 65, '(': more than 64 parentheses, `not` or `-` within each other"));
  EXPECT_THAT(parse(repeated("not ", 65) + "b").error().message(), HasSubstr("character 257, 'not': more than 64"));
  EXPECT_THAT(parse(repeated("- ", 65) + "i").error().message(), HasSubstr("character 129, '-': more than 64"));
  EXPECT_TRUE(parse("i" + repeated(" + i", 255)).ok());
  EXPECT_THAT(parse("i" + repeated(" + i", 256)).error().message(), HasSubstr("more than 256 operators in a row"));
  EXPECT_THAT(parse(repeated(" ", 65'537)).error().message(), HasSubstr("65537 bytes, at most 65536"));
}

TEST(Expression, NamesAreListedOnce) {
  EXPECT_EQ(parse("a > 1 and length(v) < a or `x y` in [1] and present(v)")->names(),
            (std::vector<std::string>{"a", "v", "x y"}));
}

TEST(Expression, OnlyItsColumnsAreRead) {
  Columns columns = numbers();
  columns.put({.name = "not decoded", .dtype = DType::int64});
  EXPECT_EQ(bind(*parse("length(v) > 1 and i in [1] or length(v) < i"), columns.schema())->reads(),
            (std::vector<ColumnId>{4, 0}));
}

TEST(Expression, ABlockWithoutRowsHasNoValues) {
  Columns columns;
  columns.add<std::int64_t>("i", DType::int64, {}).add_lists("v", {});
  EXPECT_EQ(values_of("i // 0 > length(v) and 1 // 0 == 1", columns), "");
}

}  // namespace
}  // namespace forebay::expression
