// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "columns/crc32c.h"
#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::Delivered;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run;

std::string contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// In an index (docs/formats/index.md).
constexpr std::size_t head_hash_at = 40;
constexpr std::size_t tail_hash_at = 48;
std::uint64_t fnv(const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3U;
  return hash;
}

void write(const std::string& path, const std::string& bytes) { std::ofstream{path, std::ios::binary} << bytes; }

/// Records one by one: what was delivered before the fault is a prefix of this, or something is very wrong.
Json one_by_one(const std::string& path) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                        R"("]}}, "decode": {"record": {}}, "steps": [{"batch": {"size": 1}}]})");
}

class Corruption : public ::testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    testing::write_examples(path_, 0, 5, GetParam());
    good_ = contents(path_);
    whole_ = run(one_by_one(path_), {.threads = 1});
    ASSERT_EQ(whole_.error, "");
    ASSERT_EQ(whole_.batches.size(), 5U);
  }
  /// What a corrupt file may give: some of the first records and an error that names the file.
  void expect_prefix_and_error(const std::string& bytes, const std::string& what) {
    write(path_, bytes);
    const Delivered got = run(one_by_one(path_), {.threads = 1});
    ASSERT_LE(got.batches.size(), whole_.batches.size()) << what;
    EXPECT_TRUE(std::equal(got.batches.begin(), got.batches.end(), whole_.batches.begin())) << what;
    if (got.error.empty()) {
      EXPECT_EQ(got, whole_) << what << ": a clean end, but not everything was delivered";
    } else {
      EXPECT_THAT(got.error, HasSubstr(path_)) << what;
    }
  }

  const Folder folder_;
  const std::string path_ = folder_.file("data.tfrecord");
  std::string good_;
  Delivered whole_;
};

TEST_P(Corruption, NoBitFlipDeliversAWrongRecord) {
  for (std::size_t bit = 0; bit < good_.size() * 8; bit += tests::how_much(1, 5, 29)) {
    std::string bytes = good_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    expect_prefix_and_error(bytes, "bit " + std::to_string(bit));
  }
}

TEST_P(Corruption, ACutFileDeliversItsWholeRecordsAndThenAnErrorUnlessItIsCutBetweenTwo) {
  std::vector<std::size_t> ends{0};  // sizes at which a plain file is whole, only shorter
  for (std::int64_t id = 0; id < 5; ++id) ends.push_back(ends.back() + testing::example_of(id).size() + 16);
  for (std::size_t size = 0; size < good_.size(); ++size) {
    const auto end = std::find(ends.begin(), ends.end(), size);
    const bool clean = GetParam() == Compression::none ? end != ends.end() : size == 0;
    if (!clean) {
      expect_prefix_and_error(good_.substr(0, size), "size " + std::to_string(size));
      continue;
    }
    write(path_, good_.substr(0, size));
    const auto records = GetParam() == Compression::none ? end - ends.begin() : 0;
    EXPECT_EQ(run(one_by_one(path_), {.threads = 1}),
              (Delivered{{whole_.batches.begin(), whole_.batches.begin() + records}, ""}));
  }
}

TEST_P(Corruption, NoInsertedOrMissingByteDeliversAWrongRecord) {
  for (std::size_t at = 0; at < good_.size(); ++at) {
    std::string longer = good_;
    longer.insert(at, 1, 'x');
    expect_prefix_and_error(longer, "byte inserted at " + std::to_string(at));
    std::string shorter = good_;
    shorter.erase(at, 1);
    expect_prefix_and_error(shorter, "byte missing at " + std::to_string(at));
  }
}

