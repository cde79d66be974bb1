// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <string>
#include <vector>

#include <forebay/pipeline.h>
#include <forebay/plugins.h>
#include <forebay/rows.h>
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

/// Sequences of 0 to 4 frames: pairs of floats, one integer each, and any number of integers and strings.
std::vector<std::string> sequences() {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < 17; ++i) {
    SequenceExampleMap sequence{.context = {{"id", Ints{i}}},
                                .lists = {{"ids", {}}, {"one", {}}, {"words", {}}, {"x", {}}}};
    if (i % 3 > 0) sequence.context["tags"] = Texts(static_cast<std::size_t>(i % 3), "t");
    for (std::int64_t frame = 0; frame < i % 5; ++frame) {
      sequence.lists["x"].emplace_back(Floats{static_cast<float>(i), 0.5F});
      sequence.lists["one"].emplace_back(Ints{-frame});
      sequence.lists["ids"].emplace_back(Ints(static_cast<std::size_t>((i + frame) % 3), i << (i * 2)));
      sequence.lists["words"].emplace_back(Texts(static_cast<std::size_t>((i + frame) % 4), std::string(140, '\xff')));
    }
    out.push_back(encode_sequence_example(sequence));
  }
  return out;
}

/// The batches of the records in a file. `lists`: of the decoder.
std::vector<Batch> batches_of(const std::string& path, int size, const std::string& lists) {
  auto loader = load(testing::parse(R"({"source": {"tfrecord": {"files": [")" + path + R"("]}},
      "decode": {"sequence_example": {"context": {"id": {"dtype": "int64", "shape": []},
                                                  "tags": {"kind": "var_len", "dtype": "string"}},
                                      "lists": {)" +
                                    lists + R"(}}}, "steps": [{"batch": {"size": )" + std::to_string(size) + "}}]}"),
                     {.threads = 1});
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  std::vector<Batch> out;
  for (const Batch& batch : loader->batches()) out.push_back(batch);
  EXPECT_TRUE(loader->status().ok());
  return out;
}

constexpr const char* all_lists =
    R"("x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2], "as": "ragged"},
    "one": {"kind": "fixed_len_sequence", "dtype": "int64", "shape": [], "as": "ragged"},
    "ids": {"kind": "var_len", "dtype": "int64"}, "words": {"kind": "var_len", "dtype": "string"})";
const std::vector<std::string> names{"ids", "one", "words", "x"};

TEST(WriteSequenceExamples, GivesTheBytesOfEncodeSequenceExample) {
  const Folder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  ASSERT_TRUE(write_records(in, sequences()).ok());
  auto writer = RecordWriter::create(out);
  ASSERT_TRUE(writer.ok());
  for (const Batch& batch : batches_of(in, 5, all_lists))
    ASSERT_TRUE(write_sequence_examples(batch, names, *writer).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(*read_records(out), sequences());
}

TEST(WriteSequenceExamples, NamesTheTensorThatIsNoneOrHasNoFrames) {
  const Folder folder;
  const std::string in = folder.path() + "/in";
  ASSERT_TRUE(write_records(in, sequences()).ok());
  auto writer = RecordWriter::create(folder.path() + "/out");
  const std::vector<Batch> batches = batches_of(in, 5, all_lists);
  const auto refused = [&](const std::vector<std::string>& lists) {
    const auto done = write_sequence_examples(batches.front(), lists, *writer);
    EXPECT_FALSE(done.ok());
    return done.ok() ? std::string{} : done.error().text();
  };
  EXPECT_THAT(refused({"idz"}), HasSubstr("the list 'idz' is no tensor of the batch"));
  EXPECT_THAT(refused({"id", "ids", "words"}), HasSubstr("it has one value a row and so no frames"));
  EXPECT_THAT(refused({"x"}), HasSubstr("its rows have lists in lists, and an Example has one list"));
}

/// The error of writing rows of two values each, with frames of these lengths: two in the first row, one in the other.
std::string fault_of_lengths(const Ints& lengths) {
  const Ints values{1, 2, 3, 4};
  const std::vector<ArrayView> arrays{
      {.name = "x", .dtype = DType::int64, .shape = {4}, .data = values.data(), .row_splits = Ints{0, 2, 4}},
      {.name = "lengths(x)", .dtype = DType::int64, .shape = {3}, .data = lengths.data(), .row_splits = Ints{0, 2, 3}}};
  auto loader = load(testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 2}}]})"),
                     {.threads = 1}, ".", {{"in", *array_rows(arrays, nullptr)}});
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  EXPECT_TRUE(batch.ok() && batch->has_value());
  const Folder folder;
  auto writer = RecordWriter::create(folder.path() + "/out");
  const auto done = write_sequence_examples(**batch, {"x"}, *writer);
  return done.ok() ? "none" : done.error().text();
}

