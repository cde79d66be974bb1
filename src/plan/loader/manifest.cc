// SPDX-License-Identifier: Apache-2.0
#include "plan/loader/manifest.h"

#include <algorithm>

#include <fmt/core.h>

#include "config/document.h"
#include "plan/document/faults.h"

#include <forebay/messages.h>

namespace forebay {
namespace plan {
namespace {

/// The top level of a manifest as it is written. The features are read one by one later.
struct ManifestOptions {
  std::optional<std::string> compression;
  bool allow_var_len = false;
  ListOf<ManifestFeature> features;
};

}  // namespace
}  // namespace plan

template <>
struct EnumNames<plan::Stored> {
  static constexpr std::array<std::string_view, 4> names{"int", "float", "string", "raw"};
};

template <>
struct FieldsOf<plan::RawArgs> {
  static const Fields<plan::RawArgs>& get() {
    using plan::RawArgs;
    static const Fields<RawArgs> fields =
        Fields<RawArgs>{}
            .required("endian", &RawArgs::endian, "Byte order of the elements.")
            .field("len", &RawArgs::len, "Byte strings in a record; above 1 they make a first axis. Not with var_len.",
                   {.max = 1'000'000'000});
    return fields;
  }
};

template <>
struct FieldsOf<plan::ManifestFeature> {
  static const Fields<plan::ManifestFeature>& get() {
    using Feature = plan::ManifestFeature;
    static const Fields<Feature> fields =
        Fields<Feature>{}
            .required("name", &Feature::name, "Key in the records.")
            .required("dtype", &Feature::dtype, "Type of the tensor; what is stored is cast to it.")
            .required("shape", &Feature::shape, "Of a record, or of one time step with var_len.")
            .field("var_len", &Feature::var_len,
                   "Whether it is a list of time steps; required when allow_var_len is true.")
            .required("deserialize_type", &Feature::deserialize_type, "How it is stored.")
            .field("deserialize_args", &Feature::deserialize_args, "Options of raw; the others have none.");
    return fields;
  }
};

template <>
struct FieldsOf<plan::ManifestOptions> {
  static const Fields<plan::ManifestOptions>& get() {
    using Options = plan::ManifestOptions;
    static const Fields<Options> fields =
        Fields<Options>{}
            .required("compression", &Options::compression, "Of every data file: null, GZIP, ZLIB or ZSTD in any case.")
            .required("allow_var_len", &Options::allow_var_len, "false: records are Examples; true: SequenceExamples.")
            .required("features", &Options::features, "The features of a record.");
    return fields;
  }
};

namespace plan {
namespace {

void read_compression(const Json& json, Manifest& manifest, Faults& faults) {
  if (!json.is(Json::Kind::string)) return;
  std::string name = json.string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name == "gzip") {
    manifest.compression = Compression::gzip;
  } else if (name == "zlib") {
    manifest.compression = Compression::zlib;
  } else if (name == "zstd") {
    manifest.compression = Compression::zstd;
  } else if (name == "bzip2") {
    manifest.compression = Compression::bzip2;
  } else if (name == "xz") {
    manifest.compression = Compression::xz;
  } else {
    fault_value(
        json, fmt::format("must be null, GZIP, ZLIB, ZSTD, BZIP2 or XZ (in any case), found {}", quote(json.string())),
        faults);
  }
}

void check_var_len(const ManifestFeature& feature, const Json& json, const Json* allowed, Faults& faults) {
  if (allowed == nullptr || !allowed->is(Json::Kind::boolean)) return;
  const Json* given = json.find("var_len");
  if (allowed->boolean() && given == nullptr) {
    complain(json,
             fmt::format("missing required option 'var_len' of feature '{}': allow_var_len is true", feature.name),
             faults);
  } else if (!allowed->boolean() && feature.var_len) {
    complain(*given,
             fmt::format("feature '{}': var_len is true, but allow_var_len of the manifest is false", feature.name),
             faults);
  }
}

void read_args(ManifestFeature& feature, const Json& json, Faults& faults) {
  const Json* given = json.find("deserialize_args");
  if (feature.deserialize_type != Stored::raw) {
    if (given == nullptr || given->members().empty()) return;
    complain(*given,
             fmt::format("feature '{}': deserialize_args must be empty for deserialize_type '{}', found option '{}'",
                         feature.name, EnumNames<Stored>::names[static_cast<std::size_t>(feature.deserialize_type)],
                         given->members().front().first),
             faults);
    return;
  }
  if (given == nullptr) {
    complain(
        json,
        fmt::format("missing required option 'deserialize_args' of feature '{}': raw numbers need their byte order, "
                    "{{\"endian\": \"little\"}} or {{\"endian\": \"big\"}}",
                    feature.name),
        faults);
    return;
  }
  if (auto raw = JsonCodec<RawArgs>::read(*given, faults)) feature.raw = *raw;
  if (const Json* len = given->find("len"); len != nullptr && feature.var_len) {
    complain(*len, fmt::format("feature '{}': 'len' cannot be given together with var_len", feature.name), faults);
  }
}

}  // namespace

Shape ManifestFeature::row_shape() const {
  std::vector<std::int64_t> dims = shape.dims();
  if (var_len) {
    dims.insert(dims.begin(), unknown_dim);
  } else if (deserialize_type == Stored::raw && raw.len > 1) {
    dims.insert(dims.begin(), raw.len);
  }
  return Shape{std::move(dims)};
}

const ManifestFeature* Manifest::find(const std::string& name) const {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &features[found->second];
}

std::vector<std::string> Manifest::names() const {
  std::vector<std::string> out;
  for (const ManifestFeature& feature : features) out.push_back(feature.name);
  return out;
}

Result<Manifest> read_manifest(const Json& json) {
  Faults faults;
  Manifest manifest;
  static_cast<void>(JsonCodec<ManifestOptions>::read(json, faults));
  if (const Json* compression = json.find("compression")) read_compression(*compression, manifest, faults);
  const Json* allowed = json.find("allow_var_len");
  manifest.allow_var_len = allowed != nullptr && allowed->boolean();
  for (Item<ManifestFeature>& item : read_items<ManifestFeature>(json.find("features"), faults)) {
    ManifestFeature& feature = item.value;
    check_var_len(feature, *item.json, allowed, faults);
    read_args(feature, *item.json, faults);
    if (!manifest.index.emplace(feature.name, manifest.features.size()).second) {
      complain(*item.json->find("name"), fmt::format("feature {} is described twice", quote(feature.name)), faults);
    }
    feature.json = *item.json;
    manifest.features.push_back(std::move(feature));
  }
  if (!faults.empty()) return together(std::move(faults));
  return manifest;
}

Result<Manifest> load_manifest(const std::string& path) {
  FOREBAY_TRY(const Json json, read_document(path, fmt::format("the manifest '{}'", path)));
  return read_manifest(json);
}

void check_loadable(const ManifestFeature& feature, Faults& faults) {
  const auto refuse = [&](const char* key, const std::string& why) {
    const Json* value = feature.json.find(key);
    complain(value != nullptr ? *value : feature.json, fmt::format("feature '{}': {}", feature.name, why), faults);
  };
  if (!feature.shape.known())
    refuse("shape", fmt::format("every size of 'shape' must be 0 or more, found {}",
                                JsonCodec<Shape>::write(feature.shape).text()));
  const bool text = feature.dtype == DType::string;
  const std::string_view type = to_string(feature.dtype);
  switch (feature.deserialize_type) {
    case Stored::integer:
    case Stored::floating:
      if (text) refuse("dtype", "numbers cannot be cast to string");
      if (is_complex(feature.dtype))
        refuse("dtype", fmt::format("numbers cannot be cast to {}; use deserialize_type 'raw' to read bytes", type));
      break;
    case Stored::string:
      if (!text)
        refuse("dtype",
               fmt::format("a string cannot be cast to {}; use deserialize_type 'raw' to read bytes as numbers", type));
      break;
    case Stored::raw:
      if (text) refuse("dtype", "raw bytes are numbers; use deserialize_type 'string' to keep them as they are");
      break;
  }
}

Json manifest_schema() { return JsonCodec<ManifestOptions>::schema(); }

}  // namespace plan
}  // namespace forebay
