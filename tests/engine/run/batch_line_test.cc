// SPDX-License-Identifier: Apache-2.0
#include "engine/run/batch_line.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

/// A batch that was cut into so many tickets.
std::unique_ptr<Job> batch_of(std::size_t tickets) {
  auto job = std::make_unique<Job>();
  for (std::size_t i = 0; i < tickets; ++i) {
    job->tickets.push_back(std::make_unique<Ticket>());
    job->tickets.back()->job = job.get();
    job->tickets.back()->first_row = static_cast<std::int64_t>(i);
  }
  job->cut = job->remaining = tickets;
  return job;
}

/// Batch and first row of each ticket that is there.
std::vector<std::pair<std::int64_t, std::int64_t>> all_tickets(BatchLine& line) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  while (const Ticket* const ticket = line.take_ticket()) out.emplace_back(ticket->job->number, ticket->first_row);
  return out;
}

using Tickets = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(BatchLine, TicketsAreTakenBatchByBatch) {
  BatchLine line{7};
  ASSERT_TRUE(line.add(batch_of(2)));
  ASSERT_TRUE(line.add(batch_of(1)));
  EXPECT_EQ(line.tickets(), 3U);
  EXPECT_EQ(all_tickets(line), (Tickets{{7, 0}, {7, 1}, {8, 0}}));
  EXPECT_EQ(line.tickets(), 0U);
  ASSERT_TRUE(line.add(batch_of(2)));
  EXPECT_EQ(all_tickets(line), (Tickets{{9, 0}, {9, 1}}));
}

TEST(BatchLine, TicketsBehindADeliveredBatchStayInOrder) {
  BatchLine line{0};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(line.add(batch_of(2)));
  Job& first = *line.take_ticket()->job;
  EXPECT_EQ(line.take_ticket()->job, &first);
  EXPECT_EQ(line.take_ticket()->job->number, 1);
  line.finish(first);
  EXPECT_EQ(line.pop()->number, 0);
  EXPECT_EQ(all_tickets(line), (Tickets{{1, 1}, {2, 0}, {2, 1}}));
}

TEST(BatchLine, ABatchThatIsDoneEarlyIsFinishedWithTheOnesBeforeIt) {
  BatchLine line{5};
  std::vector<Job*> jobs;
  for (int i = 0; i < 3; ++i) {
    auto job = batch_of(1);
    jobs.push_back(job.get());
    ASSERT_TRUE(line.add(std::move(job)));
  }
  EXPECT_EQ(all_tickets(line).size(), 3U);
  line.finish(*jobs[1]);
  EXPECT_EQ(line.finished(), 5);
  EXPECT_FALSE(line.ready());
  line.finish(*jobs[0]);
  EXPECT_EQ(line.finished(), 7);
  EXPECT_TRUE(line.ready());
  EXPECT_EQ(line.done(), 2U);
}

TEST(BatchLine, WhatIsRecycledComesBackAsNewUpToTheNumberThatIsKept) {
  BatchLine line{0};
  EXPECT_EQ(line.spare(), nullptr);
  std::vector<Job*> jobs;
  for (int i = 0; i < 2; ++i) {
    auto job = batch_of(1);
    jobs.push_back(job.get());
    ASSERT_TRUE(line.add(std::move(job)));
  }
  for (Job* const job : jobs) {
    line.finish(*line.take_ticket()->job);
    EXPECT_TRUE(job->done);
    line.recycle(line.pop(), 1);
  }
  const auto again = line.spare();
  EXPECT_EQ(again.get(), jobs[0]);
  EXPECT_FALSE(again->done);
  EXPECT_EQ(line.spare(), nullptr);
}

}  // namespace
}  // namespace forebay::engine
