// SPDX-License-Identifier: Apache-2.0
// Tests of plug-ins that fail or throw, and of files that change while they are read.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/plugin.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using ::testing::AnyOf;
using testing::Folder;
using ::testing::HasSubstr;

/// How an operator gives up at a record.
enum class How : std::int64_t { fails, throws, throws_anything };
constexpr How all_ways[] = {How::fails, How::throws, How::throws_anything};

struct GiveUp {
  std::int64_t at = -1;
  std::int64_t how = 0;
};

Result<void> give_up(const GiveUp& options, std::int64_t row) {
  if (options.how == static_cast<std::int64_t>(How::throws)) throw std::runtime_error("out of luck");
  if (options.how == static_cast<std::int64_t>(How::throws_anything)) throw 42;
  return Error{Code::data, Detail::invalid_argument, "out of luck", Place{.row = row}};
}

/// Records are numbers in decimal.
class NumberDecoder final : public Decoder {
 public:
  explicit NumberDecoder(GiveUp options) : options_{options} {}
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<DecoderMemory>(); }
  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory&) const override {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto* const text = reinterpret_cast<const char*>(records[i].data());
      std::int64_t number = -1;
      std::from_chars(text, text + records[i].size(), number);
      if (number == options_.at) FOREBAY_DO(give_up(options_, static_cast<std::int64_t>(i)));
      block.columns[0].values.as<std::int64_t>()[first_row + static_cast<std::int64_t>(i)] = number;
    }
    return {};
  }

 private:
  const GiveUp options_;
};

class NumberStep final : public Step {
 public:
  NumberStep(GiveUp options, ColumnId column) : options_{options}, column_{column} {}
  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const auto numbers = block[column_].values.span<std::int64_t>();
    for (std::size_t row = 0; row < numbers.size(); ++row)
      if (numbers[row] == options_.at) FOREBAY_DO(give_up(options_, static_cast<std::int64_t>(row)));
    return {};
  }

 private:
  const GiveUp options_;
  const ColumnId column_;
};

class NumberOrder final : public Handles {
 public:
  NumberOrder(GiveUp options, OrderContext context) : options_{options}, context_{std::move(context)} {}
  void begin(std::int64_t epoch) override { context_.upstream->begin(epoch), next_ = 0; }
  Result<std::size_t> pull(std::span<Handle> out) override {
    if (next_ == options_.at) FOREBAY_DO(give_up(options_, -1));
    FOREBAY_TRY(const std::size_t count, context_.upstream->pull(out.first(1)));
    next_ += static_cast<std::int64_t>(count);
    return count;
  }

 private:
  const GiveUp options_;
  OrderContext context_;
  std::int64_t next_ = 0;
};

template <class Type>
Type described(const char* name, typename Type::template Bind<GiveUp> bind, Example example) {
  return describe<Type, GiveUp>(name, "Gives up at a record.", bind)
      .required("at", &GiveUp::at, "The record.")
      .required("how", &GiveUp::how, "How it gives up.")
      .example(std::move(example));
}

void register_once() {
  static const bool done = [] {
    Registry& registry = Registry::global();
    registry.add(
        described<DecoderType>("test_number",
                               [](const GiveUp& options, const std::vector<std::string>&) -> Result<Bound<Decoder>> {
                                 Schema out;
                                 out.put({.name = "id", .dtype = DType::int64, .shape = Shape{}});
                                 return Bound<Decoder>{std::make_unique<NumberDecoder>(options), std::move(out)};
                               },
                               {R"({"at": -2, "how": 0})", R"(["1"])", R"({"id": [1]})"}));
    registry.add(described<StepType>("test_give_up",
                                     [](const GiveUp& options, const Schema& in) -> Result<Bound<Step>> {
                                       FOREBAY_TRY(const ColumnId column, in.find("id"));
                                       return Bound<Step>{std::make_unique<NumberStep>(options, column), in};
                                     },
                                     {R"({"at": -2, "how": 0})", R"({"id": [1]})", R"({"id": [1]})"}));
    registry.add(described<OrderType>("test_order",
                                      [](const GiveUp& options) -> Result<Ordering> {
                                        return Ordering{
                                            .make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                                              return std::make_unique<NumberOrder>(options, std::move(context));
                                            }};
                                      },
                                      {R"({"at": -2, "how": 0})", "[1]", "[1]"}));
    return true;
  }();
  static_cast<void>(done);
}

