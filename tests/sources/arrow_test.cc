// SPDX-License-Identifier: Apache-2.0
// ArrowReader over arrays that were made by hand: what is wrong with them is found before memory is read.
#include <forebay/arrow.h>

#include <array>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A schema and an array of one column, whose parts a test may spoil.
struct Made {
  explicit Made(const std::string& format) {
    schemas = {{.format = "+s", .name = "", .n_children = 1}, {.format = keep(format), .name = "v"}};
    schemas[0].children = schema_children.data();
    schema_children = {&schemas[1], nullptr};
    arrays.resize(4);
    arrays[0] = {
        .length = 3, .n_buffers = 1, .n_children = 1, .buffers = no_buffers.data(), .children = children.data()};
    children = {&arrays[1]};
  }
  const char* keep(const std::string& text) { return texts.emplace_back(text).c_str(); }

  /// Adds a type inside of the column's type, with its array.
  void inside(const std::string& format) {
    schemas.push_back({.format = keep(format), .name = "item"});
    schemas[1].n_children = 1;
    schemas[1].children = inner_schema.data();
    inner_schema = {&schemas[2]};
    arrays[1].n_children = 1;
    arrays[1].children = inner.data();
    inner = {&arrays[2]};
  }

  Result<std::shared_ptr<const RowBlock>> read(const Arrow& options = {.bind = "in"}) {
    const auto reader = ArrowReader::make(schemas[0], options);
    if (!reader.ok()) return reader.error();
    ArrowArray batch = arrays[0];
    batch.private_data = this;
    batch.release = [](ArrowArray* array) {
      ++static_cast<Made*>(array->private_data)->released;
      array->release = nullptr;
    };
    return reader->read(batch);
  }

  std::deque<std::string> texts;
  std::deque<ArrowSchema> schemas;
  std::deque<ArrowArray> arrays;
  std::array<ArrowSchema*, 2> schema_children{};
  std::array<ArrowSchema*, 1> inner_schema{};
  std::array<ArrowArray*, 1> children{};
  std::array<ArrowArray*, 1> inner{};
  std::array<const void*, 1> no_buffers{};
  std::array<const void*, 4> buffers{};
  std::array<const void*, 4> inner_buffers{};
  int released = 0;
};

std::string error_of(const Result<std::shared_ptr<const RowBlock>>& got) {
  return got.ok() ? "no error" : got.error().text();
}

TEST(ArrowReader, NumbersAreReadWhereTheyLieAndTheBatchIsReleasedWithTheBlock) {
  Made made{"i"};
  const std::array<std::int32_t, 4> values{4, 5, 6, 7};
  made.arrays[1] = {.length = 3, .offset = 1, .n_buffers = 2, .buffers = made.buffers.data()};
  made.buffers = {nullptr, values.data()};
  auto block = made.read();
  ASSERT_TRUE(block.ok()) << block.error().text();
  EXPECT_EQ((*block)->rows, 3);
  EXPECT_EQ(static_cast<const void*>((*block)->columns[0].data), values.data() + 1);
  EXPECT_EQ((*block)->columns[0].row_stride, 4);
  EXPECT_EQ(made.released, 0);
  *block = nullptr;
  EXPECT_EQ(made.released, 1);
}

TEST(ArrowReader, BitmapsWithAnOffset) {
  Made made{"b"};
  const std::array<std::uint8_t, 2> valid{0b1011'1111, 0b1};
  const std::array<std::uint8_t, 2> bits{0b0100'0000, 0b1};
  made.arrays[1] = {.length = 3, .null_count = 1, .offset = 6, .n_buffers = 2, .buffers = made.buffers.data()};
  made.buffers = {valid.data(), bits.data()};
  EXPECT_THAT(error_of(made.read()), HasSubstr("column 'v' has a null"));
  const auto block = made.read({.bind = "in", .nulls = {{"v", Json{true}}}, .present = {"v"}});
  ASSERT_TRUE(block.ok()) << block.error().text();
  const auto at = [&](std::size_t column, int row) {
    return std::to_integer<int>((*block)->columns[column].data[row]);
  };
  EXPECT_THAT((std::array{at(0, 0), at(0, 1), at(0, 2)}), ElementsAre(1, 0, 1));
  EXPECT_THAT((std::array{at(1, 0), at(1, 1), at(1, 2)}), ElementsAre(0, 1, 1));
}

TEST(ArrowReader, SizesThatCannotBeAreRefused) {
  const auto spoiled = [](const std::function<void(Made&)>& spoil) {
    Made made{"i"};
    const std::array<std::int32_t, 3> values{5, 6, 7};
    made.arrays[1] = {.length = 3, .n_buffers = 2, .buffers = made.buffers.data()};
    made.buffers = {nullptr, values.data()};
    spoil(made);
    std::string out = error_of(made.read());
    EXPECT_EQ(made.released, 1);
    return out;
  };
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[0].length = 4; }),
              HasSubstr("elements 0 to 4 are used, and it has 3"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[0].offset = 1; }), HasSubstr("elements 1 to 4 are used"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[0].length = -1; }), HasSubstr("corrupt"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[0].length = INT64_MAX; }), HasSubstr("corrupt"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[1].offset = INT64_MAX; }), HasSubstr("corrupt"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[1].n_buffers = 1; }), HasSubstr("1 buffers and 0 children"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[1].buffers = nullptr; }), HasSubstr("corrupt"));
  EXPECT_THAT(spoiled([](Made& made) { made.buffers[1] = nullptr; }), HasSubstr("elements but no memory"));
  EXPECT_THAT(spoiled([](Made& made) { made.children[0] = nullptr; }), HasSubstr("it is missing"));
  EXPECT_THAT(spoiled([](Made& made) { made.arrays[0].n_children = 0; }), HasSubstr("fewer columns than the schema"));
}

