// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/loader/lower.h"
#include "tests/plan/documents.h"

namespace forebay {
namespace {

using testing::faults;
using Faults = std::vector<std::string>;

constexpr const char* plain_manifest = R"({"compression": "gzip", "allow_var_len": false, "features": [
  {"name": "image", "dtype": "float32", "shape": [2, 3], "deserialize_type": "float"},
  {"name": "class", "dtype": "int32", "shape": [], "deserialize_type": "int"},
  {"name": "code", "dtype": "int16", "shape": [2], "deserialize_type": "raw",
   "deserialize_args": {"endian": "big", "len": 3}}]})";

constexpr const char* sequence_manifest = R"({"compression": null, "allow_var_len": true, "features": [
  {"name": "id", "dtype": "int64", "shape": [], "deserialize_type": "int", "var_len": false},
  {"name": "word", "dtype": "string", "shape": [], "deserialize_type": "string", "var_len": true}]})";

/// A folder with a manifest, one data file and its list.
class LoaderDocument : public ::testing::Test {
 protected:
  LoaderDocument() {
    folder_.write("plain.json", plain_manifest);
    folder_.write("sequence.json", sequence_manifest);
    for (const char* name : {"one.tfrecords", "two [2].tfrecords"}) folder_.write(name, "");
    folder_.write("files.txt", "one.tfrecords\n\n  two [2].tfrecords\n");
  }

  /// A document with these arguments besides the required ones.
  static std::string document(const std::string& args, const std::string& manifest = "plain",
                              const std::string& rest = "") {
    return R"({"type": "independent",
"args": {"dataset": {"type": "list", "args": {"list_file": "files.txt", "manifest_file": ")" +
           manifest + R"(.json"}},
"target_batch_size": 4, "drop_remainder": true, "epochs": 2, "num_read_buffer_bytes": 0, "num_prefetch": 3,
)" + args + "}" +
           rest + "}";
  }

  [[nodiscard]] Faults faults_of(const std::string& text) const { return faults(text, folder_.path()); }

  testing::Folder folder_;
};

TEST_F(LoaderDocument, IsLoweredToAPipelineDocument) {
  const Json json = testing::parse(document(
      R"("primary_features": [{"from_name": "image", "to_name": "x"}, {"from_name": "code", "to_name": "c"}],
"secondary_features": [{"to_name": "mask", "type": "ones", "args": {"shape": "x", "dtype": "c"}},
                       {"to_name": "k", "type": "const", "args": {"shape": "2, 1", "dtype": "string", "value": "-"}}],
"processing_steps": [{"tensor": "x", "type": "slice", "args": {"slice": "[0]"}},
                     {"tensor": "c", "type": "reshape", "args": {"shape": [6]}}],
"shuffle": true, "num_shuffle_buffer_elements": 50, "num_filenames_shuffle_buffer": 5, "num_mix_files": 2,
"padding": [{"tensor": "x", "shape": [4], "value": -1}],
"normalization": [{"tensor": "x", "axis": -1}])",
      "plain", R"(, "targets": ["c"])"));
  const auto loader = plan::read_loader(json, folder_.path());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  Json expected = testing::parse(R"({
    "source": {"tfrecord": {"files": ["DIR/one.tfrecords", "DIR/two \\[2].tfrecords"], "compression": "gzip"}},
    "decode": {"example": {"features": {
      "x": {"kind": "fixed_len", "key": "image", "dtype": "float32", "shape": [2, 3], "stored": "float"},
      "c": {"kind": "raw", "key": "code", "dtype": "int16", "shape": [2], "endian": "big", "len": 3}}}},
    "steps": [
      {"shuffle": {"buffer": 5}},
      {"interleave": {"cycle": 2, "block": 1, "sloppy": false}},
      {"shuffle": {"buffer": 50}},
      {"constant": {"tensor": "mask", "shape": [2, 3], "dtype": "int16", "value": 1}},
      {"constant": {"tensor": "k", "shape": [2, 1], "dtype": "string", "value": "-"}},
      {"slice": {"tensor": "x", "slice": "[0]"}},
      {"reshape": {"tensor": "c", "shape": [6]}},
      {"normalize": {"tensor": "x", "axis": -1}},
      {"batch": {"size": 4, "remainder": "drop", "pad": [{"tensor": "x", "shape": [4], "value": -1}]}}],
    "epochs": 2, "prefetch": 3, "inputs": ["x", "mask", "k"], "targets": ["c"]})");
  std::string text = expected.pretty();
  for (std::size_t at = text.find("DIR"); at != std::string::npos; at = text.find("DIR"))
    text.replace(at, 3, folder_.path());
  EXPECT_EQ(plan::lower(*loader).pretty(), text);
}

