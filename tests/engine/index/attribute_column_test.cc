// SPDX-License-Identifier: Apache-2.0
#include "engine/index/attribute_column.h"

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

using Values = std::vector<std::int64_t>;

AttributeColumn column_of(const Values& values) {
  AttributeBuilder builder;
  for (const std::int64_t value : values) builder.add(value);
  return builder.finish();
}

Values values_of(const AttributeColumn& column) {
  Values out;
  for (std::int64_t i = 0; i < column.size(); ++i) out.push_back(column.at(i));
  return out;
}

TEST(AttributeColumn, HasTheValuesThatWereAddedHoweverItWasWidened) {
  const std::vector<Values> all{
      {},
      {0},
      {1, 0, 1, 1, 0, 0, 1, 0, 1},
      {0, 1, 255},
      {1, 0, 256, 255},
      {1, 65535, 0},
      {0, 1, 65536},
      {1, std::int64_t{UINT32_MAX}},
      {1, 200, 1000, 100'000, std::int64_t{UINT32_MAX} + 1, 3},
      {0, 1, -1},
      {INT64_MIN, INT64_MAX},
  };
  for (const Values& values : all) EXPECT_EQ(values_of(column_of(values)), values);
}

TEST(AttributeColumn, IsAsNarrowAsItsLargestValue) {
  const auto bytes = [](std::int64_t value) { return column_of(Values(16, value)).owned() - 16; };
  EXPECT_EQ((Values{bytes(1), bytes(2), bytes(255), bytes(256), bytes(65536), bytes(-1)}),
            (Values{2, 16, 16, 32, 64, 128}));
}

TEST(AttributeColumn, ReadsItsStoredFormAndRefusesEveryOther) {
  const AttributeColumn column = column_of({3, 0, 260});
  const std::vector<std::byte> image{column.image().begin(), column.image().end()};
  ASSERT_TRUE(AttributeColumn::parse(nullptr, image));
  EXPECT_EQ(values_of(*AttributeColumn::parse(nullptr, image)), (Values{3, 0, 260}));
  EXPECT_EQ(AttributeColumn::parse(nullptr, image)->owned(), 0);
  for (std::size_t size = 0; size < image.size(); ++size)
    EXPECT_FALSE(AttributeColumn::parse(nullptr, std::span{image}.first(size))) << size;
  for (std::size_t bit = 0; bit < 16 * 8; ++bit) {
    auto broken = image;
    broken[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    EXPECT_FALSE(AttributeColumn::parse(nullptr, broken)) << bit;
  }
}

}  // namespace
}  // namespace forebay::engine
