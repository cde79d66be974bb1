// SPDX-License-Identifier: Apache-2.0
// RowParts: parts whose blocks a program reads when a run asks for them.
#include <forebay/row_parts.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/forebay.h>

namespace forebay {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Schema numbers() {
  Schema out;
  out.put({.name = "n", .dtype = DType::int64, .shape = {}});
  return out;
}

std::shared_ptr<const RowBlock> block_of(std::int64_t first, std::int64_t count) {
  const auto values = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(count));
  std::iota(values->begin(), values->end(), first);
  auto out = std::make_shared<RowBlock>();
  out->rows = count;
  out->columns.push_back({.data = reinterpret_cast<const std::byte*>(values->data()), .row_stride = 8});
  out->owner = values;
  return out;
}

TEST(RowParts, APartIsWantedUntilTwoOfItsBlocksWait) {
  const RowParts parts;
  const auto source = parts.source(numbers(), {{.name = "a", .rows = 9}, {.name = "b"}}, true);
  EXPECT_FALSE(*parts.next(milliseconds{0}));
  int woken = 0;
  auto reader = *source->parts[1].open({.wake = [&] { ++woken; }, .epoch = 4});
  std::shared_ptr<const RowBlock> rows;
  EXPECT_EQ(*reader->read(rows), PartReader::Got::nothing_yet);
  for (int i = 0; i < 2; ++i) {
    const auto wanted = *parts.next(milliseconds{0});
    ASSERT_TRUE(wanted);
    EXPECT_EQ(wanted->part, 1U);
    EXPECT_EQ(wanted->epoch, 4);
    EXPECT_FALSE(*parts.next(milliseconds{0}));  // it is being read
    parts.put(wanted->id, block_of(i, 1));
  }
  EXPECT_EQ(woken, 2);
  EXPECT_FALSE(*parts.next(milliseconds{0}));
  EXPECT_EQ(*reader->read(rows), PartReader::Got::rows);
  const auto wanted = *parts.next(milliseconds{0});
  ASSERT_TRUE(wanted);
  parts.end(wanted->id);
  EXPECT_EQ(*reader->read(rows), PartReader::Got::rows);
  EXPECT_EQ(*reader->read(rows), PartReader::Got::end);
  reader = nullptr;
  const auto left = *parts.next(milliseconds{0});
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->left);
  EXPECT_FALSE(*parts.next(milliseconds{0}));
  parts.put(left->id, block_of(0, 1));  // nobody reads it
}

TEST(RowParts, AFailureComesAfterTheRowsBeforeItAndCloseEndsAll) {
  const RowParts parts;
  const auto source = parts.source(numbers(), {{.name = "a"}}, true);
  auto reader = *source->parts[0].open({});
  std::shared_ptr<const RowBlock> rows;
  auto wanted = *parts.next(milliseconds{0});
  parts.put(wanted->id, block_of(0, 3));
  parts.fail(wanted->id, Error{Code::data, "broken"});
  EXPECT_EQ(*reader->read(rows), PartReader::Got::rows);
  EXPECT_THAT(reader->read(rows).error().text(), HasSubstr("broken"));
  auto other = *source->parts[0].open({});
  parts.close();
  EXPECT_EQ(other->read(rows).error().code(), Code::cancelled);
  EXPECT_EQ(parts.next(milliseconds{0}).error().code(), Code::cancelled);
  EXPECT_FALSE(source->parts[0].open({}).ok());
}

TEST(RowParts, AStreamIsOpenedOnce) {
  const RowParts parts;
  const auto source = parts.source(numbers(), {{.name = "a"}}, false);
  EXPECT_FALSE(source->replays());
  EXPECT_TRUE(source->parts[0].open({}).ok());
  EXPECT_THAT(source->parts[0].open({}).error().text(), HasSubstr("a stream is read once"));
}

}  // namespace
}  // namespace forebay