TEST_F(LoaderDocument, SequencesBecomeContextAndListsAndUnequalRowsAreRefusedWithoutPadding) {
  const Json json = testing::parse(document(
      R"("primary_features": [{"from_name": "word", "to_name": "w"}, {"from_name": "id", "to_name": "i"}],
"secondary_features": [{"to_name": "mask", "type": "ones", "args": {"shape": "w", "dtype": "float32"}}])",
      "sequence"));
  const auto loader = plan::read_loader(json, folder_.path());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const Json lowered = plan::lower(*loader);
  EXPECT_EQ(
      lowered.find("decode")->text(),
      R"({"sequence_example":{"context":{"i":{"kind":"fixed_len","key":"id","dtype":"int64",)"
      R"("shape":[],"stored":"int"}},)"
      R"("lists":{"w":{"kind":"fixed_len_sequence","key":"word","dtype":"string","shape":[],"stored":"bytes"}}}})");
  EXPECT_EQ(lowered.find("steps")->text(), R"([{"constant":{"tensor":"mask","shape":"w","dtype":"float32","value":1}},)"
                                           R"({"batch":{"size":4,"remainder":"drop","require_equal":true}}])");
}

TEST_F(LoaderDocument, ValuesOfTheLoweredDocumentPointToWhatTheyCameFrom) {
  const Json json = testing::parse(document(R"("primary_features": [{"from_name": "image", "to_name": "x"}])"));
  const auto loader = plan::read_loader(json, folder_.path());
  ASSERT_TRUE(loader.ok());
  const Json lowered = plan::lower(*loader);
  const Json& feature = lowered.find("decode")->members()[0].second.find("features")->members()[0].second;
  EXPECT_EQ(feature.find("key")->place().pointer, "/args/primary_features/0/from_name");
  EXPECT_EQ(feature.find("shape")->place().pointer, "/features/0/shape");
  EXPECT_EQ(feature.find("shape")->place().file, folder_.path() + "/plain.json");
}

TEST_F(LoaderDocument, EveryFaultIsNamedWithItsPlaceAndTheNearestName) {
  EXPECT_EQ(
      faults_of(document(R"("primary_features": [{"from_name": "imag", "to_name": "x"}, {"from_name": "class"}],
"processing_steps": [{"tensor": "xx", "type": "slize", "args": {}}],
"padding": [{"tensor": "mask"}], "shufle": true)",
                         "plain", R"(, "inputs": ["x", "y"])")),
      (Faults{
          "4:36 /args/primary_features/0/from_name: the manifest has no feature 'imag'; did you mean 'image'? it has: "
          "image, class, code",
          "4:61 /args/primary_features/1: missing required option 'to_name'",
          "5:47 /args/processing_steps/0/type: 'type' must be one of: slice, onehot, reshape; found 'slize'; did you "
          "mean 'slice'?",
          "6:24 /args/padding/0/tensor: there is no tensor 'mask'; defined here: x",
          "6:44 /args/shufle: unexpected option 'shufle'; did you mean 'shuffle'? known here: name, dataset, "
          "target_batch_size, drop_remainder, epochs, num_parallel_reads, num_parallel_parses, num_read_buffer_bytes, "
          "num_prefetch, shuffle, num_shuffle_buffer_elements, num_filenames_shuffle_buffer, num_mix_files, "
          "sloppy_interleave, num_interleave_out_buffer_elements, num_interleave_in_buffer_elements, primary_features, "
          "secondary_features, processing_steps, padding, normalization, multi_load",
          "6:67 /inputs/1: no feature produces 'y'; did you mean 'x'? produced are: x",
      }));
}

