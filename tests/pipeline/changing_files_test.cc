// SPDX-License-Identifier: Apache-2.0
// Tests of files that change between the scan of their records and the decoding of their rows.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/plugin.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

struct Cutting {
  std::string file;  // empty: none
  std::int64_t size = 0;
};

/// The last byte of every record. The file is cut when the decoder is called: after the records were checked.
class CuttingDecoder final : public Decoder {
 public:
  explicit CuttingDecoder(Cutting options) : options_{std::move(options)} {}
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<DecoderMemory>(); }
  bool copies_only() const override { return true; }  // also where this is so, records with checksums are copied first
  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory&) const override {
    if (!options_.file.empty()) std::filesystem::resize_file(options_.file, static_cast<std::uintmax_t>(options_.size));
    auto* const out = block.columns[0].values.as<std::uint8_t>() + first_row;
    for (std::size_t i = 0; i < records.size(); ++i) out[i] = std::to_integer<std::uint8_t>(records[i].back());
    return {};
  }

 private:
  const Cutting options_;
};

void register_cutting() {
  static const bool done = [] {
    Registry::global().add(
        describe<DecoderType, Cutting>(
            "test_cutting", "The last byte of each record, of a file that is cut short meanwhile.",
            [](const Cutting& options, const std::vector<std::string>&) -> Result<Bound<Decoder>> {
              Schema out;
              out.put({.name = "last", .dtype = DType::uint8, .shape = Shape{}});
              return Bound<Decoder>{std::make_unique<CuttingDecoder>(options), std::move(out)};
            })
            .required("file", &Cutting::file, "The file.")
            .required("size", &Cutting::size, "What is left of it.")
            .example({.options = R"({"file": "", "size": 0})", .in = R"(["x"])", .out = R"({"last": [120]})"}));
    return true;
  }();
  static_cast<void>(done);
}

TEST(ChangingFile, CutShortBetweenChecksumAndDecodingGivesTheCheckedRowsAndThenItsName) {
  register_cutting();
  for (const char* const order : {"", R"({"shuffle": {"buffer": 3}}, )", R"({"shuffle": {"global": true}}, )"}) {
    const Folder folder;
    const std::string path = folder.file("data");
    ASSERT_TRUE(write_records(path, {std::string(5000, 'a'), std::string(5000, 'b'), std::string(5000, 'c')}).ok());
    const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                     R"("]}}, "decode": {"test_cutting": {"file": ")" + path +
                                     R"(", "size": 4096}}, "steps": [)" + order + R"({"batch": {"size": 3}}]})");
    auto pipeline = load(json, {.threads = 1});
    ASSERT_TRUE(pipeline.ok());
    const auto batch = pipeline->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    ASSERT_TRUE(*batch);
    const auto last = (*batch)->tensor("last").as<std::uint8_t>();
    std::vector<std::uint8_t> rows{last.begin(), last.end()};
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, (std::vector<std::uint8_t>{'a', 'b', 'c'})) << "the records as they were when they were checked";
    const auto end = pipeline->next();
    ASSERT_FALSE(end.ok()) << order;
    EXPECT_THAT(end.error().text(), HasSubstr(path));
    EXPECT_THAT(end.error().text(), HasSubstr("the file changed while it was read"));
  }
}

TEST(ChangingFile, CutShortWhileItsRecordsAreReadWithoutAChecksumIsAnErrorOfTheBatch) {
  register_cutting();
  for (const char* const order : {"", R"({"shuffle": {"buffer": 3}}, )", R"({"shuffle": {"global": true}}, )"}) {
    const Folder folder;
    const std::string path = folder.file("data");
    std::ofstream{path} << std::string(15'000, 'a');
    const Json json = testing::parse(R"({"source": {"fixed_length": {"files": [")" + path +
                                     R"("], "record_bytes": 5000}}, "decode": {"test_cutting": {"file": ")" + path +
                                     R"(", "size": 4096}}, "steps": [)" + order + R"({"batch": {"size": 3}}]})");
    auto pipeline = load(json, {.threads = 1});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    const auto batch = pipeline->next();
    ASSERT_FALSE(batch.ok()) << order << "pages that are gone read as zeros, which are no rows";
    EXPECT_THAT(batch.error().text(), HasSubstr(path));
    EXPECT_THAT(batch.error().text(), HasSubstr("cut short"));
  }
}

