// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include <forebay/index.h>

#include "tests/pipeline/restarts.h"

/// Support for tests of processes that read the records of their own rows only.
namespace forebay::testing {

inline std::string large_record(int id) {
  return std::to_string(id) +
         std::string(17'000 + static_cast<std::size_t>(id * 37 % 997), static_cast<char>('a' + id % 26));
}

/// Files of large records, one of them empty, with an index in one folder and none in another.
class LargeRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    int id = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::string> records;
      for (int n = 0; n < sizes[i]; ++n) records.push_back(large_record(id++));
      ASSERT_TRUE(write_records(part(i), records, Compression::none).ok());
    }
  }
  [[nodiscard]] std::string part(std::size_t number) const {
    return data_.file("part-" + std::to_string(number) + ".tfrecord");
  }
  [[nodiscard]] Json document(const std::string& steps, const std::string& more = "") const {
    return parse(R"({"source": {"tfrecord": {"files": [")" + data_.file("part-?.tfrecord") +
                 R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" + steps + "]" + more + "}");
  }
  void index(const Json& json) const {
    const auto plan = Plan::make(json);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const auto reports = index_files(*plan, {.index_dir = indexes_.path()});
    ASSERT_TRUE(reports.ok()) << reports.error().text();
    for (const IndexReport& report : *reports) ASSERT_FALSE(report.error) << report.error->text();
  }
  [[nodiscard]] RunOptions with_index(RunOptions options) const {
    options.index_dir = indexes_.path();
    return options;
  }
  [[nodiscard]] RunOptions without_index(RunOptions options) const {
    options.index_dir = none_.path();
    return options;
  }
  /// The counters of a run that was gone through.
  [[nodiscard]] Stats stats_of(const Json& json, const RunOptions& options) const {
    auto loader = load(json, options);
    EXPECT_TRUE(loader.ok()) << loader.error().text();
    rest(*loader);
    return loader->stats();
  }

  static constexpr std::array sizes{24, 0, 41, 7, 16};
  Folder data_, indexes_, none_;
};

/// Each shard of some shards by row, element and batch.
inline std::vector<RunOptions> shards_of_all_kinds() {
  std::vector<RunOptions> out;
  for (const std::int64_t count : {2, 4}) {
    for (std::int64_t index = 0; index < count; ++index) {
      for (const ShardBy by : {ShardBy::row, ShardBy::element, ShardBy::batch})
        out.push_back({.threads = 1 + index % 3, .shard_index = index, .shard_count = count, .shard_by = by});
    }
  }
  return out;
}

/// Whether shards by element may have the batches of these steps.
inline bool may_be_dealt(const std::string& steps, const RunOptions& options) {
  const bool needs_remainder =
      steps.find("\"remainder\"") == std::string::npos || steps.find("pad") != std::string::npos;
  return options.shard_by != ShardBy::element || (!needs_remainder && steps.find("_batches") == std::string::npos);
}

}  // namespace forebay::testing
