// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <forebay/decoders/example.h>
#include <forebay/describe.h>
#include <forebay/plugin.h>

#include "plan/document/deferred_json.h"

namespace forebay::plan {

/// How the values of a feature lie in a record.
enum class Stored : std::uint8_t { integer, floating, string, raw };

/// How the bytes of a raw feature are read.
struct RawArgs {
  Endian endian = Endian::little;
  std::int64_t len = 1;  ///< Byte strings in a record; above 1 they make a first axis.
};

/// One feature of a data set, as its manifest describes it.
struct ManifestFeature {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  bool var_len = false;
  Stored deserialize_type = Stored::integer;
  OneOf<RawArgs> deserialize_args;
  RawArgs raw = {};  ///< Read from deserialize_args.
  Json json = {};    ///< As written, with its place.

  [[nodiscard]] Shape row_shape() const;  ///< Of one record: unknown first dim when var_len, [len] first when raw.
};

/// The features of a data set. Places of faults are in the manifest's own file.
struct Manifest {
  Compression compression = Compression::none;
  bool allow_var_len = false;
  std::vector<ManifestFeature> features;
  std::unordered_map<std::string, std::size_t> index;  ///< Of `features`, by name.

  [[nodiscard]] const ManifestFeature* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
};

/// Reads a manifest and checks all rules but those of `check_loadable`. On failure one error holds all faults.
[[nodiscard]] Result<Manifest> read_manifest(const Json& json);
/// The same from a file. Fails with Code::io when the file cannot be read.
[[nodiscard]] Result<Manifest> load_manifest(const std::string& path);

/// Adds faults when the feature cannot be loaded: unknown dims, or a type that the stored values cannot become.
void check_loadable(const ManifestFeature& feature, std::vector<Error>& faults);

[[nodiscard]] Json manifest_schema();

}  // namespace forebay::plan
