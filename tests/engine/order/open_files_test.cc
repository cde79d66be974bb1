// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/open_files.h"

#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

constexpr std::int64_t plenty = std::int64_t{1} << 30;

/// A run of two passes over one file of ten blocks or so, opened for the first pass and announced for the second.
class SameFileTwice : public ::testing::TestWithParam<Compression> {
 protected:
  void open(std::int64_t memory) {
    std::vector<std::string> messages;
    for (int i = 0; i < 600; ++i)
      messages.push_back(encode_example({{"name", std::vector<std::string>{std::string(10'000, 'x')}}}));
    ASSERT_TRUE(write_records(folder_.file("data"), messages, GetParam()).ok());
    auto plan = Plan::make(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("data") +
                                          R"("], "compression": "auto"}}, "epochs": 2,
            "decode": {"example": {"features": {"name": {"dtype": "string", "shape": []}}}},
            "steps": [{"batch": {"size": 10}}]})"));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    plan_.emplace(*std::move(plan));
    open_files_ = std::make_unique<OpenFiles>(engine::program_of(*plan_), std::make_shared<BufferPool>(memory),
                                              RunMeans{.threads = 2});
    static_cast<void>(open_files_->open({.block = 0}));
    open_files_->announce({.block = 0});
  }

  testing::Folder folder_;
  std::optional<Plan> plan_;
  std::unique_ptr<OpenFiles> open_files_;
};

INSTANTIATE_TEST_SUITE_P(Compressed, SameFileTwice, ::testing::Values(Compression::gzip, Compression::zlib),
                         [](const auto& one) { return one.param == Compression::gzip ? "gzip" : "zlib"; });

TEST_P(SameFileTwice, IsNotInflatedAheadWhileWhatIsFoundWillBeKept) {
  open(plenty);
  const auto first = open_files_->claim();
  auto next = first;
  for (int blocks = 0; next == first; ++blocks) {
    ASSERT_LT(blocks, 100);
    ASSERT_TRUE(next);
    EXPECT_EQ(open_files_->claim(), nullptr) << "the second pass has to wait, before block " << blocks;
    open_files_->scan(next);
    next = open_files_->claim();
    EXPECT_TRUE(next == first || blocks > 1);
  }
  EXPECT_TRUE(next) << "the second pass is read ahead, now that it has nothing to inflate";
}

TEST_P(SameFileTwice, IsInflatedAheadWhereThereIsNoRoomToKeepIt) {
  open(std::int64_t{12} << 20);  // a quarter of it is less than the file holds
  const auto first = open_files_->claim();
  bool ahead = false;
  for (int blocks = 1; !ahead && blocks < 10; ++blocks) {
    open_files_->scan(first);
    ASSERT_EQ(open_files_->claim(), first) << "it has more blocks than " << blocks;
    ahead = open_files_->claim() != nullptr;
  }
  EXPECT_TRUE(ahead);
}

}  // namespace
}  // namespace forebay::engine
