// SPDX-License-Identifier: Apache-2.0
// `on_corrupt: skip_row`: bad rows become padding at the end of their batch.
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/pipeline/tensors_json.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using testing::parse;
using Ids = std::vector<std::int64_t>;

/// What becomes of a record: intact, a wrong byte under its checksum, or a message that is cut short.
enum class Harm { no, checksum, message };

/// A file of examples of all kinds; `bad` says which are corrupt.
template <class Which>
std::string write_bad_file(const std::string& path, std::int64_t records, Which bad) {
  std::string bytes;
  for (std::int64_t id = 0; id < records; ++id) {
    std::string message = testing::example_of(id);
    if (bad(id) == Harm::message) message.resize(message.size() - 3);
    std::string frame = tests::framed(message);
    if (bad(id) == Harm::checksum) frame[14] ^= 1;
    bytes += frame;
  }
  std::ofstream{path, std::ios::binary} << bytes;
  return path;
}

Json row_document(const std::string& file, const std::string& steps, const std::string& rest) {
  return parse(R"({"source": {"tfrecord": {"files": [")" + file + R"("]}}, "decode": {"example": {"features": {
      "id": {"dtype": "int64", "shape": []}, "name": {"dtype": "string", "shape": []},
      "tokens": {"kind": "var_len", "dtype": "int64"},
      "x": {"kind": "var_len", "dtype": "float32", "as": "sparse"}}}},
      "steps": [)" +
               steps + "], " + rest + "}");
}

/// A batch as text: rows, valid rows, values and what was skipped.
std::string skip_line_of(const Batch& batch) {
  std::string out = std::to_string(batch.rows()) + "/" + std::to_string(batch.valid_rows()) + " " +
                    testing::text_of(batch) + " skipped:";
  for (const SkippedOrigin& row : batch.skipped()) out += " " + std::to_string(row.origin.record);
  return out;
}

std::vector<std::string> skip_lines_of(Result<Loader> loader) {
  std::vector<std::string> out;
  if (!loader.ok()) return {loader.error().text()};
  while (true) {
    auto batch = loader->next();
    if (!batch.ok()) return out.push_back("error: " + batch.error().text()), out;
    if (!*batch) return out;
    out.push_back(skip_line_of(**batch));
  }
}

Harm every_fifth(std::int64_t id) { return id % 10 == 3 ? Harm::checksum : id % 10 == 8 ? Harm::message : Harm::no; }

TEST(SkipRow, BadRowsBecomePaddingAtTheEndOfTheirBatch) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 20, every_fifth);
  auto loader = load((row_document(file, R"({"batch": {"size": 10, "pad": true}})", R"("on_corrupt": "skip_row")")),
                     {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  for (const std::int64_t first : {0, 10}) {
    auto batch = loader->next();
    ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
    const Batch& got = **batch;
    EXPECT_EQ(got.rows(), 10);
    EXPECT_EQ(got.valid_rows(), 8);
    const auto ids = got.tensor("id").as<std::int64_t>();
    EXPECT_EQ(Ids(ids.begin(), ids.end()),
              (Ids{first, first + 1, first + 2, first + 4, first + 5, first + 6, first + 7, first + 9, 0, 0}));
    EXPECT_EQ(got.tensor("name").shape, Shape{10});
    EXPECT_EQ(got.tensor("name").string(8), "");
    const auto lengths = got.lengths("tokens")->as<std::int64_t>();
    EXPECT_EQ(Ids(lengths.begin() + 8, lengths.end()), (Ids{0, 0}));
    ASSERT_EQ(got.skipped().size(), 2U);
    EXPECT_EQ(got.skipped()[0].origin.record, first + 3);
    EXPECT_EQ(got.skipped()[0].origin.file, file);
    EXPECT_THAT(got.skipped()[0].error.text(), HasSubstr("checksum"));
    EXPECT_THAT(got.skipped()[1].error.text(), HasSubstr("not a tf.train.Example"));
    EXPECT_EQ(got.origin(3).record, first + 4);
    EXPECT_EQ(got.skipped()[1].error.place().record, first + 8);
  }
  EXPECT_EQ(loader->stats().skipped_records, 4);
  EXPECT_EQ(loader->stats().skipped.size(), 4U);
}

/// Steps between which something lies, and some that fail for a row.
const std::vector<std::string>& step_lists() {
  static const std::vector<std::string> all{
      R"({"batch": {"size": 7, "pad": true}})", R"({"batch": {"size": 7, "remainder": "pad"}})",
      R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 7, "remainder": "repeat", "pad": true}})",
      R"({"slice": {"tensor": "tokens", "slice": "[3]"}}, {"cast": {"tensor": "tokens", "dtype": "float32"}},
         {"batch": {"size": 9}})",
      R"({"slice": {"tensor": "tokens", "slice": "[1:]"}}, {"normalize": {"tensor": "tokens", "axis": 0}},
         {"batch": {"size": 9, "remainder": "drop", "pad": true}}, {"cast": {"tensor": "id", "dtype": "int32"}})"};
  return all;
}