/// 60 records of four kinds: deflate writes most as copies of those before them, and a copy from another place may be a
/// whole record, too, its checksums included.
class Repeating : public ::testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    std::vector<std::string> records;
    for (std::uint64_t i = 0, state = 1; i < 60; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      records.push_back(testing::example_of(static_cast<std::int64_t>(state >> 62)));
    }
    ASSERT_TRUE(write_records(path_, records, GetParam()).ok());
    good_ = contents(path_);
  }
  [[nodiscard]] Json document(const std::string& steps) const {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path_ +
                          R"("]}}, "decode": {"record": {}}, "steps": [)" + steps + R"({"batch": {"size": 1}}]})");
  }
  /// The file with one bit turned, as an index of it would not notice.
  void flip(std::size_t bit) {
    const auto modified = std::filesystem::last_write_time(path_);
    std::string bytes = good_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write(path_, bytes);
    std::filesystem::last_write_time(path_, modified);
  }

  [[nodiscard]] bool looks_cut() const {
    const auto reports = verify({path_});
    for (const auto& place : (*reports)[0].first) {
      if (place.reason.message().find(" data: the file ends inside it") != std::string::npos) return true;
    }
    return false;
  }

  const Folder folder_;
  const std::string path_ = folder_.file("data.tfrecord");
  std::string good_;
};

TEST_P(Repeating, ACompressedFileInWhichABitFlippedGivesNoRecordInTheWrongPlace) {
  const Delivered whole = run(document(""), {.threads = 1});
  ASSERT_EQ(whole.batches.size(), 60U);
  std::size_t cuts = 0;
  for (std::size_t bit = 0; bit < good_.size() * 8; bit += tests::how_much(1, 5, 29)) {
    flip(bit);
    const Delivered got = run(document(""), {.threads = 1});
    ASSERT_LE(got.batches.size(), whole.batches.size()) << bit;
    const bool prefix = std::equal(got.batches.begin(), got.batches.end(), whole.batches.begin());
    // Whose last symbols became longer ones looks like a file that was cut, and what such a file has is delivered.
    EXPECT_TRUE(prefix || looks_cut()) << bit << ", " << got.batches.size() << " batches, then: " << got.error;
    cuts += prefix ? 0 : 1;
    EXPECT_TRUE(got == whole || !got.error.empty()) << bit;
  }
  EXPECT_LT(cuts, good_.size() / 10) << "of eight times as many";
}

