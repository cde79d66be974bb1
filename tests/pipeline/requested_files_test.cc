// SPDX-License-Identifier: Apache-2.0
// Files of a FileSystem: the stream is that of local files, and nothing waits for a request.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "engine/run/scheduler.h"
#include "io/deflate.h"
#include "tests/pipeline/requested_closes.h"
#include "tests/pipeline/restarts.h"
#include "tests/support/slow_files.h"

namespace forebay {
namespace {

using testing::Delivered;
using testing::document;
using testing::Folder;
using testing::kept;
using testing::rest;
using testing::resumed;
using testing::write_examples;
using tests::SlowFiles;
using namespace std::chrono_literals;

/// Local files, and the same files as `slow://`.
class RequestedFiles : public ::testing::Test {
 protected:
  RequestedFiles() { slow_.behave({.latency = 1ms}); }
  ~RequestedFiles() override { slow_.behave({}); }

  /// Six files of different lengths: one empty, three compressed.
  void write_six() {
    const std::vector<std::int64_t> sizes{300, 0, 977, 45, 512, 130};
    const std::vector<Compression> kinds{Compression::none, Compression::none, Compression::gzip,
                                         Compression::zlib, Compression::zstd, Compression::none};
    std::int64_t id = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      names_.push_back(write_examples(folder_.file("part-" + std::to_string(i)), id, sizes[i], kinds[i]));
      id += sizes[i];
    }
  }
  [[nodiscard]] Json of_local(const std::string& steps, const std::string& more = "") const {
    return listed(steps, more, "");
  }
  [[nodiscard]] Json of_slow(const std::string& steps, const std::string& more = "") const {
    return listed(steps, more, "slow://");
  }
  /// What a run over the local files delivers, with the paths that the other run has.
  [[nodiscard]] Delivered local(const std::string& steps, const std::string& more = "") const {
    Delivered out = testing::run(of_local(steps, more), {.threads = 1});
    for (std::string& batch : out.batches) batch = as_slow(std::move(batch));
    return out;
  }
  [[nodiscard]] std::string as_slow(std::string text) const {
    const std::string folder = folder_.path() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + folder.size() + 7))
      text.insert(at, "slow://");
    return text;
  }

  const Folder folder_;
  std::vector<std::string> names_;
  SlowFiles& slow_ = SlowFiles::get();

 private:
  [[nodiscard]] Json listed(const std::string& steps, const std::string& more, const std::string& scheme) const {
    std::string files;
    for (const std::string& name : names_) files += (files.empty() ? "" : R"(", ")") + scheme + name;
    return document(files, steps, more);
  }
};

const std::vector<std::string>& streams() {
  static const std::vector<std::string> all{
      R"({"batch": {"size": 64}})", R"({"shuffle": {"buffer": 100}}, {"batch": {"size": 61, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 7}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 333}},
         {"batch": {"size": 61, "pad": true}})",
      R"({"shuffle": {"global": true}}, {"batch": {"size": 40}})",
      R"({"shuffle": {"global": true}}, {"filter": {"where": "id % 3 != 1"}}, {"batch": {"size": 32}})"};
  return all;
}

TEST_F(RequestedFiles, GiveTheStreamOfLocalFilesForAnyThreadCountAndBudget) {
  write_six();
  for (const std::string& steps : streams()) {
    SCOPED_TRACE(steps);
    const Delivered expected = local(steps, R"(, "epochs": 2, "seed": 5)");
    EXPECT_EQ(expected.error, "");
    EXPECT_GT(expected.batches.size(), 30U);
    const Json json = of_slow(steps, R"(, "epochs": 2, "seed": 5)");
    for (const std::int64_t threads : {1, 8})
      EXPECT_EQ(testing::run(json, {.threads = threads}), expected) << threads << " threads";
    EXPECT_EQ(testing::run(json, {.threads = 2, .memory = 4 << 20, .prefetch = 50}), expected);
  }
}

TEST_F(RequestedFiles, GiveTheSameStreamWhenEveryAnswerIsShort) {
  write_six();
  slow_.behave({.max_bytes = 1000});
  for (const std::string& steps : streams()) {
    SCOPED_TRACE(steps);
    EXPECT_EQ(testing::run(of_slow(steps), {.threads = 2}), local(steps));
  }
}