TEST(ChangingFile, RewrittenWhileItsRecordsAreReadWithoutAChecksumIsAnErrorAtTheEndOfTheRun) {
  for (const char* const decode : {R"({"raw": {"dtype": "uint8", "shape": [1000]}})", R"({"record": {}})"}) {
    const Folder folder;
    const std::string path = folder.file("data");
    std::ofstream{path} << std::string(100'000, 'a');
    const Json json = testing::parse(R"({"source": {"fixed_length": {"files": [")" + path +
                                     R"("], "record_bytes": 1000}}, "decode": )" + decode +
                                     R"(, "steps": [{"shuffle": {"global": true}}, {"batch": {"size": 10}}]})");
    auto pipeline = load(json, {.threads = 1, .prefetch = 1});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    auto batch = pipeline->next();
    std::ofstream{path, std::ios::in} << std::string(100'000, 'b');
    while (batch.ok() && *batch) batch = pipeline->next();
    ASSERT_FALSE(batch.ok()) << decode;
    EXPECT_THAT(batch.error().text(), HasSubstr("the file changed while it was read"));
  }
}

TEST(ChangingFile, RewrittenAfterItsLastRecordWasReadIsAnErrorAtTheEndOfTheRun) {
  const Folder folder;
  const std::string path = testing::write_examples(folder.file("data"), 0, 400);
  auto pipeline = load(testing::document(path, R"({"batch": {"size": 100}})"), {.threads = 1, .prefetch = 1});
  ASSERT_TRUE(pipeline.ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pipeline->next().ok());
  const auto time = std::filesystem::last_write_time(path);
  testing::write_examples(path + ".new", 1000, 400);
  std::filesystem::copy_file(path + ".new", path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::last_write_time(path, time);
  auto batch = pipeline->next();
  while (batch.ok() && *batch) batch = pipeline->next();
  ASSERT_FALSE(batch.ok()) << "its modification time was put back, but not its change time";
  EXPECT_THAT(batch.error().text(), HasSubstr("the file changed while it was read"));
}

TEST(ChangingFile, ReplacedBetweenTwoPassesIsAnErrorInsteadOfTwoVersionsInOneRun) {
  for (const std::string decode : {"", ".gz"}) {
    const Folder folder;
    const auto compression = decode.empty() ? Compression::none : Compression::gzip;
    const std::string path = testing::write_examples(folder.file("data" + decode), 0, 400, compression);
    auto pipeline = load(testing::document(path, R"({"batch": {"size": 100}})", R"(, "epochs": 50)"),
                         {.threads = 1, .prefetch = 1});
    ASSERT_TRUE(pipeline.ok());
    auto batch = pipeline->next();
    testing::write_examples(path + ".new", 1000, 400, compression);
    std::filesystem::rename(path + ".new", path);
    while (batch.ok() && *batch) {
      EXPECT_LT((*batch)->tensor("id").as<std::int64_t>()[0], 1000);
      batch = pipeline->next();
    }
    ASSERT_FALSE(batch.ok()) << path;
    EXPECT_THAT(batch.error().text(), HasSubstr("the file changed while it was read: in a later pass"));
  }
}

/// The error at the end of a run whose file gets another time when the first batch is there.
std::string touched(const std::string& order) {
  const Folder folder;
  const std::string path = testing::write_examples(folder.file("data"), 0, 400);
  auto pipeline = load(testing::document(path, order + R"({"batch": {"size": 1}})"), {.threads = 1, .prefetch = 1});
  auto batch = pipeline->next();
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + std::chrono::hours{1});
  while (batch.ok() && *batch) batch = pipeline->next();
  return batch.ok() ? "" : batch.error().message();
}