TEST(WriteSequenceExamples, RefusesLengthsOfFramesThatAreNotThoseOfTheirRow) {
  EXPECT_EQ(fault_of_lengths({1, 1, 2}), "none");
  EXPECT_EQ(fault_of_lengths({0, 2, 2}), "none");
  EXPECT_THAT(fault_of_lengths({3, -1, 2}), HasSubstr("row 0 of the batch has 2 values"));
  EXPECT_THAT(fault_of_lengths({-1, 3, 2}), HasSubstr("row 0 of the batch has 2 values"));
  EXPECT_THAT(fault_of_lengths({1, 2, 1}), HasSubstr("row 0 of the batch has 2 values"));
  EXPECT_THAT(fault_of_lengths({1, 1, 1}), HasSubstr("row 1 of the batch has 2 values"));
}

TEST(FeaturesOfExamples, CountTheValuesOfFrames) {
  const Folder folder;
  std::vector<std::string> all = sequences();
  all.push_back(
      encode_sequence_example({.lists = {{"late", {Floats{}, std::monostate{}}}, {"one", {Floats{1}}}, {"none", {}}}}));
  ASSERT_TRUE(write_records(folder.path() + "/a", {all.begin(), all.begin() + 9}, Compression::gzip).ok());
  ASSERT_TRUE(write_records(folder.path() + "/b", {all.begin() + 9, all.end()}).ok());
  const auto found = features_of_examples({folder.path() + "/a", folder.path() + "/b"});
  ASSERT_TRUE(found.ok()) << found.error().text();
  std::vector<std::string> lines;
  for (const StoredFeature& each : found->features)
    lines.push_back(each.name + " " + each.kind + " " + std::to_string(each.records));
  for (const StoredList& each : found->lists)
    lines.push_back(each.name + " " + each.kind + " " + std::to_string(each.frames) + " " + std::to_string(each.min) +
                    " " + std::to_string(each.max) + (each.text ? " text" : ""));
  EXPECT_EQ(lines, (Texts{"id int 17", "tags bytes 11", "ids int 31 0 2", "late float 2 0 0", "none none 0 0 0",
                          "one mixed 32 1 1", "words bytes 31 0 3", "x float 31 2 2"}));
}

TEST(FeaturesOfExamples, EveryCutOfASequenceIsAnErrorOrAWholeMessage) {
  const Folder folder;
  const SequenceExampleMap sequence{.context = {{"id", Ints{7}}},
                                    .lists = {{"ids", {Ints{1, 300}, Ints{}}}, {"w", {Texts{"a"}}}}};
  const std::string whole = encode_sequence_example(sequence);
  const std::size_t context = encode_sequence_example({.context = sequence.context}).size();
  std::vector<std::size_t> messages;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(write_records(folder.path() + "/a", {whole.substr(0, size)}).ok());
    if (features_of_examples({folder.path() + "/a"}).ok()) messages.push_back(size);
  }
  EXPECT_EQ(messages, (std::vector<std::size_t>{0, context}));
}

TEST(RowDigest, ChangesWithAFrameThatMovesToAnotherRow) {
  const Folder folder;
  const auto digest_of = [&](const std::vector<std::vector<FeatureValue>>& all, int size) {
    std::vector<std::string> records;
    for (const auto& frames : all)
      records.push_back(encode_sequence_example({.context = {{"id", Ints{1}}}, .lists = {{"ids", frames}}}));
    EXPECT_TRUE(write_records(folder.path() + "/in", records).ok());
    RowDigest digest;
    for (const Batch& batch :
         batches_of(folder.path() + "/in", size, R"("ids": {"kind": "var_len", "dtype": "int64"})"))
      EXPECT_TRUE(digest.add(batch).ok());
    return digest.text();
  };
  const std::string first = digest_of({{Ints{1}, Ints{2, 3}}, {Ints{}}}, 2);
  EXPECT_EQ(first, digest_of({{Ints{1}, Ints{2, 3}}, {Ints{}}}, 1));
  EXPECT_NE(first, digest_of({{Ints{1}}, {Ints{2, 3}, Ints{}}}, 2));
  EXPECT_NE(first, digest_of({{Ints{1, 2}, Ints{3}}, {Ints{}}}, 2));
  EXPECT_NE(first, digest_of({{Ints{1}, Ints{2, 3}, Ints{}}, {}}, 2));
}

}  // namespace
}  // namespace forebay