std::string options_text(std::int64_t at, How how) {
  return R"({"at": )" + std::to_string(at) + R"(, "how": )" + std::to_string(static_cast<std::int64_t>(how)) + "}";
}

constexpr std::int64_t stage_records = 96, batch_size = 4;

/// Records at which it is given up: all stages, ways and thread counts over them are more than two thousand runs.
std::vector<std::int64_t> places() {
  if (tests::sanitized) return {0, 1, stage_records / 2 + 1, stage_records - 1};
  std::vector<std::int64_t> out;
  for (std::int64_t at = 0; at < stage_records; ++at) {
    if (at % 3 != 1) out.push_back(at);
  }
  return out;
}

/// Where in a plan the operator stands that gives up.
struct Stage {
  const char* name;
  bool record_known;  // by whom it throws, too
};
std::ostream& operator<<(std::ostream& out, const Stage& stage) { return out << stage.name; }

Json document_with(const Stage& stage, const std::string& path, const std::string& options, const std::string& more) {
  const std::string none = options_text(-2, How::fails);
  const auto of = [&](const char* name) { return std::string{name} == stage.name ? options : none; };
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path + R"("]}}, "decode": {"test_number": )" +
                        of("decoder") + R"(}, "steps": [{"test_order": )" + of("order") + R"(}, {"test_give_up": )" +
                        of("step") + R"(}, {"batch": {"size": 4}}, {"test_give_up": )" + of("after") + "}]" + more +
                        "}");
}

std::size_t threads_now() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, std::filesystem::directory_iterator{}));
}

/// A joined thread may stand in the list a moment longer.
bool back_to(std::size_t threads) {
  for (int i = 0; i < 200 && threads_now() > threads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  return threads_now() <= threads;
}

class GivingUp : public ::testing::TestWithParam<Stage> {
 protected:
  void SetUp() override {
    register_once();
    std::vector<std::string> numbers;
    for (std::int64_t i = 0; i < stage_records; ++i) numbers.push_back(std::to_string(i));
    ASSERT_TRUE(write_records(path_, numbers).ok());
    {
      auto first = load(document_with(GetParam(), path_, options_text(-2, How::fails), ""), {.threads = 2});
      ASSERT_TRUE(first.ok()) << first.error().text();
      ASSERT_TRUE(first->next().ok());
    }  // a sanitizer starts a thread of its own with the first one
  }
  /// All that is before `at` comes, then the fault, and the fault again. Gives it back.
  static Error fault_behind(Loader& pipeline, std::int64_t at) {
    for (std::int64_t batch = 0; batch < at / batch_size; ++batch) {
      const auto good = pipeline.next();
      if (!good.ok() || !*good) return Error{Code::internal, "too early: " + (good.ok() ? "" : good.error().text())};
      EXPECT_EQ((*good)->tensor("id").as<std::int64_t>()[0], batch * batch_size);
    }
    const auto fault = pipeline.next();
    const auto again = pipeline.next();
    if (fault.ok() || again.ok()) return Error{Code::internal, "no fault"};
    EXPECT_EQ(fault.error().text(), again.error().text());
    return fault.error();
  }

  const Folder folder_;
  const std::string path_ = folder_.file("numbers");
};

TEST_P(GivingUp, ComesBehindTheBatchesBeforeItWithTheSameWordsForEveryThreadCount) {
  const std::size_t before = threads_now();
  for (const How how : all_ways) {
    for (const std::int64_t at : places()) {
      std::string words;
      for (const std::int64_t threads : {1, 2, 8}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(how)) + " at " + std::to_string(at));
        auto pipeline = load(document_with(GetParam(), path_, options_text(at, how), ""), {.threads = threads});
        ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
        const Error error = fault_behind(*pipeline, at);
        EXPECT_THAT(error.text(), HasSubstr(how == How::throws_anything ? "no std::exception" : "out of luck"));
        EXPECT_EQ(error.code(), how == How::fails ? Code::data : Code::internal);
        EXPECT_EQ(error.place().record, GetParam().record_known ? at : error.place().record);
        if (words.empty()) words = error.text();
        EXPECT_EQ(error.text(), words);
      }
    }
  }
  EXPECT_TRUE(back_to(before)) << threads_now() << " threads, there were " << before;
}