TEST(ArrowReader, OffsetsOfStringsAndListsAreChecked) {
  for (const std::array<std::int32_t, 4> offsets :
       {std::array{0, 1, 1, 3}, std::array{-1, 0, 1, 2}, std::array{0, 2, 1, 3}, std::array{0, 1, 2, 1 << 30}}) {
    Made text{"u"};
    text.arrays[1] = {.length = 3, .n_buffers = 3, .buffers = text.buffers.data()};
    text.buffers = {nullptr, offsets.data(), nullptr};
    EXPECT_THAT(error_of(text.read()), HasSubstr("corrupt"));  // no bytes, or bad offsets

    Made list{"+l"};
    list.inside("c");
    const std::array<std::int8_t, 3> items{1, 2, 3};
    list.arrays[1].length = 3;
    list.arrays[1].n_buffers = 2;
    list.arrays[1].buffers = list.buffers.data();
    list.buffers = {nullptr, offsets.data()};
    list.arrays[2] = {.length = 3, .n_buffers = 2, .buffers = list.inner_buffers.data()};
    list.inner_buffers = {nullptr, items.data()};
    const bool good = offsets == std::array{0, 1, 1, 3};
    EXPECT_EQ(list.read().ok(), good) << offsets[1];
  }
}

TEST(ArrowReader, ListsOfOneSizeAndStringViewsAreChecked) {
  Made fixed{"+w:2"};
  fixed.inside("c");
  const std::array<std::int8_t, 6> items{1, 2, 3, 4, 5, 6};
  fixed.arrays[1].length = 3;
  fixed.arrays[1].n_buffers = 1;
  fixed.arrays[1].buffers = fixed.buffers.data();
  fixed.arrays[2] = {.length = 5, .n_buffers = 2, .buffers = fixed.inner_buffers.data()};
  fixed.inner_buffers = {nullptr, items.data()};
  EXPECT_THAT(error_of(fixed.read()), HasSubstr("elements 0 to 6 are used, and it has 5"));
  fixed.arrays[2].length = 6;
  EXPECT_EQ(error_of(fixed.read()), "no error");

  Made views{"vu"};
  struct View {
    std::int32_t size = 20;
    std::array<char, 4> prefix{};
    std::int32_t buffer = 0;
    std::int32_t offset = 0;
  };
  const std::string data(32, 'x');
  const std::array<std::int64_t, 1> sizes{32};
  for (const View& bad :
       {View{.buffer = 1}, View{.buffer = -1}, View{.offset = 13}, View{.offset = -1}, View{.size = -5}}) {
    const std::array<View, 3> all{View{}, bad, View{.offset = 12}};
    views.arrays[1] = {.length = 3, .n_buffers = 4, .buffers = views.buffers.data()};
    views.buffers = {nullptr, all.data(), data.data(), sizes.data()};
    EXPECT_THAT(error_of(views.read()), HasSubstr("corrupt"));
  }
}

TEST(ArrowReader, CodesOutsideOfTheirDictionaryAreRefused) {
  Made made{"c"};
  ArrowSchema values{.format = "u"};
  made.schemas[1].dictionary = &values;
  const std::array<std::int32_t, 3> offsets{0, 1, 2};
  ArrowArray dictionary{.length = 2, .n_buffers = 3, .buffers = made.inner_buffers.data()};
  made.inner_buffers = {nullptr, offsets.data(), "ab"};
  for (const std::int8_t code : {std::int8_t{2}, std::int8_t{-1}, std::int8_t{1}}) {
    const std::array<std::int8_t, 3> codes{0, code, 1};
    made.arrays[1] = {.length = 3, .n_buffers = 2, .buffers = made.buffers.data(), .dictionary = &dictionary};
    made.buffers = {nullptr, codes.data()};
    EXPECT_EQ(made.read().ok(), code == 1);
  }
  made.arrays[1].dictionary = nullptr;
  EXPECT_THAT(error_of(made.read()), HasSubstr("its dictionary is missing"));
}

TEST(ArrowReader, FormatsThatAreNoTypesAreRefused) {
  for (const char* const format :
       {"", "q", "ts", "tsx:", "w:", "w:-1", "w:99999999999999999999", "+w:", "+", "+m", "n"}) {
    Made made{format};
    EXPECT_THAT(error_of(made.read()), HasSubstr("column 'v'")) << format;
  }
}

TEST(ArrowReader, AnotherSchemaIsRefused) {
  Made made{"i"};
  const auto reader = ArrowReader::make(made.schemas[0], {.bind = "in"});
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->check(made.schemas[0]).ok());
  Made other{"l"};
  EXPECT_THAT(reader->check(other.schemas[0]).error().text(), HasSubstr("column 'v' is of type 'l'"));
  other.schemas[0].n_children = 0;
  EXPECT_FALSE(reader->check(other.schemas[0]).ok());
}

}  // namespace
}  // namespace forebay