TEST(SkipRow, IsTheSameForAnyNumberOfThreadsAndAfterEveryRestart) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 60, every_fifth);
  for (const std::string& steps : step_lists()) {
    for (const std::string epochs : {R"("epochs": 2)", R"("epochs": 2, "epoch_boundary": "hard")"}) {
      const Json json = row_document(file, steps, R"("on_corrupt": "skip_row", "seed": 4, )" + epochs);
      const auto all = skip_lines_of(load(json, {.threads = 1}));
      EXPECT_EQ(skip_lines_of(load(json, {.threads = 8})), all) << steps;
      ASSERT_THAT(all.back(), Not(HasSubstr("error"))) << steps;
      auto loader = load(json, {.threads = 2});
      for (std::size_t i = 0; i <= all.size(); ++i) {
        auto again = load(json, {.threads = 3});
        ASSERT_TRUE(again->restore(testing::kept(*loader)).ok());
        EXPECT_EQ(skip_lines_of(std::move(again)),
                  (std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end())))
            << steps << i;
        if (i < all.size()) {
          ASSERT_TRUE(loader->next().ok());
        }
      }
    }
  }
}

TEST(SkipRow, WithoutBadRowsIsTheStreamOfFail) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 60, [](std::int64_t) { return Harm::no; });
  for (const std::string& steps : {step_lists()[0], step_lists()[2]}) {
    EXPECT_EQ(skip_lines_of(load(row_document(file, steps, R"("on_corrupt": "skip_row")"))),
              skip_lines_of(load(row_document(file, steps, R"("on_corrupt": "fail")"))));
  }
}

TEST(SkipRow, RanksHaveEqualShapes) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 40, [](std::int64_t id) {
    return id % 10 < 4 ? Harm::message : Harm::no;  // nearly all of rank 0
  });
  const Json json = (row_document(file, R"({"batch": {"size": 10}})", R"("on_corrupt": "skip_row")"));
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto loader = load(json, {.threads = 2, .shard_index = rank, .shard_count = 2});
    for (int i = 0; i < 4; ++i) {
      auto batch = loader->next();
      ASSERT_TRUE(batch.ok() && *batch);
      EXPECT_EQ((*batch)->rows(), 5);
      EXPECT_EQ((*batch)->valid_rows(), rank == 0 ? 1 : 5);
      EXPECT_EQ((*batch)->tensor("id").shape, Shape{5});
    }
  }
}

TEST(SkipRow, ABatchMayHaveNoValidRow) {
  const Folder folder;
  const std::string file =
      write_bad_file(folder.file("a"), 9, [](std::int64_t id) { return id / 3 == 1 ? Harm::checksum : Harm::no; });
  auto loader = load(row_document(file, R"({"batch": {"size": 3, "pad": true}})", R"("on_corrupt": "skip_row")"));
  std::vector<std::int64_t> valid;
  while (true) {
    auto batch = loader->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    if (!*batch) break;
    EXPECT_EQ((*batch)->rows(), 3);
    valid.push_back((*batch)->valid_rows());
  }
  EXPECT_THAT(valid, ElementsAre(3, 0, 3));
}

std::size_t batches_before_the_error(const std::string& file, const std::string& policy, std::string& error,
                                     const std::string& more = "") {
  const Json json = row_document(file, R"({"batch": {"size": 10, "pad": true}})",
                                 R"("on_corrupt": {"policy": "skip_row", )" + policy + "}" + more);
  const auto lines = skip_lines_of(load(json, {.threads = 2}));
  error = lines.back();
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return !line.starts_with("error"); }));
}

