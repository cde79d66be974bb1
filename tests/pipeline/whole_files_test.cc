// SPDX-License-Identifier: Apache-2.0
// Runs over whole files as records.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/order/shards/batch_counts.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::testing {
namespace {

std::string write_text(const std::string& path, const std::string& text) {
  std::ofstream{path} << text;
  return path;
}

TEST(WholeFiles, AFilterJudgesTheFilesBeforeOneThatCannotBeRead) {
  const Folder folder;
  write_text(folder.file("a"), "one");
  write_text(folder.file("b"), "");
  write_text(folder.file("c"), "three");
  write_text(folder.file("long"), "longer");
  const Json document = parse(R"({"source": {"whole_file": {"files": ["a", "b", "c", "long"], "max_file_bytes": 5}},
    "decode": {"record": {}},
    "steps": [{"filter": {"where": "length(record) > 0"}}, {"batch": {"size": 1}}]})");
  for (const std::int64_t threads : {1, 4}) {
    const Delivered got = run(document, {.threads = threads}, folder.path());
    ASSERT_EQ(got.batches.size(), 2U) << got.error;
    EXPECT_THAT(got.batches[0], ::testing::HasSubstr("|one"));
    EXPECT_THAT(got.batches[1], ::testing::HasSubstr("|three"));
    EXPECT_THAT(got.error, ::testing::HasSubstr(folder.file("long")));
  }
}

TEST(WholeFiles, AFaultOfAFileComesBeforeOneOfALaterFile) {
  const Folder folder;
  write_text(folder.file("a"), "12");
  write_text(folder.file("long"), "longer");
  const Json document = parse(R"({"source": {"whole_file": {"files": ["a", "long"], "max_file_bytes": 5}},
    "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}},
    "steps": [{"filter": {"where": "id > 0"}}, {"batch": {"size": 1}}]})");
  EXPECT_THAT(run(document, {}, folder.path()).error, ::testing::HasSubstr(folder.file("a")));
}

TEST(WholeFiles, TheBatchesOfAnyNumberOfFilesAreKnown) {
  const Json document = parse(R"({"source": {"whole_file": {"files": ["a@2500"]}},
    "decode": {"record": {}}, "steps": [{"batch": {"size": 10}}]})");
  const auto plan = Plan::make(document, ".");
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(engine::batches_by_index(engine::program_of(*plan), {}), 250);
}

}  // namespace
}  // namespace forebay::testing