TEST_F(LoaderDocument, ShufflingNeedsItsThreeSizes) {
  EXPECT_EQ(
      faults_of(document(
          R"("shuffle": true, "num_mix_files": 0, "primary_features": [{"from_name": "class", "to_name": "x"}])")),
      (Faults{"2:9 /args: missing required option 'num_shuffle_buffer_elements': shuffle is true",
              "2:9 /args: missing required option 'num_filenames_shuffle_buffer': shuffle is true",
              "4:35 /args/num_mix_files: 'num_mix_files' must be from 1 to 1000000000, found 0"}));
}

TEST_F(LoaderDocument, NamesMustBeUniqueAndWanted) {
  EXPECT_EQ(
      faults_of(document(
          R"("primary_features": [{"from_name": "class", "to_name": "x"}, {"from_name": "image", "to_name": "x"},
{"from_name": "code", "to_name": "y"}])",
          "plain", R"(, "inputs": ["x"])")),
      (Faults{
          "4:96 /args/primary_features/1/to_name: to_name 'x' is used twice; every tensor must have a name of its own",
          "5:34 /args/primary_features/2/to_name: 'y' is not required: it is neither an input nor a target; "
          "did you mean 'x'?"}));
}

TEST_F(LoaderDocument, SecondaryFeaturesSeeOnlyPrimaryOnes) {
  EXPECT_EQ(
      faults_of(document(R"("primary_features": [{"from_name": "class", "to_name": "x"}],
"secondary_features": [{"to_name": "a", "type": "ones", "args": {"shape": [2], "dtype": "int32"}},
{"to_name": "b", "type": "ones", "args": {"shape": "a", "dtype": "int33"}}])")),
      (Faults{"6:52 /args/secondary_features/1/args/shape: 'shape' must be sizes, as [2,3] or \"[2,3]\", or the name "
              "of a primary feature; found 'a'; did you mean 'x'?",
              "6:66 /args/secondary_features/1/args/dtype: 'dtype' must be one of: bool, int8, int16, int32, int64, "
              "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, string; "
              "found 'int33'; did you "
              "mean 'int32'?; the name of a primary feature is allowed too"}));
}

TEST_F(LoaderDocument, MultiLoadExcludesWhatNeedsSingleRecords) {
  EXPECT_EQ(faults_of(document(R"("primary_features": [{"from_name": "image", "to_name": "x"}], "padding": true,
"processing_steps": [{"tensor": "x", "type": "slice", "args": {"slice": "[0]"}}], "multi_load": true)")),
            (Faults{"5:97 /args/multi_load: multi_load cannot be used together with processing_steps",
                    "5:97 /args/multi_load: multi_load cannot be used together with padding"}));
}

TEST_F(LoaderDocument, AMissingManifestIsAnIoErrorThatNamesIt) {
  const std::string text = document(R"("primary_features": [{"from_name": "image", "to_name": "x"}])", "nope");
  const auto plan = Plan::make(testing::parse(text), folder_.path());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::io);
  EXPECT_EQ(faults_of(text), (Faults{"2:90 /args/dataset/args/manifest_file: cannot read the manifest '" +
                                     folder_.path() + "/nope.json': No such file or directory"}));
}

TEST_F(LoaderDocument, AMissingListIsToldWhereTheDocumentNamesIt) {
  std::string text = document(R"("primary_features": [{"from_name": "image", "to_name": "x"}])");
  text.replace(text.find("files.txt"), 9, "lines.txt");
  EXPECT_EQ(faults_of(text), (Faults{"2:60 /args/dataset/args/list_file: cannot open '" + folder_.path() +
                                     "/lines.txt': No such file or directory"}));
}

/// A document of another type of loader.
std::string typed(std::string text, const std::string& type) {
  return text.replace(text.find("independent"), 11, type);
}

TEST_F(LoaderDocument, WindowSizesMustFitEachOther) {
  const std::string text =
      document(R"("primary_features": [{"from_name": "word", "to_name": "x"}], "stride": 2, "min_stride": 3,
"max_stride": 2, "min_window": 4, "max_window": 2)",
               "sequence");
  EXPECT_EQ(faults_of(typed(text, "continuous_sequence")),
            (Faults{"4:72 /args/stride: 'stride' cannot be given together with 'min_stride' and 'max_stride'",
                    "4:89 /args/min_stride: 'min_stride' must not be greater than 'max_stride': found 3 and 2",
                    "5:32 /args/min_window: 'min_window' must not be greater than 'max_window': found 4 and 2"}));
}