TEST_P(GivingUp, AStopInTheMiddleOfItTakesNoTime) {
  for (const How how : all_ways) {
    for (int taken = 0; taken < 4; ++taken) {
      auto pipeline = load(document_with(GetParam(), path_, options_text(10, how), ""), {.threads = 8});
      bool good = true;
      for (int i = 0; i < taken; ++i) good = pipeline->next().ok();
      const auto since = std::chrono::steady_clock::now();
      pipeline->close();
      EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds{2});
      EXPECT_EQ(pipeline->next().error().code() == Code::cancelled, good) << "a fault that was told stays";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, GivingUp,
                         ::testing::Values(Stage{"decoder", true}, Stage{"order", false}, Stage{"step", false},
                                           Stage{"after", false}),
                         [](const auto& each) { return std::string{each.param.name}; });

// A program's fault is not the data's: skipping it would hide it. It used to end the process, or leave `next` waiting.
TEST(GivingUpUnderSkipRecord, AThrowingDecoderIsAFaultAndAFailingOneIsSkipped) {
  register_once();
  const Folder folder;
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i < stage_records; ++i) numbers.push_back(std::to_string(i));
  ASSERT_TRUE(write_records(folder.file("a"), numbers).ok());
  for (const How how : all_ways) {
    for (const std::int64_t threads : {1, 2, 8}) {
      auto pipeline = load(
          document_with({"decoder", true}, folder.file("a"), options_text(50, how), R"(, "on_corrupt": "skip_record")"),
          {.threads = threads});
      ASSERT_TRUE(pipeline.ok());
      std::int64_t rows = 0;
      auto batch = pipeline->next();
      for (; batch.ok() && *batch; batch = pipeline->next()) rows += (*batch)->rows();
      EXPECT_EQ(batch.ok(), how == How::fails);
      EXPECT_EQ(rows, how == How::fails ? stage_records - 1 : 48);
      if (batch.ok()) continue;
      EXPECT_EQ(batch.error().code(), Code::internal);
      EXPECT_EQ(batch.error().place().record, 50);
    }
  }
}

// Checksums are looked at before anything is decoded, several records at a time.
TEST(FaultsOfTwoKinds, TheFirstRecordThatIsBadIsTheOneThatIsNamed) {
  register_once();
  constexpr std::int64_t corrupt = 2;
  constexpr std::int64_t frame = 12 + 2 + 4;
  const Folder folder;
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i < stage_records; ++i) numbers.push_back(std::to_string(10 + i));
  ASSERT_TRUE(write_records(folder.file("a"), numbers).ok());
  {
    std::fstream file{folder.file("a"), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(corrupt * frame + 12);
    file.put('x');
  }
  for (std::int64_t malformed = 0; malformed < batch_size; ++malformed) {
    for (const std::int64_t threads : {1, 2, 8}) {
      auto pipeline =
          load(document_with({"decoder", true}, folder.file("a"), options_text(10 + malformed, How::fails), ""),
               {.threads = threads});
      ASSERT_TRUE(pipeline.ok());
      const auto batch = pipeline->next();
      ASSERT_FALSE(batch.ok());
      EXPECT_EQ(batch.error().place().record, std::min(malformed, corrupt));
      EXPECT_THAT(batch.error().text(), HasSubstr(malformed < corrupt ? "out of luck" : "checksum"));
    }
  }
}