TEST_F(RequestedFiles, RestartAtEveryBatch) {
  write_six();
  slow_.behave({});
  for (const std::string& steps : streams()) {
    SCOPED_TRACE(steps);
    const Json json = of_slow(steps, R"(, "epochs": 2, "seed": 5)");
    auto loader = load(json, {.threads = 2});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto [unbroken, states] = testing::whole_run(*loader);
    ASSERT_GT(unbroken.size(), 30U);
    for (std::size_t at = 0; at < states.size(); at += tests::how_much<std::size_t>(1, 5, 17)) {
      auto again = resumed(json, states[at], {.threads = static_cast<std::int64_t>(1 + at % 3)});
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(kept(*again), states[at]);
      ASSERT_EQ(rest(*again),
                std::vector<std::string>(unbroken.begin() + static_cast<std::ptrdiff_t>(at), unbroken.end()))
          << "from batch " << at;
    }
  }
}

TEST_F(RequestedFiles, AFaultInTheMiddleComesAfterTheBatchesBeforeIt) {
  std::vector<std::string> records(4000, std::string(1000, 'x'));
  const std::string path = folder_.file("a");
  ASSERT_TRUE(write_records(path, records).ok());
  slow_.behave({.fault = [](const ReadRequest& request) -> Result<void> {
    if (request.offset < 2'000'000) return {};
    return Error{Code::io, "the server answered 503 ten times"};
  }});
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": ["slow://)" + path + R"("]}},
                                       "decode": {"record": {}}, "steps": [{"batch": {"size": 100}}]})");
  for (const std::int64_t threads : {1, 8}) {
    const Delivered got = testing::run(json, {.threads = threads, .memory = 16 << 20});
    EXPECT_GE(got.batches.size(), 10U);
    EXPECT_LE(got.batches.size(), 2'000'000U / 101'600 + 1);
    EXPECT_NE(got.error.find("the server answered 503 ten times"), std::string::npos) << got.error;
    EXPECT_NE(got.error.find("slow://" + path), std::string::npos) << got.error;
  }
}

TEST_F(RequestedFiles, AFileThatChangesIsAnErrorAndNoMixture) {
  std::vector<std::string> records(6000, std::string(1000, 'x'));
  const std::string path = folder_.file("a");
  ASSERT_TRUE(write_records(path, records).ok());
  std::atomic<bool> changed{false};
  slow_.behave({.at_once = 1, .fault = [&](const ReadRequest& request) -> Result<void> {
                  if (request.offset > 3'000'000 && !changed.exchange(true)) {
                    std::ofstream{path, std::ios::in | std::ios::out | std::ios::binary}.seekp(5'000'000).put('y');
                  }
                  return {};
                }});
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": ["slow://)" + path + R"("]}},
                                       "decode": {"record": {}}, "steps": [{"batch": {"size": 100}}]})");
  const Delivered got = testing::run(json, {.threads = 2, .memory = 16 << 20});
  slow_.behave({});
  EXPECT_LT(got.batches.size(), 60U);
  EXPECT_NE(got.error.find("changed while it was read"), std::string::npos) << got.error;
}

TEST_F(RequestedFiles, AnObjectThatIsReplacedAtAnyRequestGivesRowsOfOneVersionOrAnError) {
  const std::string path = folder_.file("a.txt");
  // Both versions have the same size and different lines, so an index of one cuts the other in wrong places.
  const auto line_of = [](char letter) { return letter + std::string(letter == 'o' ? 98 : 48, 'x'); };
  const auto write = [&](const std::string& to, char letter) {
    std::ofstream out{to, std::ios::binary};
    for (int bytes = 0; bytes < 2'000'000; bytes += static_cast<int>(line_of(letter).size()) + 1)
      out << line_of(letter) << '\n';
  };
  for (const char* order : {R"({"shuffle": {"global": true}}, )", ""}) {
    int errors = 0;
    for (int at = 0; at < 24; ++at) {
      SCOPED_TRACE(order + std::to_string(at));
      write(path, 'o');
      write(folder_.file("new"), 'n');
      std::atomic<int> requests{0};
      const auto replace = [&] {
        if (requests++ == at) std::filesystem::rename(folder_.file("new"), path);
      };
      slow_.behave(
          {.fault = [&](const ReadRequest&) -> Result<void> { return replace(), Result<void>{}; }, .finds = replace});
      const Json json = testing::parse(R"({"source": {"lines": {"files": ["slow://)" + path + R"("]}},
                                           "decode": {"record": {"name": "line"}}, "steps": [)" +
                                       order + R"({"batch": {"size": 100}}]})");
      auto loader = load(json, {.threads = 2});
      ASSERT_TRUE(loader.ok()) << loader.error().text();
      std::set<char> versions;
      bool failed = false;
      while (true) {
        const auto batch = loader->next();
        failed = !batch.ok();
        if (failed || !*batch) break;
        for (std::int64_t row = 0; row < (*batch)->rows(); ++row) {
          const std::string_view line = (*batch)->tensor("line").string(row);
          versions.insert(line == line_of('o') ? 'o' : line == line_of('n') ? 'n' : '?');
        }
      }
      errors += failed ? 1 : 0;
      EXPECT_LE(versions.size(), 1U) << "rows of two versions";
      EXPECT_FALSE(versions.contains('?')) << "rows of no version";
      slow_.behave({});  // requests that the run left behind ask nothing of this round
    }
    EXPECT_GT(errors, 0);
  }
}

