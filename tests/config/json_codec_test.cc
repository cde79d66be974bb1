// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <string>

#include <forebay/describe.h>
#include <gtest/gtest.h>

namespace forebay {

enum class Food : std::uint8_t { soup, bread };
template <>
struct EnumNames<Food> {
  static constexpr std::array<std::string_view, 2> names{"soup", "bread"};
};

struct Meal {
  std::string name;
  std::int64_t guests = 2;
  double price = 1.5;
  std::optional<std::int64_t> table;
  std::vector<std::int64_t> seats;
  Food food = Food::soup;
  Shape shape;
  DType dtype = DType::int32;
};

namespace {

Fields<Meal> meal() {
  Fields<Meal> fields;
  fields.required("name", &Meal::name, "Its name.")
      .field("guests", &Meal::guests, "How many.", {1, 8})
      .field("price", &Meal::price, "Of each.", {.min = 0})
      .field("table", &Meal::table, "Where.", {.min = 1})
      .field("seats", &Meal::seats, "Which.", {.max = 9})
      .field("food", &Meal::food, "What.")
      .field("shape", &Meal::shape, "Of the table.")
      .field("dtype", &Meal::dtype, "Of the bill.");
  return fields;
}

/// The struct written out again, or every fault on a line.
std::string read(std::string_view text) {
  std::vector<Error> faults;
  if (const auto options = meal().read(*parse_json(text), faults)) return meal().write(*options).text();
  std::string out;
  for (const Error& fault : faults) out += fault.message() + "\n";
  return out;
}

TEST(Fields, OptionsLeftOutKeepTheirDefaults) {
  EXPECT_EQ(read(R"({"name": "x"})"),
            R"({"name":"x","guests":2,"price":1.5,"table":null,"seats":[],"food":"soup","shape":[],"dtype":"int32"})");
}
TEST(Fields, EveryOptionIsRead) {
  const std::string text = R"({"name":"x","guests":8,"price":0.25,"table":3,"seats":[1,9],"food":"bread",)"
                           R"("shape":[-1,2],"dtype":"bfloat16"})";
  EXPECT_EQ(read(text), text);
}
TEST(Fields, UnknownKeysComeFirstByAlphabetThenMissingOnesThenTypes) {
  EXPECT_EQ(read(R"({"zzz": 1, "guest": 3, "price": "x"})"),
            "unexpected option 'guest'; did you mean 'guests'? known here: name, guests, price, table, seats, food, "
            "shape, dtype\n"
            "unexpected option 'zzz'; known here: name, guests, price, table, seats, food, shape, dtype\n"
            "missing required option 'name'\n"
            "'price' has the wrong type: expected a float, found a string\n");
}
TEST(Fields, WhatIsOutOfRangeIsNamedWithTheRange) {
  EXPECT_EQ(read(R"({"name": "x", "guests": 0, "price": -0.5, "table": 0, "seats": [1, 10]})"),
            "'guests' must be from 1 to 8, found 0\n"
            "'price' must be at least 0, found -0.5\n"
            "'table' must be at least 1, found 0\n"
            "'seats[1]' must be at most 9, found 10\n");
}
TEST(Fields, ValuesOfTheWrongTypeAreNamedWithTheirIndex) {
  EXPECT_EQ(
      read(R"({"name": 1, "guests": true, "table": "1", "seats": [1, 2.5], )"
           R"("food": "breed", "shape": [-2], "dtype": "int3"})"),
      "'name' has the wrong type: expected a string, found an integer\n"
      "'guests' has the wrong type: expected an integer, found a boolean\n"
      "'table' has the wrong type: expected an integer, found a string\n"
      "'seats[1]' has the wrong type: expected an integer (2.5 is not one), found a float\n"
      "'food' must be one of: soup, bread; found 'breed'; did you mean 'bread'?\n"
      "'shape[0]' must be a size from 0 up, or -1 for an unknown one, found -2\n"
      "'dtype' must be one of: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "
      "float32, "
      "float64, complex64, complex128, string; found 'int3'; did you mean 'int8'?\n");
}
TEST(Fields, SomethingOtherThanAnObjectIsOneFault) {
  EXPECT_EQ(read("[]"), "the value has the wrong type: expected an object, found a list\n");
}
TEST(Fields, FaultsKnowTheirPlace) {
  std::vector<Error> faults;
  EXPECT_FALSE(meal().read(*parse_json("{\"name\": \"x\",\n  \"guests\": 9}"), faults));
  EXPECT_EQ(faults.at(0).text(), "line 2:13, /guests: 'guests' must be from 1 to 8, found 9");
}
TEST(Fields, AThousandFaultsInAListAreNotAllReported) {
  std::string items = "true";
  for (int i = 0; i < 1000; ++i) items += ", true";
  std::vector<Error> faults;
  EXPECT_FALSE(meal().read(*parse_json(R"({"name": "x", "seats": [)" + items + "]}"), faults));
  EXPECT_EQ(faults.size(), max_item_faults);
}
TEST(Fields, TheSchemaStatesTypesRangesDefaultsAndWhatIsRequired) {
  EXPECT_EQ(meal().schema(), *parse_json(R"({"type": "object", "properties": {
    "name": {"type": "string", "description": "Its name."},
    "guests": {"type": "integer", "minimum": 1, "maximum": 8, "description": "How many.", "default": 2},
    "price": {"type": "number", "minimum": 0, "description": "Of each.", "default": 1.5},
    "table": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "description": "Where.", "default": null},
    "seats": {"type": "array", "items": {"type": "integer", "maximum": 9}, "description": "Which.", "default": []},
    "food": {"type": "string", "enum": ["soup", "bread"], "description": "What.", "default": "soup"},
    "shape": {"type": "array", "items": {"type": "integer", "minimum": -1}, "x-kind": "sizes",
      "description": "Of the table.", "default": []},
    "dtype": {"type": "string", "enum": ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"], "x-kind": "dtype",
      "description": "Of the bill.", "default": "int32"}},
    "required": ["name"], "additionalProperties": false})"));
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::vector<Error> faults;
  const auto value = read_integer(*parse_json(text), faults);
  EXPECT_EQ(value.has_value(), faults.empty());
  return value;
}

