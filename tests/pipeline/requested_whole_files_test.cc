// SPDX-License-Identifier: Apache-2.0
// Files of a FileSystem that are records: the stream is that of local files, and a loader that is closed waits for
// none.
#include <chrono>
#include <fstream>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/pipeline/requested_closes.h"
#include "tests/pipeline/restarts.h"
#include "tests/support/slow_files.h"

namespace forebay {
namespace {

using testing::Delivered;
using testing::Folder;
using testing::parse;
using tests::SlowFiles;
using namespace std::chrono_literals;

class RequestedWholeFiles : public ::testing::Test {
 protected:
  RequestedWholeFiles() {
    for (int i = 0; i < files; ++i) {
      const auto size = static_cast<std::size_t>(i % 29 == 4 ? 0 : 1 + i * 7919 % 30'000);
      std::ofstream{path(i)} << std::string(size, static_cast<char>('a' + i % 26));
    }
    slow_.behave({.latency = 300us});
  }
  ~RequestedWholeFiles() override { slow_.behave({}); }

  [[nodiscard]] std::string path(int number) const { return folder_.file(fmt::format("{:03}", number)); }
  /// A run over all files, by number and length, which tell them apart.
  [[nodiscard]] Json document(const std::string& scheme, const std::string& steps) const {
    std::string list;
    for (int i = 0; i < files; ++i) list += fmt::format(R"({}"{}{}")", i > 0 ? ", " : "", scheme, path(i));
    return parse(R"({"source": {"whole_file": {"files": [)" + list +
                 R"(]}}, "decode": {"record": {"name": "x"}}, "steps": [)" + steps + R"(], "epochs": 2, "seed": 3})");
  }

  /// With the paths that the other run has.
  [[nodiscard]] std::string as_slow(std::string text) const {
    const std::string folder = folder_.path() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + folder.size() + 7))
      text.insert(at, "slow://");
    return text;
  }

  static constexpr int files = 200;
  const Folder folder_;
  SlowFiles& slow_ = SlowFiles::get();
};

TEST_F(RequestedWholeFiles, GiveTheStreamOfLocalFilesForAnyThreadCountAndBudget) {
  for (const std::string steps : {R"({"batch": {"size": 7}})", R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 7}})",
                                  R"({"shuffle": {"global": true}}, {"batch": {"size": 7}})"}) {
    SCOPED_TRACE(steps);
    Delivered expected = testing::run(document("", steps), {.threads = 1});
    for (std::string& batch : expected.batches) batch = as_slow(std::move(batch));
    EXPECT_EQ(expected.error, "");
    EXPECT_GT(expected.batches.size(), 50U);
    const Json slow = document("slow://", steps);
    for (const std::int64_t threads : {1, 4}) EXPECT_EQ(testing::run(slow, {.threads = threads}), expected);
    EXPECT_EQ(testing::run(slow, {.threads = 2, .memory = 4 << 20}), expected);
    slow_.behave({.max_bytes = 5'000});
    EXPECT_EQ(testing::run(slow, {.threads = 2}), expected) << "where every answer is short";
    slow_.behave({.latency = 300us});
  }
}

TEST_F(RequestedWholeFiles, AFaultComesAfterTheFilesBeforeIt) {
  const std::string steps = R"({"batch": {"size": 7}})";
  const Delivered all = testing::run(document("slow://", steps), {.threads = 1});
  slow_.behave({.fault = [last = path(100)](const ReadRequest& request) -> Result<void> {
    if (request.path.ends_with(last)) return Error{Code::io, Detail::permission_denied, "it may not be read"};
    return {};
  }});
  for (const std::int64_t threads : {1, 4}) {
    const Delivered some = testing::run(document("slow://", steps), {.threads = threads});
    EXPECT_NE(some.error.find(path(100) + ": it may not be read"), std::string::npos) << some.error;
    ASSERT_GE(some.batches.size(), 14U);
    for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(some.batches[i], all.batches[i]);
  }
}

TEST_F(RequestedWholeFiles, ACloseWaitsForNone) {
  const auto plan = Plan::make(document("slow://", R"({"batch": {"size": 7}})"));
  const auto global = Plan::make(document("slow://", R"({"shuffle": {"global": true}}, {"batch": {"size": 7}})"));
  ASSERT_TRUE(plan.ok() && global.ok());
  testing::check_closes(*plan, *global, 40);
}

}  // namespace
}  // namespace forebay