TEST_F(RequestedFiles, AMissingFileIsAFaultOfTheDocument) {
  write_six();
  names_.insert(names_.begin() + 1, folder_.file("nothing"));
  const auto loader = load(of_slow(R"({"batch": {"size": 4}})"));
  ASSERT_FALSE(loader.ok());
  EXPECT_NE(loader.error().text().find("nothing"), std::string::npos) << loader.error().text();
}

TEST_F(RequestedFiles, ACloseDoesNotWaitForRequestsInFlight) {
  write_six();
  const auto plan = Plan::make(of_slow(R"({"shuffle": {"buffer": 9}}, {"batch": {"size": 4}})"));
  const auto global = Plan::make(of_slow(R"({"shuffle": {"global": true}}, {"batch": {"size": 4}})"));
  ASSERT_TRUE(plan.ok() && global.ok());
  testing::check_closes(*plan, *global, 60);
}

TEST_F(RequestedFiles, AShardByFileThatGoesThroughThePassesOfOthersClosesAtAnyTime) {
  write_six();
  const std::string steps = R"({"take": {"count": 900}}, {"filter": {"where": "id % 3 != 1"}},
                               {"batch": {"size": 4, "remainder": "drop"}})";
  const auto plan = Plan::make(of_slow(steps));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const RunOptions shard{.threads = 2, .shard_index = 1, .shard_count = 2, .shard_by = ShardBy::file};
  auto local = load(of_local(steps), shard);
  auto slow = Loader::start(*plan, shard);
  ASSERT_TRUE(local.ok() && slow.ok());
  std::vector<std::string> expected = rest(*local);
  for (std::string& batch : expected) batch = as_slow(std::move(batch));
  EXPECT_GT(expected.size(), 20U);
  EXPECT_EQ(rest(*slow), expected);
  for (int round = 0; round < 40; ++round) {
    slow_.behave({.latency = std::chrono::microseconds{100 * (round % 7)}});
    auto loader = Loader::start(*plan, shard);
    ASSERT_TRUE(loader.ok());
    bool timed_out = false;
    static_cast<void>(loader->next_within(std::chrono::milliseconds{round % 11}, timed_out));
    slow_.behave({.never = round % 2 == 0});
    const auto since = std::chrono::steady_clock::now();
    loader->close();
    EXPECT_LT(std::chrono::steady_clock::now() - since, 2s) << "round " << round;
  }
}

TEST_F(RequestedFiles, ARunThatWaitsForBytesIsNotStuckAndGoesOn) {
  write_six();
  names_ = {names_.front()};
  const auto plan = Plan::make(of_slow(R"({"batch": {"size": 100}})"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  slow_.behave({.never = true});
  engine::Scheduler run{engine::share_program(*plan),
                        {.threads = 1, .memory = 64 << 20, .shard_count = 1, .requests = 32},
                        {},
                        50ms};  // a run that is stuck fails after that time
  bool timed_out = false;
  ASSERT_TRUE(run.next(400ms, timed_out).ok());
  EXPECT_TRUE(timed_out);
  EXPECT_NE(run.stats().waiting.find("the order is waiting for bytes that were asked for"), std::string::npos)
      << run.stats().waiting;
  slow_.behave({});
  for (int batch = 0; batch < 3; ++batch) EXPECT_EQ((*run.next(std::nullopt, timed_out))->layout.rows, 100);
  EXPECT_EQ(*run.next(std::nullopt, timed_out), nullptr);
}

TEST_F(RequestedFiles, CorruptRecordsAreSkippedAsInLocalFiles) {
  write_six();
  for (const std::size_t part : {0U, 2U, 4U}) {
    std::fstream file{names_[part], std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(names_[part]) / 2)).put('\x55');
  }
  for (const char* policy : {"skip_record", "skip_file"}) {
    const std::string more = std::string{R"(, "on_corrupt": ")"} + policy + "\"";
    for (const std::string& steps : streams()) {
      SCOPED_TRACE(steps + more);
      const Delivered expected = local(steps, more);
      EXPECT_EQ(expected.error, "");
      EXPECT_EQ(testing::run(of_slow(steps, more), {.threads = 2}), expected);
    }
  }
}

TEST_F(RequestedFiles, TheHeaderRowOfACsvFileIsReadThroughItsFileSystem) {
  const std::string text = "n,s\n1,a\n2,b\n";
  std::ofstream{folder_.file("plain.csv"), std::ios::binary} << text;
  auto gzip = io::Deflater::make(Compression::gzip);
  std::vector<std::byte> packed;
  ASSERT_TRUE(gzip->write(std::as_bytes(std::span{text}), packed).ok());
  ASSERT_TRUE(gzip->finish(packed).ok());
  std::ofstream{folder_.file("packed.csv.gz"), std::ios::binary}.write(reinterpret_cast<const char*>(packed.data()),
                                                                       static_cast<std::streamsize>(packed.size()));
  for (const char* name : {"plain.csv", "packed.csv.gz"}) {
    const auto document = [&](const std::string& path) {
      return testing::parse(R"({"source": {"csv": {"files": [")" + path + R"("], "header": true}},
          "decode": {"csv": {"columns": {"n": {"dtype": "int64"}}}}, "steps": [{"batch": {"size": 2}}]})");
    };
    Delivered expected = testing::run(document(folder_.file(name)), {.threads = 1});
    for (std::string& batch : expected.batches) batch = as_slow(std::move(batch));
    EXPECT_EQ(expected.batches.size(), 1U) << expected.error;
    EXPECT_EQ(testing::run(document(SlowFiles::path(folder_.file(name))), {.threads = 2}), expected);
  }
}

