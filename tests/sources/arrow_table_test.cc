// SPDX-License-Identifier: Apache-2.0
// arrow_table over streams that were made by hand.
#include <forebay/arrow.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Record batches of one column `v` of int32, which may be codes of a dictionary of strings, as a stream.
class MadeStream {
 public:
  struct Batch {
    std::vector<std::int32_t> values;
    std::uint8_t valid = 0xff;            ///< Bit i: value i is no null.
    std::vector<std::string> words = {};  ///< Not empty: the dictionary.
  };
  explicit MadeStream(std::vector<Batch> batches) {
    for (Batch& batch : batches) add(std::move(batch));
    schema_ = {.format = "+s", .name = "", .n_children = 1, .children = schema_children_.data()};
    column_ = {.format = "i", .name = "v", .flags = ARROW_FLAG_NULLABLE};
    words_ = {.format = "u", .name = ""};
    if (!made_.empty() && !made_.front().batch.words.empty()) column_.dictionary = &words_;
  }

  ArrowArrayStream stream() {
    ArrowArrayStream out{.get_schema = get_schema, .get_next = get_next, .get_last_error = last_error};
    out.release = [](ArrowArrayStream* stream) {
      ++of(stream).streams_released;
      stream->release = nullptr;
    };
    out.private_data = this;
    return out;
  }
  [[nodiscard]] const void* data(std::size_t batch) const { return made_[batch].batch.values.data(); }

  std::size_t fails_at = SIZE_MAX;  ///< Number of the batch that is not given.
  bool fails_with_schema = false;
  int streams_released = 0, batches_released = 0;

 private:
  struct Made {
    Batch batch;
    std::vector<std::int32_t> ends = {0};
    std::string text;
    std::array<const void*, 2> buffers{};
    std::array<const void*, 3> word_buffers{};
    std::array<const void*, 1> no_buffers{};
    ArrowArray words{}, column{}, all{};
    std::array<ArrowArray*, 1> children{};
  };

  void add(Batch batch) {
    Made& made = made_.emplace_back();
    made.batch = std::move(batch);
    for (const std::string& word : made.batch.words) {
      made.text += word;
      made.ends.push_back(static_cast<std::int32_t>(made.text.size()));
    }
    const auto rows = static_cast<std::int64_t>(made.batch.values.size());
    made.word_buffers = {nullptr, made.ends.data(), made.text.data()};
    made.words = {.length = static_cast<std::int64_t>(made.batch.words.size()),
                  .n_buffers = 3,
                  .buffers = made.word_buffers.data()};
    made.buffers = {&made.batch.valid, made.batch.values.data()};
    made.column = {.length = rows, .null_count = -1, .n_buffers = 2, .buffers = made.buffers.data()};
    if (!made.batch.words.empty()) made.column.dictionary = &made.words;
    made.children = {&made.column};
    made.all = {.length = rows,
                .n_buffers = 1,
                .n_children = 1,
                .buffers = made.no_buffers.data(),
                .children = made.children.data()};
  }

  static MadeStream& of(ArrowArrayStream* stream) { return *static_cast<MadeStream*>(stream->private_data); }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    if (of(stream).fails_with_schema) return EIO;
    *out = of(stream).schema_;
    out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
    return 0;
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    MadeStream& self = of(stream);
    *out = {};
    if (self.next_ == self.fails_at) return EIO;
    if (self.next_ == self.made_.size()) return 0;
    *out = self.made_[self.next_++].all;
    out->private_data = &self;
    out->release = [](ArrowArray* array) {
      ++static_cast<MadeStream*>(array->private_data)->batches_released;
      array->release = nullptr;
    };
    return 0;
  }
  static const char* last_error(ArrowArrayStream*) { return "the disk is gone"; }

  std::deque<Made> made_;
  std::size_t next_ = 0;
  ArrowSchema schema_{}, column_{}, words_{};
  std::array<ArrowSchema*, 1> schema_children_{&column_};
};

std::string text_of(const Error& error) { return std::string{error.text()}; }

std::vector<std::int32_t> numbers(const RowBlock& block) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(block.rows));
  std::memcpy(out.data(), block.columns.front().data, out.size() * sizeof(std::int32_t));
  return out;
}

