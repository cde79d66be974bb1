// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/sequence_example.h>

#include <algorithm>

#include "decoders/lists/sequence_decoder.h"

namespace forebay::decoders {
namespace {

Result<Bound<Decoder>> bind(const SequenceExampleFeatures& options, const std::vector<std::string>& wanted) {
  std::vector<Error> faults;
  Schema out;
  FeaturePlan context = plan_features(options.context, Role::context, wanted, out, faults);
  FeaturePlan lists = plan_features(options.lists, Role::lists, wanted, out, faults);
  if (options.context.empty() && options.lists.empty()) {
    faults.emplace_back(Code::config, Detail::invalid_argument, "`context` and `lists` must name at least one feature");
  }
  for (const auto& [name, feature] : options.lists) {
    const auto same = std::find_if(options.context.begin(), options.context.end(),
                                   [&, &key = name](const auto& entry) { return entry.first == key; });
    if (same == options.context.end()) continue;
    faults.emplace_back(
        Code::config, Detail::invalid_argument,
        "feature '" + name + "' is in `context` and in `lists`; give one of the tensors another name, with `key`",
        Place{.field = {option_of(Role::lists), name}});
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return Bound<Decoder>{.op = std::make_unique<SequenceDecoder>(std::move(context), std::move(lists), Path::fast),
                        .out = std::move(out)};
}

}  // namespace

DecoderType sequence_example() {
  using Options = SequenceExampleFeatures;
  return describe<DecoderType, Options>("sequence_example",
                                        "Decodes tf.train.SequenceExample messages: features of the sequence, and "
                                        "lists with one feature per step.",
                                        bind)
      .field("context", &Options::context,
             "Tensors of the whole sequence by name: kinds fixed_len, var_len, ragged and raw.")
      .field("lists", &Options::lists,
             "Tensors with a time axis by name: kinds fixed_len_sequence, var_len, ragged and raw.")
      .example({.options = R"({"context": {"id": {"dtype": "int64"}},
                               "lists": {"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2]}}})",
                .in =
                    R"([{"context": {"id": [7]}, "lists": {"x": [[0.5, 1.5], [2.5, 3.5]]}}, {"context": {"id": [8]},
                   "lists": {"x": [[4.5, 5.5]]}}])",
                .out = R"({"id": [7, 8], "x": [[[0.5, 1.5], [2.5, 3.5]], [[4.5, 5.5], [0.0, 0.0]]]})"})
      .example({.options = R"({"lists": {"w": {"kind": "var_len", "dtype": "int64"}}})",
                .in = R"([{"lists": {"w": [[1, 2], [], [3]]}}, {}])",
                .out = R"({"w": [[[1, 2], [], [3]], []]})"});
}

}  // namespace forebay::decoders