TEST(SkipRow, BudgetsCountInTheOrderOfDelivery) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 100, every_fifth);  // 2 in each batch
  std::string error;
  EXPECT_EQ(batches_before_the_error(file, R"("max_count": 6)", error), 3U);
  EXPECT_THAT(error, HasSubstr("on_corrupt.max_count allows 6 skips in an epoch"));
  EXPECT_THAT(error, HasSubstr("record 33"));
  EXPECT_EQ(batches_before_the_error(file, R"("max_count": 20)", error, R"(, "epochs": 2)"), 20U);
  EXPECT_EQ(batches_before_the_error(file, R"("max_fraction": 0.19)", error), 10U) << "judged at the end";
  EXPECT_THAT(error, HasSubstr("20 of 100 records"));
  EXPECT_EQ(batches_before_the_error(file, R"("max_fraction": 0.2)", error), 10U);
  EXPECT_THAT(error, Not(HasSubstr("error")));
  const std::string run = write_bad_file(folder.file("b"), 100, [](std::int64_t id) {
    return id >= 37 && id < 42 ? Harm::checksum : Harm::no;  // over the end of a batch
  });
  EXPECT_EQ(batches_before_the_error(run, R"("max_consecutive": 5)", error), 10U);
  EXPECT_EQ(batches_before_the_error(run, R"("max_consecutive": 4)", error), 4U);
  EXPECT_THAT(error, HasSubstr("record 41"));
}

TEST(SkipRow, ARestartedRunJudgesAsAnUnbrokenOne) {
  const Folder folder;
  const std::string file = write_bad_file(folder.file("a"), 100, every_fifth);
  const Json json = row_document(file, R"({"batch": {"size": 10, "pad": true}})",
                                 R"("on_corrupt": {"policy": "skip_row", "max_count": 13}, "epochs": 2)");
  const auto all = skip_lines_of(load(json));
  ASSERT_EQ(all.size(), 7U);
  EXPECT_THAT(all.back(), HasSubstr("max_count allows 13"));
  auto loader = load(json, {.threads = 2});
  for (std::size_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(loader->next().ok());
    auto again = load(json, {.threads = 3});
    ASSERT_TRUE(again->restore(testing::kept(*loader)).ok());
    EXPECT_EQ(skip_lines_of(std::move(again)),
              (std::vector(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end())));
  }
}

TEST(SkipRow, CorruptFramesAreErrorsOfTheFile) {
  const Folder folder;
  std::string bytes = tests::framed(testing::example_of(0)) + tests::framed(testing::example_of(1));
  bytes[tests::framed(testing::example_of(0)).size() + 9] ^= 1;  // the checksum of the length
  std::ofstream{folder.file("a"), std::ios::binary} << bytes;
  const auto lines = skip_lines_of(
      load(row_document(folder.file("a"), R"({"batch": {"size": 1, "pad": true}})", R"("on_corrupt": "skip_row")")));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines.back(), HasSubstr("error"));
}

/// Rows of spans have several records, so none of them can be taken out for one: records are skipped before the windows
/// are cut.
TEST(SkipRow, SkipsRecordsWhereRowsAreMadeOfSpans) {
  const Folder folder;
  const std::string file =
      write_bad_file(folder.file("a"), 10, [](std::int64_t i) { return i == 3 ? Harm::checksum : Harm::no; });
  const std::string windows = R"({"chunk": {"keys": ["tokens"], "size": 2}}, {"batch": {"size": 2, "pad": true}})";
  const auto rows_with = [&](const char* policy) {
    auto loader = load(row_document(file, windows, R"("on_corrupt": ")" + std::string{policy} + "\""));
    EXPECT_TRUE(loader.ok());
    std::int64_t rows = 0;
    for (auto batch = loader->next(); batch.ok() && *batch; batch = loader->next()) rows += (*batch)->rows();
    EXPECT_EQ(loader->stats().skipped_records, 1);
    return rows;
  };
  EXPECT_EQ(rows_with("skip_row"), rows_with("skip_record"));
}

}  // namespace
}  // namespace forebay
