// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/executor.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/memory/catch_all.h"
#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

constexpr std::int64_t records = 40;
constexpr std::int64_t content = records << 20;  // bytes, and some

/// A batch of forty records of about a mebibyte each, as one thread makes it; each has a text and some ids.
class LargeBatch : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> messages;
    for (std::int64_t i = 0; i < records; ++i) {
      const std::vector<std::int64_t> ids(static_cast<std::size_t>(i), i);
      messages.push_back(encode_example({{"ids", ids}, {"text", std::vector<std::string>{text(i)}}}));
    }
    ASSERT_TRUE(write_records(folder_.file("data"), messages, Compression::none).ok());
    auto plan = Plan::make(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("data") + R"("]}},
      "decode": {"example": {"features": {"ids": {"kind": "var_len", "dtype": "int64"},
                                          "text": {"dtype": "string", "shape": []}}}},
      "steps": [{"batch": {"size": 40}}]})"));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    plan_.emplace(*std::move(plan));
    pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
    program_ = {&engine::program_of(*plan_), [](const Program*) {}};
    open_files_ = std::make_unique<OpenFiles>(*program_, pool_);
    order_ = std::make_unique<OrderPlane>(*program_, *open_files_);
    executor_ = std::make_unique<Executor>(program_, pool_, 1);
    ASSERT_TRUE(*order_->next(job_.layout));
    ASSERT_TRUE(executor_->cut(job_).ok());
  }
  [[nodiscard]] static std::string text(std::int64_t record) {
    return std::string((std::size_t{1} << 20) + static_cast<std::size_t>(record), static_cast<char>('a' + record % 26));
  }
  void run_tickets() {
    Worker worker = executor_->worker(0);
    for (std::size_t i = 0; i < job_.cut; ++i) ASSERT_FALSE(executor_->run(*job_.tickets[i], worker));
  }

  testing::Folder folder_;
  std::optional<Plan> plan_;
  std::shared_ptr<BufferPool> pool_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<OpenFiles> open_files_;
  std::unique_ptr<OrderPlane> order_;
  std::unique_ptr<Executor> executor_;
  Job job_;
};

TEST_F(LargeBatch, IsCutIntoTicketsBetweenWhichAStopIsSeenSoon) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < job_.cut; ++i) {
    EXPECT_EQ(job_.tickets[i]->first_row, rows);
    EXPECT_LE(job_.tickets[i]->rows, 11) << "about 8 MiB, a remainder shared out, and a record that begins before";
    rows += job_.tickets[i]->rows;
  }
  EXPECT_EQ(rows, records);
}

TEST_F(LargeBatch, IsWholeWhateverItsTickets) {
  run_tickets();
  ASSERT_FALSE(executor_->finish(job_));
  const Batch batch{job_.content};
  const Tensor& strings = batch.tensor("text");
  const Tensor& lengths = *batch.lengths("ids");
  for (std::int64_t i = 0; i < records; ++i) {
    EXPECT_TRUE(strings.string(i) == text(i)) << i;
    EXPECT_EQ(lengths.as<std::int64_t>()[static_cast<std::size_t>(i)], i);
  }
}

TEST_F(LargeBatch, IsForAWorkerNotForTheCallerOfNext) { EXPECT_TRUE(job_.large); }

TEST_F(LargeBatch, ItsColumnsAreChargedAndKeptForAnother) {
  const std::int64_t before = pool_->used();
  run_tickets();
  EXPECT_GE(pool_->used(), before + content);
  ASSERT_FALSE(executor_->finish(job_));
  EXPECT_GE(pool_->used(), before + 2 * content) << "of the columns and of the batch";
  job_.content.reset();
  EXPECT_GE(pool_->used(), before + content);
}

TEST_F(LargeBatch, ItsColumnsAreFreedWhereThereIsNoRoomForThem) {
  const auto others = pool_->charge(pool_->limit() - content - content / 2);
  run_tickets();
  ASSERT_FALSE(executor_->finish(job_));
  EXPECT_LE(pool_->used(), pool_->limit());
}

TEST_F(LargeBatch, IsGivenUpWhenTheRunIsStopped) {
  run_tickets();
  pool_->close();
  EXPECT_THROW(static_cast<void>(executor_->finish(job_)), Closed);
  EXPECT_EQ(job_.content, nullptr);
}

TEST_F(LargeBatch, IsNotDecodedWhenTheRunIsStopped) {
  pool_->close();
  Worker worker = executor_->worker(0);
  EXPECT_THROW(static_cast<void>(executor_->run(*job_.tickets[0], worker)), Closed);
}

}  // namespace
}  // namespace forebay::engine