TEST_P(Repeating, AnIndexTellsWhatWasInflatedFromWhatItWasMadeOf) {
  const Json shuffled = document(R"({"shuffle": {"global": true}}, )");
  const Delivered whole = run(shuffled, {.threads = 1});  // the index is made, and stored
  ASSERT_EQ(whole.batches.size(), 60U);
  // The first and last 4 KiB tell a file from another; this one is shorter, so the index is told that it has not
  // changed.
  const std::string store = std::filesystem::path{path_}.parent_path() / ".forebay/index-v1";
  const std::string index = contents(store);
  ASSERT_FALSE(index.empty());
  const std::size_t name = std::filesystem::path{path_}.filename().string().size();
  const std::size_t image = 72 + (name + 7) / 8 * 8;  // where it begins in the store; 8 bytes at 8 are its size
  std::uint64_t size = 0;
  std::memcpy(&size, index.data() + 8, sizeof(size));
  int refused = 0;
  for (std::size_t bit = 0; bit < good_.size() * 8; bit += tests::how_much(1, 5, 29)) {
    flip(bit);
    auto changed = index;
    const std::uint64_t hash = fnv(contents(path_));
    std::memcpy(changed.data() + image + head_hash_at, &hash, sizeof(hash));
    std::memcpy(changed.data() + image + tail_hash_at, &hash, sizeof(hash));
    const std::size_t covered = size - 4;
    const std::uint32_t sum = columns::crc32c(std::as_bytes(std::span{changed}.subspan(image, covered)));
    std::memcpy(changed.data() + image + covered, &sum, sizeof(sum));
    write(store, changed);
    const Delivered got = run(shuffled, {.threads = 1});
    EXPECT_TRUE(got == whole || (got.batches.empty() && !got.error.empty())) << bit << " " << got.error;
    refused += got.batches.empty() ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Compressed, Repeating, ::testing::Values(Compression::gzip, Compression::zlib));

INSTANTIATE_TEST_SUITE_P(Files, Corruption,
                         ::testing::Values(Compression::none, Compression::gzip, Compression::zlib, Compression::zstd));

TEST(Fault, ComesBehindTheBatchesBeforeItAndRepeats) {
  for (const std::int64_t threads : {1, 3}) {
    const Folder folder;
    const std::string path = folder.file("data");
    testing::write_examples(path, 0, 100);
    std::string bytes = contents(path);
    bytes[bytes.size() - 10] = static_cast<char>(bytes[bytes.size() - 10] ^ 1);  // in the last payload
    write(path, bytes);
    auto pipeline = load(testing::document(path, R"({"batch": {"size": 30}})"), {.threads = threads});
    ASSERT_TRUE(pipeline.ok());
    for (int i = 0; i < 3; ++i) {
      auto batch = pipeline->next();
      ASSERT_TRUE(batch.ok() && *batch) << i;
    }
    const auto first = pipeline->next();
    const auto second = pipeline->next();
    ASSERT_FALSE(first.ok());
    EXPECT_EQ(first.error().text(), second.error().text());
    EXPECT_EQ(first.error().place().file, path);
    EXPECT_EQ(first.error().place().record, 99);
    EXPECT_EQ(first.error().code(), Code::data);
  }
}

TEST(Fault, AMissingFileIsNamedWhenItsTurnComes) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 10);
  testing::write_examples(folder.file("missing"), 10, 10);
  const auto plan =
      Plan::make(testing::document(folder.file("a") + R"(", ")" + folder.file("missing"), R"({"batch": {"size": 5}})"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  std::filesystem::remove(folder.file("missing"));
  auto pipeline = Loader::start(*plan, {.threads = 2});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  EXPECT_EQ((*pipeline->next())->rows(), 5);
  EXPECT_EQ((*pipeline->next())->rows(), 5);
  EXPECT_THAT(pipeline->next().error().text(), HasSubstr("missing"));
}

TEST(Fault, AWrongKindNamesFileRecordAndFeature) {
  const Folder folder;
  const std::string path = folder.file("a");
  const auto written =
      write_records(path, {testing::example_of(1), encode_example({{"id", std::vector<float>{1.0F}},
                                                                   {"x", std::vector<float>(4)},
                                                                   {"name", std::vector<std::string>{"n"}}})});
  ASSERT_TRUE(written.ok());
  auto pipeline = load(testing::document(path, R"({"batch": {"size": 2}})"));
  const auto batch = pipeline->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().place().feature, "id");
  EXPECT_EQ(batch.error().place().record, 1);
  EXPECT_EQ(batch.error().detail(), Detail::invalid_argument);
}

TEST(Fault, UnequalRowsWithoutPaddingAreAnErrorOnlyWhenAsked) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 4);
  EXPECT_EQ(run(testing::document(folder.file("a"), R"({"batch": {"size": 4}})")).error, "");
  EXPECT_THAT(run(testing::document(folder.file("a"), R"({"batch": {"size": 4, "require_equal": true}})")).error,
              HasSubstr("tokens"));
}

TEST(Fault, AFileReplacedByAShorterOneWhileItIsReadIsAnErrorNotADeath) {
  const Folder folder;
  const std::string path = folder.file("a");
  testing::write_examples(path, 0, 40'000);
  auto pipeline = load(testing::document(path, R"({"batch": {"size": 10}})"), {.threads = 1, .prefetch = 1});
  ASSERT_TRUE(pipeline.ok());
  ASSERT_TRUE(pipeline->next().ok());
  std::filesystem::resize_file(path, 1 << 20);
  while (true) {
    auto batch = pipeline->next();
    if (batch.ok() && *batch) continue;
    ASSERT_FALSE(batch.ok()) << "a short epoch";
    EXPECT_THAT(batch.error().text(), HasSubstr(path));
    return;
  }
}

}  // namespace
}  // namespace forebay
