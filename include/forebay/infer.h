// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <forebay/json.h>

/// Schemas guessed from records.
namespace forebay {

/// What the records of a file have in common.
struct InferredManifest {
  Json manifest;                      ///< A manifest document with every feature that a manifest can describe.
  std::vector<std::string> left_out;  ///< For each feature that a manifest cannot describe one sentence that says why.
  std::int64_t records = 0;           ///< Records that were read.
};

/// Reads up to `records` records of a TFRecord file of Examples and describes them. `stop` is asked for every record
/// and every block of the file. Fails with Code::data when the records are no Examples or there are none, with
/// Code::cancelled when `stop` says true, else as `each_record` does.
[[nodiscard]] Result<InferredManifest> infer_manifest(const std::string& path, std::int64_t records = 1000,
                                                      const std::function<bool()>& stop = {});

}  // namespace forebay
