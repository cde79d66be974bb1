// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>
#include <string>
#include <vector>

#include <forebay/pipeline.h>
#include <forebay/plugins.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/documents.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

constexpr std::int64_t rows = 23;

/// Records that have every kind of list, of all lengths of varints.
std::vector<std::string> examples() {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    ExampleMap example{{"one", Ints{(i - 11) * (std::int64_t{1} << (i * 2))}},
                       {"x", Floats{static_cast<float>(i), -0.5F}},
                       {"text", Texts{std::string(static_cast<std::size_t>(i * 9), 'a')}}};
    if (i % 3 > 0) example["list"] = Ints(static_cast<std::size_t>(i % 3), i);
    if (i % 4 > 0) example["texts"] = Texts(static_cast<std::size_t>(i % 4), "b\xff");
    out.push_back(encode_example(example));
  }
  return out;
}

Json document_of(const std::string& path, int size) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path + R"("]}}, "decode": {"example": {"features": {
      "one": {"dtype": "int64", "shape": []}, "x": {"dtype": "float32", "shape": [2]}, "text": {"dtype": "string", "shape": []},
      "list": {"kind": "var_len", "dtype": "int64"}, "texts": {"kind": "var_len", "dtype": "string"}}}},
      "steps": [{"batch": {"size": )" +
                        std::to_string(size) + "}}]}");
}

std::vector<Batch> batches_of(const Json& document) {
  std::vector<Batch> out;
  auto loader = load(document, {.threads = 1});
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  for (const Batch& batch : loader->batches()) out.push_back(batch);
  EXPECT_TRUE(loader->status().ok());
  return out;
}

TEST(WriteExamples, GivesTheBytesOfEncodeExample) {
  const Folder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  ASSERT_TRUE(write_records(in, examples()).ok());
  auto writer = RecordWriter::create(out);
  ASSERT_TRUE(writer.ok());
  for (const Batch& batch : batches_of(document_of(in, 5))) ASSERT_TRUE(write_examples(batch, *writer).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(*read_records(out), examples());
}

TEST(WriteExamples, RefusesWhatAnExampleCannotHold) {
  const Folder folder;
  folder.write("in", "a\n");
  const Json document = testing::parse(R"({"source": {"lines": {"files": [")" + folder.path() + R"(/in"]}},
      "decode": {"record": {"name": "r"}},
      "steps": [{"constant": {"tensor": "c", "dtype": "float64", "shape": [], "value": 1}}, {"batch": {"size": 1}}]})");
  auto writer = RecordWriter::create(folder.path() + "/out");
  const auto batches = batches_of(document);
  ASSERT_EQ(batches.size(), 1U);
  const auto refused = write_examples(batches.front(), *writer);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("it is float64, and an Example has float32 only"));
  EXPECT_EQ(refused.error().place().feature, "c");
}

TEST(RowDigest, DoesNotDependOnHowRowsAreCutIntoBatches) {
  const Folder folder;
  ASSERT_TRUE(write_records(folder.path() + "/in", examples()).ok());
  std::vector<std::string> digests;
  for (const int size : {1, 4, 64}) {
    RowDigest digest;
    for (const Batch& batch : batches_of(document_of(folder.path() + "/in", size))) ASSERT_TRUE(digest.add(batch).ok());
    EXPECT_EQ(digest.rows(), rows);
    digests.push_back(digest.text());
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digests[2]);
}

TEST(RowDigest, ChangesWithAValueALengthAndTheOrderOfRows) {
  const Folder folder;
  const std::string path = folder.path() + "/in";
  const auto digest_of = [&](const std::vector<std::string>& records) {
    EXPECT_TRUE(write_records(path, records).ok());
    RowDigest digest;
    for (const Batch& batch : batches_of(document_of(path, 4))) EXPECT_TRUE(digest.add(batch).ok());
    return digest.text();
  };
  const auto with = [](std::size_t row, const std::string& name, FeatureValue value) {
    std::vector<std::string> records = examples();
    ExampleMap example = *decode_example(records[row]);
    example[name] = std::move(value);
    records[row] = encode_example(example);
    return records;
  };
  std::vector<std::string> turned = examples();
  std::swap(turned[3], turned[4]);
  std::vector<std::string> digests{digest_of(examples()), digest_of(with(7, "x", Floats{7, -0.25F})), digest_of(turned),
                                   digest_of(with(5, "list", Ints{5})), digest_of(with(4, "texts", Texts{"b\xff"}))};
  std::vector<std::string> moved = examples();  // the same values, one of which stands in another row
  for (const auto& [row, list] : {std::pair{0, Ints{1}}, std::pair{1, Ints{2, 3}}})
    moved[row] = with(row, "list", list)[row];
  digests.push_back(digest_of(moved));
  for (const auto& [row, list] : {std::pair{0, Ints{1, 2}}, std::pair{1, Ints{3}}})
    moved[row] = with(row, "list", list)[row];
  digests.push_back(digest_of(moved));
  std::ranges::sort(digests);
  EXPECT_EQ(std::ranges::adjacent_find(digests), digests.end());
}

TEST(FeaturesOfExamples, CountWhatEveryRecordHas) {
  const Folder folder;
  std::vector<std::string> all = examples();
  ASSERT_TRUE(write_records(folder.path() + "/a", {all.begin(), all.begin() + 10}, Compression::gzip).ok());
  all.push_back(encode_example({{"one", Ints{1}}, {"late", Floats{}}, {"x", Ints{1}}}));
  ASSERT_TRUE(write_records(folder.path() + "/b", {all.begin() + 10, all.end()}).ok());
  const auto found = features_of_examples({folder.path() + "/a", folder.path() + "/b"});
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->records, rows + 1);
  std::vector<std::string> lines;
  for (const StoredFeature& each : found->features)
    lines.push_back(each.name + " " + each.kind + " " + std::to_string(each.records) + " " + std::to_string(each.min) +
                    " " + std::to_string(each.max) + (each.text ? " text" : ""));
  EXPECT_EQ(lines, (Texts{"late float 0 0 0", "list int 15 0 2", "one int 24 1 1", "text bytes 23 0 1 text",
                          "texts bytes 17 0 3", "x mixed 24 1 2"}));
}

TEST(FeaturesOfExamples, EveryCutOfARecordIsAnErrorOrAWholeMessage) {
  const Folder folder;
  const std::string whole = examples()[5];
  std::size_t errors = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(write_records(folder.path() + "/a", {whole.substr(0, size)}).ok());
    const auto found = features_of_examples({folder.path() + "/a"});
    if (found.ok()) continue;
    ++errors;
    EXPECT_EQ(found.error().place().record, 0);
  }
  EXPECT_EQ(errors, whole.size() - 1);  // only the empty record is a message
}

}  // namespace
}  // namespace forebay
