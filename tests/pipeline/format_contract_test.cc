// SPDX-License-Identifier: Apache-2.0
// Tests the decisions of a format, with one that is not TFRecord: compression, trailers, overlapping records.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/index/index_file.h"
#include "engine/index/index_parallel.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/pipeline/restarts.h"
#include "tests/support/fixed_format.h"

namespace forebay {
namespace {

using testing::Folder;
using Records = std::vector<std::string>;
using ::testing::HasSubstr;

constexpr const char* unshuffled = "";
constexpr const char* by_buffer = R"({"shuffle": {"buffer": 1500}}, )";
constexpr const char* reordered = R"({"shuffle": {"global": true}}, )";

void write_file(const std::string& path, const std::string& content) {
  std::ofstream{path, std::ios::binary} << content;
}

/// Text without a period, so that equal records are at the same place.
std::string lines_of(std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += std::to_string(i * i) + ";";
  out.resize(bytes);
  return out;
}

Json fixed_document(const std::string& file, const std::string& options, const std::string& order, int batch = 7) {
  testing::register_fixed();
  return testing::parse(R"({"source": {"test_fixed": {"files": [")" + file + "\"]" + options +
                        R"(}}, "decode": {"record": {"name": "v"}}, "steps": [)" + order + R"({"batch": {"size": )" +
                        std::to_string(batch) + "}}]}");
}

/// The records of a run; an error is the last one.
Records records_of(const Json& json, RunOptions options = {.threads = 2}) {
  Records out;
  auto loader = load(json, options);
  if (!loader.ok()) return {"not planned: " + loader.error().text()};
  while (true) {
    auto batch = loader->next();
    if (!batch.ok()) return out.push_back("error: " + batch.error().text()), out;
    if (!*batch) return out;
    const Tensor& values = (*batch)->tensor("v");
    for (std::int64_t i = 0; i < values.count(); ++i) out.emplace_back(values.string(i));
  }
}

Records sorted(Records records) {
  std::sort(records.begin(), records.end());
  return records;
}

TEST(FormatContract, TextThatBeginsLikeZlibIsPlainUnlessItsFormatAsksForZlib) {
  const Folder folder;
  for (const std::string head : {"80", "H,", "(4", "hb", "x ", "8O", "X\t"}) {
    for (const char* const order : {unshuffled, reordered}) {
      const std::string text = head + "17,a,b\n" + lines_of(5000);
      Records expected;
      for (std::size_t at = 0; at + 4 <= text.size(); at += 4) expected.push_back(text.substr(at, 4));
      write_file(folder.file("data"), text);
      EXPECT_EQ(sorted(records_of(fixed_document(folder.file("data"), "", order))), sorted(expected)) << head << order;
      write_file(folder.file("data"), tests::compress(text, tests::gzip_window));
      EXPECT_EQ(sorted(records_of(fixed_document(folder.file("data"), "", order))), sorted(expected))
          << "gzip " << order;
    }
  }
}

/// 6 MB of records with a trailer that is longer than a decoder's slack.
struct Trailers {
  static constexpr std::size_t record = 960, trailer = 40;
  static constexpr const char* options = R"(, "record": 960, "hop": 1000, "trailer": 40)";
  std::string content;
  Records records;
  Trailers() {
    for (int i = 0; i < 6000; ++i) {
      std::string payload = std::to_string(i * 7919) + lines_of(record);
      payload.resize(record);
      content += payload + std::string(trailer, static_cast<char>(~payload.front()));
      records.push_back(std::move(payload));
    }
  }
};

TEST(FormatContract, ATrailerGoesWithItsRecordWhereverThatIsCopied) {
  const Trailers all;
  const Folder folder;
  for (const bool compressed : {false, true}) {
    const auto put = [&](const std::string& content) {
      write_file(folder.file("data"), compressed ? tests::compress(content, tests::gzip_window, 1) : content);
    };
    for (const char* const order : {unshuffled, by_buffer, reordered}) {
      for (const std::int64_t memory : {std::int64_t{8} << 20, std::int64_t{256} << 20}) {
        const RunOptions options{.threads = 2, .memory = memory};
        const Json json = fixed_document(folder.file("data"), Trailers::options, order, 64);
        put(all.content);
        EXPECT_TRUE(sorted(records_of(json, options)) == sorted(all.records)) << compressed << order << memory;
        std::string wrong = all.content;
        wrong[wrong.size() - 2001] ^= 1;  // the last byte of a trailer
        put(wrong);
        const Records got = records_of(json, options);
        ASSERT_FALSE(got.empty());
        EXPECT_THAT(got.back(), HasSubstr("wrong trailer")) << compressed << order << memory;
      }
    }
  }
}

/// Records of 5,000 bytes, each of which begins 40 bytes after the one before.
struct Overlapping {
  static constexpr const char* options = R"(, "record": 5000, "hop": 40)";
  std::string content = lines_of(400'000);
  Records records;
  Overlapping() {
    for (std::size_t at = 0; at + 5000 <= content.size(); at += 40) records.push_back(content.substr(at, 5000));
  }
};

TEST(FormatContract, OverlappingRecordsAreReachedByIndex) {
  const Overlapping all;
  const Folder folder;
  for (const bool compressed : {false, true}) {
    const std::string path = folder.file(compressed ? "data.gz" : "data");
    write_file(path, compressed ? tests::compress(all.content, tests::gzip_window) : all.content);
    EXPECT_TRUE(records_of(fixed_document(path, Overlapping::options, unshuffled)) == all.records) << compressed;
    const Json json = fixed_document(path, Overlapping::options, reordered, 100);
    const Records first = records_of(json);
    EXPECT_TRUE(sorted(first) == sorted(all.records)) << compressed << first.back();
    EXPECT_TRUE(first != all.records);

    const auto plan = Plan::make(json);
    const auto stored = engine::load_index(engine::request_for(engine::program_of(*plan).source, 0));
    ASSERT_TRUE(stored.ok());
    ASSERT_EQ(stored->state, IndexState::good) << stored->reason;
    EXPECT_EQ(stored->index->records(), std::ssize(all.records));
    EXPECT_EQ(stored->index->payload_bytes(), 5000 * std::ssize(all.records));
    EXPECT_EQ(stored->index->length(17), 5000U);
    EXPECT_TRUE(records_of(json) == first) << "by the stored index";
    EXPECT_TRUE(records_of(json, {.threads = 1, .memory = 16 << 20}) == first) << "a small budget";
  }
}

TEST(FormatContract, ARunOverOverlappingRecordsIsRestarted) {
  const Overlapping all;
  const Folder folder;
  write_file(folder.file("data"), all.content);
  for (const char* const order : {unshuffled, by_buffer, reordered}) {
    const Json json = fixed_document(folder.file("data"), Overlapping::options, order, 1000);
    auto whole = load(json);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    const std::vector<std::string> expected = testing::rest(*whole);
    for (std::size_t batches = 0; batches <= expected.size(); batches += 3) {
      auto loader = load(json);
      static_cast<void>(testing::rest(*loader, static_cast<std::int64_t>(batches)));
      auto again = testing::resumed(json, testing::kept(*loader));
      ASSERT_TRUE(again.ok()) << again.error().text();
      const std::vector<std::string> behind{expected.begin() + static_cast<std::ptrdiff_t>(batches), expected.end()};
      EXPECT_TRUE(testing::rest(*again) == behind) << order << batches;
    }
  }
}

}  // namespace
}  // namespace forebay
