// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// A global shuffle of compressed files, whose records have to be decompressed before a batch can be handed on.
class CompressedShuffle : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_parts(folder_, {300, 200, 100}, {.gzip = 0, .zlib = 1});
    auto plan = Plan::make(testing::document(folder_.file("part-*"), R"({"shuffle": {"global": true}},
                                                                        {"batch": {"size": 32}})"));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    plan_.emplace(*std::move(plan));
  }
  /// The payloads of all batches from `start` on, in order. With `hurry` every call is first made without any time.
  [[nodiscard]] std::vector<std::string> payloads(Position start, bool hurry) {
    const auto pool = std::make_shared<BufferPool>(std::int64_t{64} << 20);
    OpenFiles streams{engine::program_of(*plan_), pool, {.threads = 2}};
    OrderPlane order{engine::program_of(*plan_), streams, start};
    std::vector<std::string> out;
    std::vector<BatchLayout> layouts;  // nothing is given back before the end
    while (true) {
      BatchLayout layout;
      if (hurry) {
        streams.set_deadline(Clock::now() - std::chrono::seconds{1});
        const auto more = order.next(layout);
        if (!more.ok()) {
          EXPECT_TRUE(streams.interrupted(more.error())) << more.error().text();
          ++interrupted_;
        } else {
          if (!*more) return out;
          take(layout, out);
          layouts.push_back(std::move(layout));
          continue;
        }
      }
      streams.set_deadline(std::nullopt);
      const auto more = order.next(layout);
      EXPECT_TRUE(more.ok()) << more.error().text();
      if (!more.ok() || !*more) return out;
      take(layout, out);
      layouts.push_back(std::move(layout));
    }
  }
  static void take(const BatchLayout& layout, std::vector<std::string>& out) {
    for (std::size_t row = 0; row < layout.handles.size(); ++row) {
      const Record record = layout.record(static_cast<std::int64_t>(row));
      out.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
  }

  testing::Folder folder_;
  std::optional<Plan> plan_;
  int interrupted_ = 0;
};

TEST_F(CompressedShuffle, IsTheSameWhenItsDecompressingIsInterrupted) {
  const std::vector<std::string> unbroken = payloads({}, false);
  EXPECT_EQ(unbroken.size(), 600U);
  EXPECT_EQ(interrupted_, 0);
  EXPECT_EQ(payloads({}, true), unbroken);
  EXPECT_GE(interrupted_, 1);
}

TEST_F(CompressedShuffle, ARestartIsTheSameWhenItsDecompressingIsInterrupted) {
  const std::vector<std::string> unbroken = payloads({.next = 7}, false);
  EXPECT_EQ(unbroken.size(), 600U - 7 * 32);
  EXPECT_EQ(payloads({.next = 7}, true), unbroken);
  EXPECT_GE(interrupted_, 1);
}

}  // namespace
}  // namespace forebay::engine
