// SPDX-License-Identifier: Apache-2.0
#include <forebay/verify.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/index.h>
#include <forebay/records.h>

#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using tests::framed;

/// Twenty files; in the i-th, the payload of record i is wrong, and the 7th is compressed.
std::vector<std::string> write_corrupt(const tests::Folder& folder) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < 20; ++i) {
    std::string bytes = framed(std::vector<std::string>(30, tests::some_text(100)));
    bytes[116 * i + 50] ^= 1;
    paths.push_back(folder.write("f" + std::to_string(i), i == 7 ? tests::compress(bytes, tests::gzip_window) : bytes));
  }
  return paths;
}

TEST(Verify, EveryFileHasItsReportWhateverTheThreads) {
  const tests::Folder folder;
  const auto paths = write_corrupt(folder);
  for (const std::int64_t threads : {1, 2, 50}) {
    const auto reports = verify(paths, {.threads = threads});
    ASSERT_TRUE(reports.ok());
    ASSERT_EQ(reports->size(), paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const FileReport& report = (*reports)[i];
      EXPECT_EQ(report.file, paths[i]);
      EXPECT_EQ(report.compression, i == 7 ? Compression::gzip : Compression::none);
      EXPECT_EQ(report.records, 29);
      EXPECT_EQ(report.bytes, 30 * 116);
      EXPECT_EQ(report.corrupt_records, 1);
      EXPECT_EQ(report.corrupt_bytes, 116);
      ASSERT_EQ(report.first.size(), 1U);
      EXPECT_EQ(report.first[0].record, static_cast<std::int64_t>(i));
      EXPECT_EQ(report.first[0].offset, static_cast<std::int64_t>(116 * i));
      EXPECT_FALSE(report.intact());
    }
  }
}

TEST(Verify, ProgressEndsAtTheWholeAndMayStopEverything) {
  const tests::Folder folder;
  const auto paths = write_corrupt(folder);
  VerifyProgress end;
  ASSERT_TRUE(verify(paths, {.progress =
                                 [&](const VerifyProgress& now) {
                                   end = now;
                                   return true;
                                 }})
                  .ok());
  EXPECT_EQ(end.fraction, 1);
  EXPECT_EQ(end.files_done, 20);
  EXPECT_EQ(end.corrupts, 20);
  EXPECT_EQ(end.records, 600);
}

TEST(Verify, EachReportIsToldWhenItsFileIsDone) {
  const tests::Folder folder;
  const auto paths = write_corrupt(folder);
  std::vector<std::pair<std::string, std::int64_t>> told, all;
  const auto reports =
      verify(paths, {.report = [&](const FileReport& report) { told.emplace_back(report.file, report.corrupts()); }});
  ASSERT_TRUE(reports.ok());
  for (const FileReport& report : *reports) all.emplace_back(report.file, report.corrupts());
  EXPECT_THAT(told, ::testing::UnorderedElementsAreArray(all));
}

TEST(Verify, WhatIsStoppedIsAnErrorAndLeavesNothing) {
  const tests::Folder folder;
  std::string bytes;
  for (std::size_t i = 0; i < 300; ++i) bytes += framed(tests::some_text(100'000, i));
  const std::string path = folder.write("data", bytes);
  int calls = 0;
  const VerifyOptions options{.threads = 1, .progress = [&](const VerifyProgress&) { return ++calls < 2; }};
  const auto stopped = repair({path}, folder / "out", {.compression = Compression::gzip}, options);
  if (!stopped.ok()) {  // fast machines may be done before
    EXPECT_EQ(stopped.error().code(), Code::cancelled);
    EXPECT_THAT(folder.names(), UnorderedElementsAre("data"));
  } else {
    EXPECT_THAT(folder.names(), UnorderedElementsAre("data", "out"));
  }
}

TEST(Verify, WrongArgumentsAreRefusedBeforeAnythingIsRead) {
  EXPECT_EQ(verify({}).error().code(), Code::config);
  EXPECT_EQ(verify({"/nowhere/*"}).error().code(), Code::config);
  EXPECT_EQ(verify({"x"}, {.max_record_bytes = 0}).error().code(), Code::config);
  for (const std::int64_t threads : {-1, 1025}) {
    EXPECT_EQ(verify({"x"}, {.threads = threads}).error().text(),
              "threads: must be an integer from 0 to 1024, found " + std::to_string(threads));
    EXPECT_EQ(index_files({"x"}, {.threads = threads}).error().code(), Code::config);
  }
  EXPECT_EQ(verify({"/nowhere/x"})->front().error->text(),
            "/nowhere/x: cannot open '/nowhere/x': No such file or directory");
}

TEST(Repair, IntactRecordsComeBackFromEveryCompression) {
  const tests::Folder folder;
  const auto paths = write_corrupt(folder);
  const auto reports = repair(paths, folder / "out");
  ASSERT_TRUE(reports.ok()) << reports.error().text();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ((*reports)[i].repaired, folder / ("out/f" + std::to_string(i)));
    EXPECT_EQ(*read_records(*(*reports)[i].repaired, i == 7 ? Compression::gzip : Compression::none),
              std::vector<std::string>(29, tests::some_text(100)));
  }
}

TEST(RecordWriter, WithoutAFinishTheOldFileStays) {
  const tests::Folder folder;
  folder.write("a", "old");
  {
    auto writer = RecordWriter::create(folder / "a");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(tests::bytes_of("abc")).ok());
  }
  EXPECT_EQ(tests::read_text(folder / "a"), "old");
  EXPECT_THAT(folder.names(), UnorderedElementsAre("a"));
}

}  // namespace
}  // namespace forebay