TEST(ChangingFile, WrittenToWhileItIsReachedByIndexIsAnErrorAtTheEndOfThePass) {
  EXPECT_THAT(touched(R"({"shuffle": {"global": true}}, )"), HasSubstr("the file changed while it was read"));
}

TEST(ChangingFile, ReplacedByAnotherUnderItsNameStaysWhatItWas) {
  const Folder folder;
  const std::string path = testing::write_examples(folder.file("data"), 0, 400);
  const Json json = testing::document(path, R"({"shuffle": {"global": true}}, {"batch": {"size": 1}})");
  const testing::Delivered whole = testing::run(json, {.threads = 1});
  auto pipeline = load(json, {.threads = 1, .prefetch = 1});
  testing::Delivered got;
  for (auto batch = pipeline->next(); batch.ok() && *batch; batch = pipeline->next()) {
    got.batches.push_back(testing::text_of(**batch));
    if (got.batches.size() == 1) testing::write_examples(path, 1000, 3);
  }
  EXPECT_EQ(got, whole);
}

/// Open descriptors of this process.
std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
}

TEST(ManyFiles, AGlobalShuffleGoesOverMoreThanFourThousandAndKeepsNoneOpen) {
  constexpr int files = 4200;
  const Folder folder;
  const std::string one = testing::write_examples(folder.file("00000.tfrecord"), 7, 2);
  for (int i = 1; i < files; ++i)
    std::filesystem::copy_file(one, folder.file(std::to_string(10'000 + i) + ".tfrecord"));
  auto pipeline = load(
      testing::document(folder.path() + "/*.tfrecord", R"({"shuffle": {"global": true}}, {"batch": {"size": 100}})",
                        R"(, "on_corrupt": "skip_record")"),  // no index is stored then: faster
      {.threads = 1});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  std::int64_t rows = 0;
  std::ptrdiff_t max_open = 0;
  auto batch = pipeline->next();
  for (; batch.ok() && *batch; batch = pipeline->next()) {
    rows += (*batch)->rows();
    max_open = std::max(max_open, descriptors());
  }
  EXPECT_TRUE(batch.ok()) << batch.error().text();
  EXPECT_EQ(rows, 2 * files);
  EXPECT_LT(max_open, 200);
}

TEST(Tensor, WithoutAnythingHasNoElements) {
  EXPECT_EQ(Tensor{}.count(), 0);
  EXPECT_TRUE(Tensor{}.as<float>().empty());
}

TEST(Tensor, IsReadAsTheTypeItHasAndAsNoOther) {
  const Folder folder;
  const std::string path = testing::write_examples(folder.file("data"), 0, 2);
  auto pipeline = load(testing::document(path, R"({"batch": {"size": 2}})"), {.threads = 1});
  ASSERT_TRUE(pipeline.ok());
  const auto batch = pipeline->next();
  ASSERT_TRUE(batch.ok());
  const Tensor& x = (*batch)->tensor("x");
  EXPECT_EQ(x.as<float>().size(), 8U);
  EXPECT_EQ(x.as<const float>().size(), 8U);
  EXPECT_TRUE(x.as<double>().empty());
  EXPECT_TRUE(x.as<std::int32_t>().empty());
  EXPECT_EQ((*batch)->tensor("id").as<std::int64_t>().size(), 2U);
  EXPECT_TRUE((*batch)->tensor("id").as<std::uint64_t>().empty());
  EXPECT_TRUE((*batch)->tensor("name").as<std::uint8_t>().empty());
  EXPECT_EQ((*batch)->tensor("missing").count(), 0);
}

}  // namespace
}  // namespace forebay
