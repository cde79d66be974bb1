// SPDX-License-Identifier: Apache-2.0
// Tests of typed features, their JSON form, and the options of each kind.
#include <forebay/decoders/example.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using ::testing::ElementsAre;
using Codec = JsonCodec<ExampleFeature>;

/// The options that are not left out or at their default.
std::string said(const ExampleFeature& feature) {
  Json out = Json::object();
  const Json defaults = Codec::write(ExampleFeature{});
  const Json written = Codec::write(feature);
  for (const auto& [name, value] : written.members()) {
    if (!(*defaults.find(name) == value)) out.set(name, value);
  }
  return out.text();
}

TEST(TypedFeature, IsTheDocumentThatSaysTheSame) {
  EXPECT_EQ(said(FixedLenFeature{.shape = {2}, .default_value = std::vector<double>{0.5, 1}, .key = "k"}),
            R"({"key":"k","shape":[2],"default":[0.5,1.0]})");
  EXPECT_EQ(said(FixedLenFeature{.dtype = DType::string, .default_value = "none"}),
            R"({"dtype":"string","default":"none"})");
  EXPECT_EQ(said(VarLenFeature{.dtype = DType::int32, .stored = StoredAs::int_, .as = Delivery::sparse}),
            R"({"kind":"var_len","dtype":"int32","stored":"int","as":"sparse"})");
  EXPECT_EQ(said(FixedLenSequenceFeature{.default_value = -1, .allow_missing = true}),
            R"({"kind":"fixed_len_sequence","default":-1,"allow_missing":true})");
  EXPECT_EQ(said(SparseFeature{.index_key = {"i"}, .value_key = "v", .size = {13}}),
            R"({"kind":"sparse","index_key":"i","value_key":"v","size":13})");
  EXPECT_EQ(said(SparseFeature{.index_key = {"i", "j"}, .value_key = "v", .size = {2, 3}, .already_sorted = true}),
            R"({"kind":"sparse","index_key":["i","j"],"value_key":"v","size":[2,3],"already_sorted":true})");
  EXPECT_EQ(said(RaggedFeature{.partitions = {{.kind = PartitionKind::row_splits, .key = "s"},
                                              {.kind = PartitionKind::uniform_row_length, .length = 2}}}),
            R"({"kind":"ragged","partitions":[["row_splits","s"],["uniform_row_length",2]]})");
  EXPECT_EQ(said(RawFeature{.dtype = DType::uint8, .shape = {3}, .endian = Endian::little, .len = 2}),
            R"({"kind":"raw","dtype":"uint8","shape":[3],"endian":"little","len":2})");
}

TEST(TypedFeature, IsReadBackFromItsDocument) {
  const std::vector<ExampleFeature> features{
      FixedLenFeature{.dtype = DType::int64, .shape = {2}, .default_value = std::vector<std::int64_t>{1, 2}},
      FixedLenFeature{.dtype = DType::boolean, .default_value = true},
      FixedLenFeature{.dtype = DType::string, .shape = {1}, .default_value = std::vector<std::string>{"a"}},
      SparseFeature{.index_key = {"i", "j"}, .value_key = "v", .size = {2, 3}},
      RaggedFeature{.partitions = {{.kind = PartitionKind::value_rowids, .key = "r"}}, .validate = false},
      RawFeature{.endian = Endian::big, .fixed_length = 4}};
  for (const ExampleFeature& feature : features) {
    std::vector<Error> faults;
    const auto again = Codec::read(Codec::write(feature), faults);
    ASSERT_TRUE(again && faults.empty() && again->faults.empty());
    EXPECT_EQ(said(*again), said(feature));
  }
}

TEST(TypedFeature, OptionsOfAnotherKindAreItsFaults) {
  const auto json = parse_json(R"({"kind": "var_len", "dtype": "int64", "endian": "little", "size": 3})");
  std::vector<Error> faults;
  const auto feature = Codec::read(*json, faults);
  ASSERT_TRUE(feature && faults.empty());
  std::vector<std::string> messages;
  for (const Error& fault : feature->faults) messages.push_back(fault.message());
  EXPECT_THAT(messages,
              ElementsAre("'size' is only for sparse, not for var_len", "'endian' is only for raw, not for var_len"));
}

TEST(FeatureKinds, HaveTheirOwnOptionsAndDocs) {
  std::vector<std::string> lines;
  for (const Description& kind : feature_kinds()) {
    std::string line = kind.name + ":";
    for (const FieldInfo& field : kind.fields) line += " " + field.name + (field.required ? "!" : "");
    lines.push_back(std::move(line));
  }
  EXPECT_THAT(lines, ElementsAre("fixed_len: key dtype! shape default stored as allow_missing",
                                 "var_len: key dtype! stored as allow_missing",
                                 "fixed_len_sequence: key dtype! shape default stored as allow_missing",
                                 "sparse: dtype! stored index_key! value_key! size! already_sorted",
                                 "ragged: dtype! stored value_key partitions row_splits_dtype validate allow_missing",
                                 "raw: key dtype! shape as endian! len fixed_length allow_missing"));
  const std::vector<Description> kinds = feature_kinds();
  EXPECT_EQ(kinds[4].fields[2].doc, "Key of the values; the tensor's name when left out.");
  EXPECT_EQ(kinds[3].fields[3].doc, "Key of the values.");
}

}  // namespace
}  // namespace forebay
