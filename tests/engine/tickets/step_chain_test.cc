// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/step_chain.h"

#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

constexpr std::int64_t wide = 64 << 10;  // bytes of a row between the two steps

/// Makes a wide row of the low byte of each number, counts the rows of its calls, and notes which rows it saw.
class Widen final : public Step {
 public:
  struct Seen {
    std::atomic<std::int64_t> most{0}, calls{0};
  };
  static Seen& seen() {
    static Seen all;
    return all;
  }
  Widen(ColumnId from, ColumnId to) : from_{from}, to_{to} {}
  [[nodiscard]] Result<void> apply(ColumnBlock& rows, const StepContext& context, StepMemory*) const override {
    seen().most = std::max<std::int64_t>(seen().most, rows.rows);
    ++seen().calls;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const std::int64_t number = rows[from_].values.as<std::int64_t>()[row];
      if (context.rows->of(row).record != number)
        return Error{Code::internal, "another row than the one that the context names"};
      std::memset(rows[to_].values.data() + row * wide, static_cast<int>(number & 0xFF), wide);
    }
    return {};
  }

 private:
  const ColumnId from_, to_;
};

/// Adds up the bytes of a row; fails for a row of bytes that are 77.
class AddUp final : public Step {
 public:
  AddUp(ColumnId from, ColumnId to) : from_{from}, to_{to} {}
  [[nodiscard]] Result<void> apply(ColumnBlock& rows, const StepContext&, StepMemory*) const override {
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(rows[from_].values.data() + row * wide);
      if (*bytes == 77) return Error{Code::data, Detail::invalid_argument, "seventy-seven", Place{.row = row}};
      rows[to_].values.as<std::int64_t>()[row] = std::accumulate(bytes, bytes + wide, std::int64_t{0});
    }
    return {};
  }

 private:
  const ColumnId from_, to_;
};

struct Nothing {
  bool unused = false;
};

template <class Made>
StepType type_of(const char* name, const char* from, const ColumnSpec& spec) {
  static const std::string input = from;
  static const ColumnSpec made = spec;
  return describe<StepType, Nothing>(name, "For a test.",
                                     [](const Nothing&, const Schema& in) -> Result<Bound<Step>> {
                                       FOREBAY_TRY(const ColumnId id, in.find(input));
                                       Schema out = in;
                                       const ColumnId to = out.put(made);
                                       return Bound<Step>{
                                           .op = std::make_unique<Made>(id, to), .out = out, .reads = {id}};
                                     })
      .field("unused", &Nothing::unused, "Nothing.");
}

void register_steps() {
  static const bool once = [] {
    Registry& registry = Registry::global();
    registry.add(type_of<Widen>("test_widen", "id", {.name = "wide", .dtype = DType::uint8, .shape = Shape{wide}}));
    registry.add(type_of<AddUp>("test_add_up", "wide", {.name = "sum", .dtype = DType::int64, .shape = Shape{}}));
    return true;
  }();
  static_cast<void>(once);
}

Json document(const std::string& file, const std::string& policy) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + file + R"("]}},
      "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}},
      "steps": [{"test_widen": {}}, {"test_add_up": {}}, {"select": {"tensors": ["id", "sum"]}},
                {"batch": {"size": 100}}], "on_corrupt": ")" +
                        policy + R"("})");
}

TEST(StepChain, LittleLiesBetweenTwoSteps) {
  register_steps();
  const testing::Folder folder;
  const std::string file = testing::write_examples(folder.file("a"), 0, 70);
  for (const std::int64_t threads : {1, 4}) {
    Widen::seen().most = Widen::seen().calls = 0;
    auto loader = load(document(file, "fail"), {.threads = threads});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto batch = loader->next();
    ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
    const auto sums = (*batch)->tensor("sum").as<std::int64_t>();
    ASSERT_EQ(sums.size(), 70U);
    for (std::int64_t id = 0; id < 70; ++id) EXPECT_EQ(sums[static_cast<std::size_t>(id)], id * wide);
    EXPECT_EQ(Widen::seen().most, 4) << "256 KiB";
    EXPECT_GE(Widen::seen().calls, 18);
  }
}

TEST(StepChain, ARowThatFailsAloneIsTakenOutWithItsStepAndPlace) {
  register_steps();
  const testing::Folder folder;
  const std::string file = testing::write_examples(folder.file("a"), 0, 100);
  auto loader = load(document(file, "skip_row"), {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
  const auto sums = (*batch)->tensor("sum").as<std::int64_t>();
  std::vector<std::int64_t> wanted;
  for (std::int64_t id = 0; id < 100; ++id) {
    if (id != 77) wanted.push_back(id * wide);
  }
  wanted.push_back(0);
  EXPECT_EQ(std::vector(sums.begin(), sums.end()), wanted);
  ASSERT_EQ((*batch)->skipped().size(), 1U);
  EXPECT_EQ((*batch)->skipped()[0].origin.record, 77);
  EXPECT_THAT((*batch)->skipped()[0].error.text(), ::testing::HasSubstr("test_add_up"));
  const auto failed = testing::run(document(file, "fail"));
  EXPECT_THAT(failed.error, ::testing::HasSubstr("record 77"));
}

}  // namespace
}  // namespace forebay::engine
