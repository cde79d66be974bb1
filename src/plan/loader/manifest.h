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

/// What a data set holds. The places of its faults are in the manifest's own file.
struct Manifest {
  Compression compression = Compression::none;
  bool allow_var_len = false;
  std::vector<ManifestFeature> features;
  std::unordered_map<std::string, std::size_t> index;  ///< Of `features`, by name.

  [[nodiscard]] const ManifestFeature* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
};

/// Checks every rule that does not depend on which features are asked for; fails with all faults.
[[nodiscard]] Result<Manifest> read_manifest(const Json& json);
/// The same, from a file; Code::io when it cannot be read.
[[nodiscard]] Result<Manifest> load_manifest(const std::string& path);

/// What forbids this feature to be loaded, as faults: a shape with unknown dims, a type its storage cannot become.
void check_loadable(const ManifestFeature& feature, std::vector<Error>& faults);

[[nodiscard]] Json manifest_schema();

}  // namespace forebay::plan
