// SPDX-License-Identifier: Apache-2.0
#include "decoders/record_decoder.h"

namespace forebay::decoders {
namespace {

Result<Bound<Decoder>> bind(const ExampleFeatures& options, const std::vector<std::string>& wanted) {
  std::vector<Error> faults;
  Schema out;
  FeaturePlan plan = plan_features(options.features, Role::example, wanted, out, faults);
  if (options.features.empty()) {
    faults.emplace_back(Code::config, Detail::invalid_argument, "`features` must name at least one feature");
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return Bound<Decoder>{.op = std::make_unique<ExampleDecoder>(std::move(plan), Path::fast), .out = std::move(out)};
}

}  // namespace

DecoderType example() {
  return describe<DecoderType, ExampleFeatures>(
             "example", "Decodes tf.train.Example messages, one tensor per feature; only features in use are read.",
             bind)
      .required("features", &ExampleFeatures::features,
                "The tensors by name, each with kind, dtype, shape and how it is stored.")
      .example(
          {.options =
               R"({"features": {"x": {"dtype": "float32", "shape": [2]}, "y": {"dtype": "int64", "default": -1}}})",
           .in = R"([{"x": [0.5, 1.5], "y": [7]}, {"x": [2.5, 3.0]}])",
           .out = R"({"x": [[0.5, 1.5], [2.5, 3.0]], "y": [7, -1]})"})
      .example({.options =
                    R"({"features": {"v": {"kind": "var_len", "dtype": "int32"}, "w": {"kind": "var_len",
                   "dtype": "string", "as": "sparse"}}})",
                .in = R"([{"v": [3, 4], "w": ["a"]}, {}, {"v": [5], "w": ["b", "c"]}])",
                .out = R"({"v": [[3, 4], [], [5]],
                           "w": {"indices": [[0, 0], [2, 0], [2, 1]], "values": ["a", "b", "c"], "dense_shape": [3, 2]}})"})
      .example({.options =
                    R"({"features": {"s": {"kind": "sparse", "dtype": "string", "index_key": "i", "value_key": "v",
                   "size": 13}}})",
                .in = R"([{"i": [0, 3], "v": ["a", "b"]}, {"i": [7, 1], "v": ["c", "d"]}])",
                .out =
                    R"({"s": {"indices": [[0, 0], [0, 3], [1, 1], [1, 7]], "values": ["a", "b", "d", "c"],
                   "dense_shape": [2, 13]}})"})
      .example({.options =
                    R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v",
                   "partitions": [["row_splits", "s"]]}}})",
                .in = R"([{"v": [3, 1, 4, 1, 5, 9], "s": [0, 2, 3, 3, 6]}])",
                .out = R"({"r": [[[3, 1], [4], [], [1, 5, 9]]]})"})
      .example(
          {.options = R"({"features": {"p": {"kind": "raw", "dtype": "uint8", "shape": [3], "endian": "little"}}})",
           .in = R"([{"p": ["abc"]}])",
           .out = R"({"p": [[97, 98, 99]]})"});
}

}  // namespace forebay::decoders