TEST(ArrowTable, IsOnePartOfAllBatchesWhoseNumbersAreNotCopied) {
  MadeStream made{{{.values = {1, 2, 3}}, {.values = {}}, {.values = {4, 5}}}};
  ArrowArrayStream stream = made.stream();
  const auto table = arrow_table(stream, "t");
  ASSERT_TRUE(table.ok()) << text_of(table.error());
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_EQ(made.streams_released, 1);
  const auto rows = (*table)->rows({.bind = "in"});
  ASSERT_TRUE(rows.ok()) << text_of(rows.error());
  ASSERT_EQ((*rows)->parts.size(), 1U);
  const RowPart& part = (*rows)->parts.front();
  EXPECT_EQ(part.name, "t");
  EXPECT_EQ(part.in_memory(), 5);
  ASSERT_EQ(part.more.size(), 1U);  // a batch without rows is left out
  EXPECT_THAT(numbers(*part.rows), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(*part.more.front()), ElementsAre(4, 5));
  EXPECT_EQ(part.rows->columns.front().data, made.data(0));
  EXPECT_EQ(part.more.front()->columns.front().data, made.data(2));
}

TEST(ArrowTable, ReleasesItsBatchesWhenTheLastRowsOfThemAreDropped) {
  MadeStream made{{{.values = {1}}, {.values = {2}}}};
  ArrowArrayStream stream = made.stream();
  auto table = arrow_table(stream);
  ASSERT_TRUE(table.ok());
  auto one = (*table)->rows({.bind = "in"}), other = (*table)->rows({.bind = "in"});
  ASSERT_TRUE(one.ok() && other.ok());
  std::shared_ptr<const RowBlock> last = (*other)->parts.front().rows;
  *table = nullptr;
  *one = *other = nullptr;
  EXPECT_EQ(made.batches_released, 1);
  EXPECT_THAT(numbers(*last), ElementsAre(1));
  last = nullptr;
  EXPECT_EQ(made.batches_released, 2);
}

TEST(ArrowTable, WithoutBatchesHasItsColumnsAndNoRows) {
  MadeStream made{{}};
  ArrowArrayStream stream = made.stream();
  const auto table = arrow_table(stream);
  ASSERT_TRUE(table.ok());
  const auto rows = (*table)->rows({.bind = "in"});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)->parts.front().in_memory(), 0);
  EXPECT_TRUE((*rows)->schema.find("v").ok());
}

TEST(ArrowTable, CodesOfDictionariesThatDifferAreThoseOfOneListOfValues) {
  MadeStream made{{{.values = {1, 0}, .words = {"a", "b"}}, {.values = {0, 1, 0}, .words = {"c", "a"}}}};
  ArrowArrayStream stream = made.stream();
  const auto table = arrow_table(stream);
  ASSERT_TRUE(table.ok());
  const auto rows = (*table)->rows({.bind = "in"});
  ASSERT_TRUE(rows.ok()) << text_of(rows.error());
  const ColumnSpec& spec = (*rows)->schema[*(*rows)->schema.find("v")];
  ASSERT_NE(spec.categories, nullptr);
  const RowPart& part = (*rows)->parts.front();
  std::vector<std::string> words;
  for (const RowBlock* block : {part.rows.get(), part.more.front().get()}) {
    for (const std::int32_t code : numbers(*block)) words.push_back((*spec.categories)[static_cast<std::size_t>(code)]);
  }
  EXPECT_THAT(words, ElementsAre("b", "a", "c", "a", "c"));
}

TEST(ArrowTable, ANullIsAFaultOfTheDocumentAtItsRowOfTheTable) {
  MadeStream made{{{.values = {1, 2}}, {.values = {3, 4}, .valid = 0b01}}};
  ArrowArrayStream stream = made.stream();
  const auto table = arrow_table(stream);
  ASSERT_TRUE(table.ok());
  const auto rows = (*table)->rows({.bind = "in"});
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code(), Code::config);
  EXPECT_THAT(text_of(rows.error()), HasSubstr("row 3 of the table"));
  const auto filled = (*table)->rows({.bind = "in", .nulls = {{"v", Json{-1}}}});
  ASSERT_TRUE(filled.ok()) << text_of(filled.error());
  EXPECT_THAT(numbers(*(*filled)->parts.front().more.front()), ElementsAre(3, -1));
}

TEST(ArrowTable, AStreamThatFailsOrWasReadIsAnErrorWithItsMessage) {
  MadeStream made{{{.values = {1}}, {.values = {2}}}};
  made.fails_at = 1;
  ArrowArrayStream stream = made.stream();
  const auto cut = arrow_table(stream);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), Code::data);
  EXPECT_THAT(text_of(cut.error()), HasSubstr("gave no batch: the disk is gone"));
  EXPECT_EQ(made.batches_released, 1);
  EXPECT_EQ(made.streams_released, 1);
  const auto again = arrow_table(stream);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), Code::config);
  EXPECT_THAT(text_of(again.error()), HasSubstr("was read already"));
  MadeStream other{{}};
  other.fails_with_schema = true;
  stream = other.stream();
  EXPECT_THAT(text_of(arrow_table(stream).error()), HasSubstr("gave no schema: the disk is gone"));
}

}  // namespace
}  // namespace forebay
