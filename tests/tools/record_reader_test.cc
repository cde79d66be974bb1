// SPDX-License-Identifier: Apache-2.0
#include <forebay/record_reader.h>

#include <cstring>

#include <forebay/records.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/files.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Keys = std::vector<std::string>;

RecordReader reader_of(RecordReaderOptions options) {
  auto made = RecordReader::make(options);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *std::move(made);
}

/// A closed queue of paths.
Queue queue_of(const std::vector<std::string>& paths) {
  auto queue = Queue::make({.components = {{.name = "path", .dtype = DType::string}}});
  EXPECT_TRUE(queue.ok());
  for (const std::string& path : paths) {
    const std::vector<std::int64_t> splits{0, std::ssize(path)};
    Tensor tensor{.dtype = DType::string, .shape = {}};
    tensor.byte_splits = splits.data();
    tensor.bytes = reinterpret_cast<const std::byte*>(path.data());
    EXPECT_TRUE(*queue->enqueue({tensor}));
  }
  queue->close();
  return *queue;
}

/// The values to the end, read `count` at a time; an error ends them as its text.
Keys values_of(RecordReader& reader, Queue works, std::int64_t count = 1) {
  Keys out;
  while (true) {
    auto found = reader.read(works, count);
    if (!found.ok()) {
      out.push_back("! " + found.error().message());
      continue;
    }
    if (found->empty()) return out;
    for (const ReadRecord& record : *found) out.push_back(record.value);
  }
}

std::string corrupt_file(const tests::Folder& folder) {
  const std::string path = folder / "corrupt";
  EXPECT_TRUE(write_records(path, {"one", "two", "six", "ten"}).ok());
  std::string bytes = tests::read_text(path);
  bytes[19 + 12] ^= 1;  // a byte of "two"
  return folder.write("corrupt", bytes);
}

TEST(RecordReader, GoesFromFileToFileAndCounts) {
  const tests::Folder folder;
  const std::string a = folder.write("a", "one\ntwo\n"), empty = folder.write("empty", ""),
                    b = folder.write("b", "six\n");
  RecordReader reader = reader_of({.kind = "lines"});
  EXPECT_THAT(values_of(reader, queue_of({a, empty, b}), 9), ElementsAre("one", "two", "six"));
  EXPECT_EQ(reader.counters().records_produced, 3);
  EXPECT_EQ(reader.counters().work_units_completed, 3);
  reader.reset();
  EXPECT_EQ(reader.counters().records_produced, 0);
}

TEST(RecordReader, OneReadNeverCrossesTheEndOfAFile) {
  const tests::Folder folder;
  RecordReader reader = reader_of({.kind = "lines"});
  Queue works = queue_of({folder.write("a", "one\ntwo\n"), folder.write("b", "six\n")});
  EXPECT_EQ(reader.read(works, 9)->size(), 2U);
  const auto second = reader.read(works, 9);
  EXPECT_EQ(second->size(), 1U);
  EXPECT_THAT(second->front().key, HasSubstr("b:1"));
}

TEST(RecordReader, ACorruptRecordIsAnErrorOnceAfterTheRecordsBeforeIt) {
  const tests::Folder folder;
  const std::string good = folder / "good";
  ASSERT_TRUE(write_records(good, {"end"}).ok());
  RecordReader reader = reader_of({});
  const Keys found = values_of(reader, queue_of({corrupt_file(folder), good}), 9);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], "one");
  EXPECT_THAT(found[1], HasSubstr("!"));
  EXPECT_EQ(found[2], "end");
}

TEST(RecordReader, CorruptRecordsOrTheRestOfTheirFileAreLeftOutAndCounted) {
  const tests::Folder folder;
  const std::string file = corrupt_file(folder);
  RecordReader records = reader_of({.on_corrupt = OnCorruptFile::skip_record});
  EXPECT_THAT(values_of(records, queue_of({file})), ElementsAre("one", "six", "ten"));
  EXPECT_EQ(records.counters().records_skipped, 1);
  RecordReader files = reader_of({.on_corrupt = OnCorruptFile::skip_file});
  EXPECT_THAT(values_of(files, queue_of({file})), ElementsAre("one"));
  EXPECT_EQ(files.counters().files_skipped, 1);
}

TEST(RecordReader, AMissingFileIsAnErrorOnceOrIsLeftOut) {
  const tests::Folder folder;
  const std::string good = folder.write("good", "x"), gone = folder / "gone";
  for (const char* kind : {"whole_file", "lines"}) {
    RecordReader fails = reader_of({.kind = kind});
    const Keys found = values_of(fails, queue_of({gone, good}));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[0], HasSubstr("!"));
    EXPECT_EQ(found[1], "x");
    RecordReader skips = reader_of({.kind = kind, .skip_missing = true});
    EXPECT_THAT(values_of(skips, queue_of({gone, good})), ElementsAre("x"));
    EXPECT_EQ(skips.counters().files_skipped, 1);
  }
}

TEST(RecordReader, AStateGoesOnAtTheNextRecordWithAnyKind) {
  const tests::Folder folder;
  const std::string text = folder.write("a", "one\ntwo\nsix\n");
  const std::string records = folder / "b";
  ASSERT_TRUE(write_records(records, {"one", "two", "six"}).ok());
  for (const auto& [kind, path] : {std::pair{"lines", text}, {"tfrecord", records}}) {
    RecordReader before = reader_of({.kind = kind});
    before.start(path);
    ASSERT_EQ(before.read(2)->size(), 2U);
    RecordReader after = reader_of({.kind = kind});
    ASSERT_TRUE(after.restore(before.state()).ok());
    EXPECT_EQ(after.state(), before.state());
    EXPECT_EQ(after.read(9)->front().value, "six");
    EXPECT_EQ(after.counters().records_produced, 3);
  }
}

TEST(RecordReader, AStateThatDoesNotFitIsRefusedAndChangesNothing) {
  const tests::Folder folder;
  RecordReader before = reader_of({.kind = "lines"});
  before.start(folder.write("a", "one\ntwo\nsix\n"));
  ASSERT_EQ(before.read(3)->size(), 3U);
  const std::string state = before.state();
  folder.write("a", "one\n");
  RecordReader after = reader_of({.kind = "lines"});
  EXPECT_EQ(after.restore(state).error().code(), Code::state);
  for (const char* wrong :
       {"", "[]", "{}", R"({"kind": "lines", "version": 2})", R"({"kind": "tfrecord", "version": 1})",
        R"({"kind": "lines", "version": 1, "records_produced": -1})"})
    EXPECT_EQ(after.restore(wrong).error().code(), Code::state) << wrong;
  EXPECT_TRUE(after.needs_work());
}

TEST(RecordReader, AnUnknownKindOrOptionIsRefusedByName) {
  EXPECT_THAT(RecordReader::make({.kind = "line"}).error().text(), HasSubstr("did you mean 'lines'?"));
  EXPECT_FALSE(RecordReader::make({.kind = "arrays"}).ok());
  Json options = Json::object();
  options.set("skip_header_line", Json{1});
  EXPECT_THAT(RecordReader::make({.kind = "lines", .options = options}).error().text(), HasSubstr("skip_header_lines"));
  EXPECT_FALSE(RecordReader::make({.kind = "identity", .options = options}).ok());
}

}  // namespace
}  // namespace forebay
