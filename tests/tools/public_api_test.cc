// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <forebay/forebay.h>
#include <forebay/messages.h>
#include <gtest/gtest.h>

#include "tests/plan/documents.h"

namespace forebay {
namespace {

using testing::Folder;

struct Seen {
  std::vector<std::string> records;
  std::vector<std::int64_t> offsets;
};

TEST(EachRecord, VisitsRecordsInOrderUntilTheVisitorHasEnough) {
  const Folder folder;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const std::string path = folder.path() + "/a";
    ASSERT_TRUE(write_records(path, {"one", "", "three"}, compression).ok());
    Seen seen;
    const auto two = [&](const RecordView& record) {
      seen.records.emplace_back(record.bytes);
      seen.offsets.push_back(record.offset);
      EXPECT_EQ(record.number + 1, static_cast<std::int64_t>(seen.records.size()));
      return seen.records.size() < 2;
    };
    EXPECT_TRUE(each_record(path, two).ok());
    EXPECT_EQ(seen.records, (std::vector<std::string>{"one", ""}));
    EXPECT_EQ(seen.offsets, (std::vector<std::int64_t>{0, 19}));
  }
}

TEST(EachRecord, FailsAfterTheRecordsBeforeTheFaultAndWhenItIsToStop) {
  const Folder folder;
  const std::string path = folder.path() + "/a";
  ASSERT_TRUE(write_records(path, {"one", "two"}).ok());
  EXPECT_EQ(each_record(path, [](const RecordView&) { return true; }, {.go_on = [] { return false; }}).error().code(),
            Code::cancelled);
  std::filesystem::resize_file(path, 30);
  int visited = 0;
  const auto done = each_record(path, [&](const RecordView&) { return ++visited > 0; });
  EXPECT_EQ(visited, 1);
  EXPECT_EQ(done.error().code(), Code::data);
  EXPECT_EQ(done.error().place().record, 1);
}

TEST(SavedState, IsWrittenWholeReadAndChecked) {
  const Folder folder;
  const std::string path = folder.path() + "/state.json";
  Json state = Json::object();
  state.set("version", 3);
  ASSERT_TRUE(save_state(path, state).ok());
  EXPECT_EQ(*load_state(path), state);
  EXPECT_EQ(state_text(*load_state(path)).error().code(), Code::state);
  ASSERT_TRUE(write_file(path, "{").ok());
  EXPECT_EQ(load_state(path).error().detail(), Detail::data_loss);
  EXPECT_EQ(load_state(folder.path() + "/none").error().detail(), Detail::not_found);
}

TEST(RunArguments, AreReadAsInDocuments) {
  EXPECT_EQ(*parse_memory(Json{"2 MiB"}), 2 << 20);
  EXPECT_FALSE(parse_memory(Json{-1}).ok());
  const auto shard = parse_shard(Json{"1/4"});
  ASSERT_TRUE(shard.ok());
  RunOptions options;
  options.take(*shard);
  EXPECT_EQ(options.shard_index * 10 + options.shard_count, 14);
  EXPECT_FALSE(parse_shard(Json{"4/4"}).ok());
}

TEST(Messages, QuoteTextNameTheNearestWordAndEscapePointers) {
  EXPECT_EQ(quote("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(nearest("shufle", std::vector<std::string>{"slice", "shuffle"}), "shuffle");
  EXPECT_EQ(pointer_token("a/b~c"), "a~1b~0c");
}

}  // namespace
}  // namespace forebay