TEST_F(RequestedFiles, WhatCannotBeReadIsRefused) {
  write_six();
  const auto refusal = [](const std::string& text) {
    const auto plan = Plan::make(testing::parse(text));
    return plan.ok() ? std::string{} : plan.error().text();
  };
  const std::string file = SlowFiles::path(names_.front());
  EXPECT_NE(refusal(R"({"source": {"tfrecord": {"files": ["slow:///a/*"]}}, "decode": {"record": {}},
                        "steps": [{"batch": {"size": 1}}]})")
                .find("no file matches 'slow:///a/*'"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"source": {"npz": {"files": [")" + file + R"("]}}, "steps": [{"batch": {"size": 1}}]})").find("zip"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"source": {"tfrecord": {"files": ["unknown://a"]}}, "decode": {"record": {}},
                        "steps": [{"batch": {"size": 1}}]})")
                .find("'unknown://a': only local files can be read"),
            std::string::npos);
}

/// The seconds that a run takes.
double seconds_of(const Json& json, std::int64_t memory = std::int64_t{1} << 30) {
  auto loader = load(json, {.threads = 1, .memory = memory});
  EXPECT_TRUE(loader.ok());
  const auto since = std::chrono::steady_clock::now();
  while (true) {
    const auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

TEST_F(RequestedFiles, OneThreadKeepsManyRequestsInFlight) {
  std::vector<std::string> records(24'000, std::string(4000, 'x'));  // 96 MB
  const std::string path = folder_.file("a");
  ASSERT_TRUE(write_records(path, records).ok());
  // A sanitizer or a busy machine must not need as long for a request as the answer takes.
  const auto latency = tests::sanitized ? 1000ms : 40ms;
  slow_.behave({.latency = latency, .at_once = 16});
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": ["slow://)" + path + R"("]}},
                                       "decode": {"record": {}}, "steps": [{"batch": {"size": 256}}]})");
  const double taken = seconds_of(json);
  const double possible =
      96.4 / 16 * std::chrono::duration<double>(latency).count();  // bench/requests.cc measures how near a run comes
  EXPECT_GE(slow_.max_served(), 10U);
  EXPECT_LT(taken, 10 * possible + (tests::sanitized ? 60 : 2));
}

TEST_F(RequestedFiles, EachRecordOfAGlobalShuffleIsAskedForOnceAndManyAreInFlight) {
  constexpr std::size_t count = 600;
  const std::string path = folder_.file("a");
  ASSERT_TRUE(write_records(path, std::vector<std::string>(count, std::string(100'000, 'x'))).ok());
  const auto latency = tests::sanitized ? 200ms : 20ms;
  slow_.behave({.latency = latency, .at_once = 16});
  const double taken = seconds_of(testing::parse(R"({"source": {"tfrecord": {"files": ["slow://)" + path + R"("]}},
      "decode": {"record": {}}, "steps": [{"shuffle": {"global": true}}, {"batch": {"size": 10}}]})"),
                                  64 << 20);
  EXPECT_GE(slow_.max_served(), 10U) << "the server needs time of its own for each";
  EXPECT_LT(slow_.reads(), count + 120) << "the index takes 58, and its identity 4";
  const double possible = static_cast<double>(count) / 16 * std::chrono::duration<double>(latency).count();
  EXPECT_LT(taken, 10 * possible + (tests::sanitized ? 60 : 2));
}

}  // namespace
}  // namespace forebay
