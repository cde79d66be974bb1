// SPDX-License-Identifier: Apache-2.0
#include "plan/loader/manifest.h"

#include <gtest/gtest.h>

#include "tests/plan/documents.h"

namespace forebay::plan {
namespace {

using Messages = std::vector<std::string>;

Messages messages(const Result<Manifest>& manifest) {
  Messages out;
  if (manifest.ok()) return out;
  for (const Error& fault : manifest.error().faults()) out.push_back(fault.place().pointer + ": " + fault.message());
  if (out.empty()) out.push_back(manifest.error().place().pointer + ": " + manifest.error().message());
  return out;
}

Messages messages_of(const std::string& text) { return messages(read_manifest(testing::parse(text))); }

std::string with_feature(const std::string& feature, const std::string& allow_var_len = "false") {
  return R"({"compression": null, "allow_var_len": )" + allow_var_len + R"(, "features": [)" + feature + "]}";
}

TEST(Manifest, CompressionIsReadInAnyCase) {
  const auto manifest =
      read_manifest(testing::parse(R"({"compression": "GziP", "allow_var_len": false, "features": []})"));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->compression, Compression::gzip);
}

TEST(Manifest, AllFaultsAreReportedUnknownKeysBeforeMissingOnes) {
  EXPECT_EQ(messages_of(R"({"compresion": null, "features": [{"name": "x", "dtype": "int63"}]})"),
            (Messages{
                ": missing required option 'compression'",
                ": missing required option 'allow_var_len'",
                "/compresion: unexpected option 'compresion'; did you mean 'compression'? known here: compression, "
                "allow_var_len, features",
                "/features/0: missing required option 'shape'",
                "/features/0: missing required option 'deserialize_type'",
                "/features/0/dtype: 'dtype' must be one of: bool, int8, int16, int32, int64, uint8, uint16, uint32, "
                "uint64, float16, bfloat16, float32, float64, complex64, complex128, string; found 'int63'; did you "
                "mean 'int64'?",
            }));
}

TEST(Manifest, VarLenMustBeSaidWhenItIsAllowed) {
  EXPECT_EQ(
      messages_of(with_feature(R"({"name": "x", "dtype": "int64", "shape": [], "deserialize_type": "int"})", "true")),
      (Messages{"/features/0: missing required option 'var_len' of feature 'x': allow_var_len is true"}));
}

TEST(Manifest, VarLenMustBeAllowed) {
  EXPECT_EQ(
      messages_of(
          with_feature(R"({"name": "x", "dtype": "int64", "shape": [], "deserialize_type": "int", "var_len": true})")),
      (Messages{"/features/0/var_len: feature 'x': var_len is true, but allow_var_len of the manifest is false"}));
}

TEST(Manifest, OnlyRawTakesArguments) {
  EXPECT_EQ(messages_of(with_feature(
                R"({"name": "x", "dtype": "int64", "shape": [], "deserialize_type": "int",
              "deserialize_args": {"len": 2}})")),
            (Messages{"/features/0/deserialize_args: feature 'x': deserialize_args must be empty for deserialize_type "
                      "'int', found option 'len'"}));
}

TEST(Manifest, RawNeedsItsByteOrder) {
  EXPECT_EQ(
      messages_of(with_feature(R"({"name": "x", "dtype": "int16", "shape": [2], "deserialize_type": "raw"})")),
      (Messages{"/features/0: missing required option 'deserialize_args' of feature 'x': raw numbers need their byte "
                "order, {\"endian\": \"little\"} or {\"endian\": \"big\"}"}));
}

TEST(Manifest, RawLenCannotBeNull) {
  EXPECT_EQ(messages_of(with_feature(R"({"name": "x", "dtype": "int16", "shape": [2], "deserialize_type": "raw",
                                         "deserialize_args": {"endian": "big", "len": null}})")),
            (Messages{"/features/0/deserialize_args/len: 'len' has the wrong type: expected an integer, found null"}));
}

TEST(Manifest, RawLenAndVarLenExcludeEachOther) {
  EXPECT_EQ(messages_of(with_feature(R"({"name": "x", "dtype": "int16", "shape": [2], "var_len": true,
                                         "deserialize_type": "raw", "deserialize_args": {"endian": "big", "len": 2}})",
                                     "true")),
            (Messages{"/features/0/deserialize_args/len: feature 'x': 'len' cannot be given together with var_len"}));
}

TEST(Manifest, NoFeatureIsDescribedTwice) {
  const std::string x = R"({"name": "x", "dtype": "int64", "shape": [], "deserialize_type": "int"})";
  EXPECT_EQ(messages_of(with_feature(x + "," + x)), (Messages{"/features/1/name: feature 'x' is described twice"}));
}

TEST(Manifest, SeveralByteStringsMakeAFirstAxis) {
  const auto manifest = read_manifest(testing::parse(with_feature(
      R"({"name": "x", "dtype": "uint8", "shape": [3], "deserialize_type": "raw",
          "deserialize_args": {"endian": "big", "len": 2}})")));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->features[0].row_shape(), (Shape{2, 3}));
}

TEST(Manifest, WhatCannotBeCastIsRefusedOnceItIsAskedFor) {
  const auto manifest = read_manifest(
      testing::parse(with_feature(R"({"name": "x", "dtype": "int32", "shape": [-1], "deserialize_type": "string"})")));
  ASSERT_TRUE(manifest.ok());
  std::vector<Error> faults;
  check_loadable(manifest->features[0], faults);
  EXPECT_EQ(messages(Error::all(faults)),
            (Messages{"/features/0/shape: feature 'x': every size of 'shape' must be 0 or more, found [-1]",
                      "/features/0/dtype: feature 'x': a string cannot be cast to int32; use deserialize_type 'raw' to "
                      "read bytes as numbers"}));
}

}  // namespace
}  // namespace forebay::plan