TEST(ReadInteger, FloatsNearAnIntegerOnEitherSideAreThatInteger) {
  EXPECT_EQ(integer("3.0"), 3);
  EXPECT_EQ(integer("3.0000001"), 3);
  EXPECT_EQ(integer("2.9999999"), 3);
  EXPECT_EQ(integer("-2.9999999"), -3);
  EXPECT_EQ(integer("1e-7"), 0);
  EXPECT_EQ(integer("2.99999"), std::nullopt);
  EXPECT_EQ(integer("3.5"), std::nullopt);
}
TEST(ReadInteger, WhatDoesNotFit64BitsIsRefused) {
  EXPECT_EQ(integer("-9223372036854775808.0"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(integer("1e20"), std::nullopt);
  EXPECT_EQ(integer("-1e300"), std::nullopt);
}
TEST(ReadInteger, NothingButANumberIsAnInteger) {
  for (const char* text : {"true", "false", "null", "\"3\"", "[3]", "{}"})
    EXPECT_EQ(integer(text), std::nullopt) << text;
}
TEST(InRange, LargeIntegersAreComparedExactly) {
  std::vector<Error> faults;
  constexpr std::int64_t max = (std::int64_t{1} << 53) + 1;
  EXPECT_TRUE(in_range(max, {.max = max}, "x", Json{}, faults));
  EXPECT_FALSE(in_range(max + 1, {.max = max}, "x", Json{}, faults));
  EXPECT_EQ(faults.at(0).message(), "'x' must be at most 9007199254740993, found 9007199254740994");
}
TEST(CodecDouble, IntegersAreFloatsAndBooleansAreNot) {
  std::vector<Error> faults;
  EXPECT_EQ(JsonCodec<double>::read(*parse_json("-3"), faults), -3.0);
  EXPECT_EQ(JsonCodec<double>::read(*parse_json("true"), faults), std::nullopt);
}
TEST(CodecShape, MoreThanSixteenDimensionsAreRefused) {
  std::vector<Error> faults;
  EXPECT_EQ(JsonCodec<Shape>::read(*parse_json("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), faults), std::nullopt);
}

struct Named {
  TensorName from = "a";
  std::vector<TensorName> others;
  NewTensorName to;
  SizesOrTensor shape = {2, 3};
  DataFile labels;
  std::string note;
};

TEST(FieldKinds, FollowFromTheTypesOfTheMembers) {
  const Fields<Named> fields = Fields<Named>{}
                                   .field("from", &Named::from, "")
                                   .field("others", &Named::others, "")
                                   .field("to", &Named::to, "")
                                   .field("shape", &Named::shape, "")
                                   .field("labels", &Named::labels, "")
                                   .field("note", &Named::note, "");
  std::string kinds;
  for (const FieldInfo& field : fields.infos()) kinds += std::string{to_string(field.kind)} + " ";
  EXPECT_EQ(kinds, "tensor tensor new_tensor sizes_or_tensor data_file value ");
  std::vector<std::string> names;
  fields.add_tensors(*parse_json(R"({"from": "a", "others": ["b", 7, "c"], "to": "d", "shape": "e", "labels": "f",
                                     "note": "g"})"),
                     names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(fields.write(Named{.to = "x"}).text(),
            R"({"from":"a","others":[],"to":"x","shape":[2,3],"labels":"","note":""})");
}

TEST(Field, AFaultIsPlacedAtTheOptionThatItNames) {
  const Json options = *parse_json(R"({"files": ["a",
"b"], "features": {"x/y": {"kind": "raw"}}})");
  const auto placed = [&](const Error& error) { return at_options(error, options).text(); };
  const Error wrong{Code::config, "is wrong"};
  EXPECT_EQ(placed(wrong.at(Field{"files", "1"})), "line 2:1, /files/1: is wrong");
  EXPECT_EQ(placed(wrong.at(Field{"features", "x/y", "kind"})), "line 2:36, /features/x~1y/kind: is wrong");
  EXPECT_EQ(placed(wrong.at(Field{"features", "x/y", "endian"})), "line 2:27, /features/x~1y/endian: is wrong");
  EXPECT_EQ(placed(wrong.at(Field{"compression"})), "line 1:1, /compression: is wrong");
  EXPECT_EQ(placed(wrong), "line 1:1: is wrong");
  EXPECT_EQ(placed(wrong.at(options.find("files")->place()).at(Field{"features"})), "line 1:11, /files: is wrong");
  EXPECT_EQ(wrong.at(Field{"files", "1"}).text(), "files/1: is wrong");
}

}  // namespace
}  // namespace forebay