// ---------------------------------------------------------------- files that change

enum class Change : std::uint8_t { cut, replaced, appended, deleted };

void change(const std::string& path, Change how, std::int64_t id) {
  if (how == Change::cut) std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  if (how == Change::deleted) std::filesystem::remove(path);
  if (how == Change::appended) std::ofstream{path, std::ios::binary | std::ios::app} << "more";
  if (how != Change::replaced) return;
  testing::write_examples(path + ".new", id, 50);
  std::filesystem::rename(path + ".new", path);
}

/// Ids in order from 0, and what the run ended with; -1 stands for a row that is not of the file as it was.
std::pair<std::int64_t, std::string> rows_until_error(Loader& pipeline, std::int64_t next) {
  while (true) {
    const auto batch = pipeline.next();
    if (!batch.ok()) return {next, batch.error().text()};
    if (!*batch) return {next, ""};
    const Tensor& id = (*batch)->tensor("id");
    const Tensor& name = (*batch)->tensor("name");
    for (std::int64_t row = 0; row < (*batch)->rows(); ++row, ++next) {
      if (id.as<std::int64_t>()[static_cast<std::size_t>(row)] != next) return {-1, "mixed"};
      if (name.string(row) != "record " + std::to_string(next)) return {-1, "mixed"};
    }
  }
}

class ChangedFile : public ::testing::TestWithParam<Compression> {};

TEST_P(ChangedFile, WhileItIsReadGivesItsOwnRecordsAndThenAFault) {
  const std::int64_t all = tests::sanitized ? 4'000 : 6'000;  // several blocks, compressed or not
  const std::int64_t points = tests::sanitized ? 12 : 125;    // of each of the four, in two kinds of files: a thousand
  const Folder folder;
  testing::write_examples(folder.file("good"), 0, all, GetParam());
  for (const Change how : {Change::cut, Change::replaced, Change::appended, Change::deleted}) {
    for (std::int64_t point = 0; point < points; ++point) {
      SCOPED_TRACE(std::to_string(static_cast<int>(how)) + " at point " + std::to_string(point));
      const std::string path = folder.file("data");
      std::filesystem::remove(path);
      std::filesystem::copy_file(folder.file("good"), path);
      auto pipeline = load(testing::document(path, R"({"batch": {"size": 50}})"),
                           {.threads = 1 + point % 3, .memory = 64 << 20, .prefetch = 1});
      ASSERT_TRUE(pipeline.ok());
      const std::int64_t taken = std::max<std::int64_t>(1, all / 50 * point / points);  // it is open
      for (std::int64_t i = 0; i < taken; ++i) ASSERT_TRUE(pipeline->next().ok());
      change(path, how, 1'000'000);
      const auto [rows, error] = rows_until_error(*pipeline, taken * 50);
      ASSERT_GE(rows, taken * 50) << "mixed";
      // A file that has lost its name, or been read to its end, is whole; a changed one must not look so.
      EXPECT_TRUE(error.empty() ? rows == all : rows < all + 1) << "a short run taken for a whole one: " << rows;
      EXPECT_THAT(error, AnyOf("", HasSubstr(path)));
      // A compressed file may have been read ahead to its end by then; of a plain one only the next blocks are.
      const bool noticed = GetParam() == Compression::none && !tests::sanitized && point == 0 && how == Change::cut;
      EXPECT_TRUE(!noticed || !error.empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ChangedFile, ::testing::Values(Compression::none, Compression::gzip));

}  // namespace
}  // namespace forebay
