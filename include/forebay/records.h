// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <forebay/error.h>
#include <forebay/plugin.h>

/// Whole-file tools: for tests, conversions and small jobs; a training job uses a Pipeline.
namespace forebay {

/// Every record of a TFRecord file, checksums verified.
[[nodiscard]] Result<std::vector<std::string>> read_records(const std::string& path,
                                                            Compression compression = Compression::automatic);
/// Writes a TFRecord file, replacing what was there only when complete.
[[nodiscard]] Result<void> write_records(const std::string& path, const std::vector<std::string>& records,
                                         Compression compression = Compression::none);

using FeatureValue =
    std::variant<std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>, std::monostate>;
/// A tf.train.Example by feature name; monostate is a feature without a kind.
using ExampleMap = std::map<std::string, FeatureValue>;
[[nodiscard]] std::string encode_example(const ExampleMap& features);  ///< Packed lists, keys sorted.
[[nodiscard]] Result<ExampleMap> decode_example(std::string_view message);

}  // namespace forebay