TEST_F(LoaderDocument, ContinuousSequencesBecomeWindowsAfterTheStepsAndBeforeTheShuffle) {
  const Json json = testing::parse(typed(document(R"("primary_features": [{"from_name": "word", "to_name": "w"}],
"secondary_features": [{"to_name": "mask", "type": "ones", "args": {"shape": "w", "dtype": "float32"}}],
"processing_steps": [{"tensor": "w", "type": "slice", "args": {"slice": "[1:]"}}],
"normalization": [{"tensor": "mask", "axis": 0}], "padding": true, "min_window": 2, "max_window": 3,
"min_stride": 1, "max_stride": 4, "stride": null, "window_draw": "per_file", "last_window": "keep_if_min",
"shuffle": true, "num_shuffle_buffer_elements": 50, "num_filenames_shuffle_buffer": 5, "num_mix_files": 2)",
                                                  "sequence"),
                                         "continuous_sequence"));
  const auto loader = plan::read_loader(json, folder_.path());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(plan::lower(*loader).find("steps")->text(), testing::parse(R"([
      {"shuffle": {"buffer": 5}},
      {"constant": {"tensor": "mask", "shape": "w", "dtype": "float32", "value": 1}},
      {"slice": {"tensor": "w", "slice": "[1:]"}},
      {"continuous": {"keys": ["w", "mask"], "min_window": 2, "max_window": 3, "stride": null, "min_stride": 1,
                      "max_stride": 4, "window_draw": "per_file", "tail": "keep_if_min"}},
      {"interleave": {"cycle": 2, "block": 1, "sloppy": false}},
      {"shuffle": {"buffer": 50}},
      {"normalize": {"tensor": "mask", "axis": 0}},
      {"batch": {"size": 4, "remainder": "drop", "pad": true}}])")
                                                            .text());
  EXPECT_TRUE(Plan::make(json, folder_.path()).ok());
}

TEST_F(LoaderDocument, DiscreteSequencesBecomeWindowsOfRecords) {
  const std::string text = document(
      R"("primary_features": [{"from_name": "word", "to_name": "w"}], "min_window": 2, "max_window": 3)", "sequence");
  const Json json = testing::parse(typed(text, "discrete_sequence"));
  const auto loader = plan::read_loader(json, folder_.path());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(plan::lower(*loader).find("steps")->text(),
            R"([{"discrete":{"keys":["w"],"min_window":2,"max_window":3}},)"
            R"({"batch":{"size":4,"remainder":"drop","require_equal":true}}])");
  EXPECT_TRUE(Plan::make(json, folder_.path()).ok());
  std::string stride = typed(text, "discrete_sequence");
  const Faults unknown = faults_of(stride.replace(stride.find("max_window"), 10, "max_stride"));
  ASSERT_EQ(unknown.size(), 2U);
  EXPECT_NE(unknown[0].find("missing required option 'max_window'"), std::string::npos) << unknown[0];
  EXPECT_NE(unknown[1].find("unexpected option 'max_stride'"), std::string::npos) << unknown[1];
}

TEST_F(LoaderDocument, ATensorWithoutATimeAxisCannotBeJoined) {
  const std::string text = document(
      R"("primary_features": [{"from_name": "word", "to_name": "w"}, {"from_name": "id", "to_name": "i"}],
"min_window": 2, "max_window": 3)",
      "sequence");
  for (const char* type : {"continuous_sequence", "discrete_sequence"}) {
    EXPECT_EQ(faults_of(typed(text, type)),
              (Faults{"4:92 /args/primary_features/1/to_name: tensor 'i' has the shape [], so it has no time axis to "
                      "cut"}));
  }
}

TEST_F(LoaderDocument, AFaultOfAStepIsToldInTheLoadersWords) {
  EXPECT_EQ(
      faults_of(document(R"("primary_features": [{"from_name": "image", "to_name": "x"}],
"processing_steps": [{"tensor": "x", "type": "onehot", "args": {"depth": 3}}])")),
      (Faults{"5:33 /args/processing_steps/0/tensor: processing step 'onehot': the indices must be int32 or int64; "
              "'x' is float32 (cast it first)"}));
}

}  // namespace
}  // namespace forebay
