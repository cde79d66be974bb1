// SPDX-License-Identifier: Apache-2.0
#include "plan/loader/lower.h"

#include <algorithm>

#include <fmt/core.h>

#include "plan/document/names.h"
#include "plan/loader/constants.h"

namespace forebay::plan {
namespace {

Json from(const Json& origin, Json value) {
  value.mark(origin.place());
  return value;
}

/// Returns an empty object with the place of `origin`.
Json object_at(const Json& origin) { return from(origin, Json::object()); }

Json stage(const Json& origin, const char* plugin, Json options) {
  Json out = object_at(origin);
  out.set(plugin, std::move(options));
  return out;
}

/// Copies the given options of `source` to `out`, under the plug-in's names for them.
void copy(const Json* source, std::initializer_list<std::pair<const char*, const char*>> keys, Json& out) {
  if (source == nullptr) return;
  for (const auto& [from_key, to_key] : keys) {
    if (const Json* value = source->find(from_key)) out.set(to_key, *value);
  }
}

/// Translates a checked loader document into a pipeline document. Values carry the places of their origins, which
/// messages name. Lives for one call on the caller's thread.
class Lowerer {
 public:
  explicit Lowerer(const CheckedLoader& loader) : loader_{loader}, args_{*loader.json} {}

  Json run() {
    Json out = Json::object();
    out.set("source", source());
    out.set("decode", decode());
    out.set("steps", steps());
    out.set("epochs", *args_.find("epochs"));
    out.set("prefetch", *args_.find("num_prefetch"));
    if (loader_.args.shuffle && loader_.args.sloppy_interleave) {
      out.set("deterministic", from(*args_.find("sloppy_interleave"), Json{false}));
    }
    out.set("inputs", names(loader_.inputs));
    out.set("targets", names(loader_.targets));
    return out;
  }

 private:
  static Json names(const std::vector<std::string>& list) {
    std::vector<Json> items;
    for (const std::string& name : list) items.emplace_back(name);
    return Json::array(std::move(items));
  }

  Json source() {
    const Json& dataset = *args_.find("dataset");
    std::vector<Json> files;
    for (const std::string& path : loader_.files) files.push_back(from(dataset, Json{literal(path)}));
    Json options = object_at(dataset);
    options.set("files", from(dataset, Json::array(std::move(files))));
    options.set("compression", from(dataset, JsonCodec<Compression>::write(loader_.manifest.compression)));
    return stage(dataset, "tfrecord", std::move(options));
  }

  Json decode() {
    const Json& list = *args_.find("primary_features");
    Json features = object_at(list);
    Json sequences = object_at(list);
    for (const auto& [primary, json] : loader_.primaries) {
      const ManifestFeature& found = *loader_.manifest.find(primary.from_name);
      (found.var_len ? sequences : features).set(primary.to_name, feature(found, *json));
    }
    Json options = object_at(list);
    if (!loader_.manifest.allow_var_len) {
      options.set("features", std::move(features));
      return stage(list, "example", std::move(options));
    }
    options.set("context", std::move(features));
    options.set("lists", std::move(sequences));
    return stage(list, "sequence_example", std::move(options));
  }

  static Json feature(const ManifestFeature& found, const Json& primary) {
    const bool raw = found.deserialize_type == Stored::raw;
    Json out = object_at(primary);
    out.set("kind", from(found.json, Json{raw ? "raw" : found.var_len ? "fixed_len_sequence" : "fixed_len"}));
    out.set("key", *primary.find("from_name"));
    out.set("dtype", *found.json.find("dtype"));
    out.set("shape", *found.json.find("shape"));
    const Json& type = *found.json.find("deserialize_type");
    switch (found.deserialize_type) {
      case Stored::integer:
        out.set("stored", from(type, Json{"int"}));
        break;
      case Stored::floating:
        out.set("stored", from(type, Json{"float"}));
        break;
      case Stored::string:
        out.set("stored", from(type, Json{"bytes"}));
        break;
      case Stored::raw:
        copy(found.json.find("deserialize_args"), {{"endian", "endian"}}, out);
        if (found.raw.len > 1) copy(found.json.find("deserialize_args"), {{"len", "len"}}, out);
        break;
    }
    return out;
  }

  /// Steps act on records; of a loader with windows, they stand before the windows, whose order is shuffled.
  Json steps() {
    const bool windows = loader_.document.type != LoaderType::independent;
    std::vector<Json> out;
    if (loader_.args.shuffle) out.push_back(shuffle("num_filenames_shuffle_buffer"));
    if (!windows) add_order(out);
    for (const auto& [feature, json] : loader_.secondaries) out.push_back(constant(feature, *json));
    for (const auto& [step, json] : loader_.steps) out.push_back(processing(step, *json));
    if (windows) out.push_back(windows_of_files());
    if (windows) add_order(out);
    // Before the batch a row has its true length; after it the padding counts (D9).
    add_normalization(out, false);
    out.push_back(batch());
    add_normalization(out, true);
    return Json::array(std::move(out));
  }

  void add_normalization(std::vector<Json>& out, bool include_padding) {
    for (const auto& [item, json] : loader_.normalization) {
      if (item.include_padding != include_padding) continue;
      Json options = object_at(*json);
      copy(json, {{"tensor", "tensor"}, {"axis", "axis"}}, options);
      out.push_back(stage(*json, "normalize", std::move(options)));
    }
  }

  Json shuffle(const char* key) {
    const Json& buffer = *args_.find(key);
    Json options = object_at(buffer);
    options.set("buffer", buffer);
    return stage(buffer, "shuffle", std::move(options));
  }

  void add_order(std::vector<Json>& out) {
    if (!loader_.args.shuffle) return;
    const Json& mix = *args_.find("num_mix_files");
    Json options = object_at(mix);
    options.set("cycle", mix);
    options.set("block", from(mix, Json{1}));
    options.set("sloppy", from(mix, Json{loader_.args.sloppy_interleave}));
    out.push_back(stage(mix, "interleave", std::move(options)));
    out.push_back(shuffle("num_shuffle_buffer_elements"));
  }

  /// The windows: every tensor is joined along its first axis.
  Json windows_of_files() {
    std::vector<Json> keys;
    for (const auto& [feature, json] : loader_.primaries) keys.push_back(*json->find("to_name"));
    for (const auto& [feature, json] : loader_.secondaries) keys.push_back(*json->find("to_name"));
    Json options = object_at(args_);
    options.set("keys", from(args_, Json::array(std::move(keys))));
    copy(&args_,
         {{"min_window", "min_window"},
          {"max_window", "max_window"},
          {"stride", "stride"},
          {"min_stride", "min_stride"},
          {"max_stride", "max_stride"},
          {"window_draw", "window_draw"},
          {"last_window", "tail"}},
         options);
    const bool continuous = loader_.document.type == LoaderType::continuous_sequence;
    return stage(args_, continuous ? "continuous" : "discrete", std::move(options));
  }

  [[nodiscard]] std::vector<std::string> primary_names() const {
    std::vector<std::string> out;
    for (const auto& [primary, json] : loader_.primaries) out.push_back(primary.to_name);
    return out;
  }

  [[nodiscard]] const ManifestFeature& manifest_feature(const std::string& to_name) const {
    const auto found = std::find_if(loader_.primaries.begin(), loader_.primaries.end(),
                                    [&](const Item<PrimaryFeature>& item) { return item.value.to_name == to_name; });
    return *loader_.manifest.find(found->value.from_name);
  }

  /// Makes a constant step. Replaces a shape or dtype that is taken from a primary by its value, if all records share
  /// it.
  Json constant(const SecondaryFeature& feature, const Json& json) {
    const auto primaries = primary_names();
    const Constant constant = read_constant(feature, json, primaries);
    const bool copied = contains(primaries, constant.dtype);
    const std::string dtype = copied ? std::string{to_string(manifest_feature(constant.dtype).dtype)} : constant.dtype;
    const Json& args = *json.find("args");
    Json options = object_at(args);
    options.set("tensor", *json.find("to_name"));
    Json shape;
    if (const auto* name = std::get_if<std::string>(&constant.shape)) {
      const Shape known = manifest_feature(*name).row_shape();
      shape = known.known() ? JsonCodec<Shape>::write(known) : Json{*name};
    } else {
      shape = JsonCodec<Shape>::write(std::get<Shape>(constant.shape));
    }
    options.set("shape", from(*args.find("shape"), std::move(shape)));
    options.set("dtype", from(*args.find("dtype"), Json{dtype}));
    const Json* value = args.find("value");
    if (!constant.value.is(Json::Kind::null))
      options.set("value", value != nullptr ? *value : from(args, constant.value));
    return stage(json, "constant", std::move(options));
  }

  static Json processing(const ProcessingStep& step, const Json& json) {
    Json options = object_at(json);
    options.set("tensor", *json.find("tensor"));
    copy(json.find("args"), {{"slice", "slice"}, {"depth", "depth"}, {"dtype", "dtype"}, {"shape", "shape"}}, options);
    static constexpr std::array<const char*, 3> plugins{"slice", "one_hot", "reshape"};
    return stage(json, plugins[static_cast<std::size_t>(step.type)], std::move(options));
  }

  Json batch() {
    const Json& size = *args_.find("target_batch_size");
    Json options = object_at(size);
    options.set("size", size);
    options.set("remainder", from(*args_.find("drop_remainder"), Json{loader_.args.drop_remainder ? "drop" : "keep"}));
    if (loader_.pads) {
      options.set("pad", *args_.find("padding"));
    } else {
      options.set("require_equal", from(size, Json{true}));
    }
    return stage(size, "batch", std::move(options));
  }

  const CheckedLoader& loader_;
  const Json& args_;
};

}  // namespace

Json lower(const CheckedLoader& loader) { return Lowerer{loader}.run(); }

bool has_wildcards(std::string_view path) {
  return std::any_of(path.begin(), path.end(), [](char c) { return c == '*' || c == '?' || c == '['; });
}

std::string literal(std::string_view path) {
  if (!has_wildcards(path)) return std::string{path};
  std::string out;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

Error in_loader_words(const Error& error, const CheckedLoader& loader) {
  Faults faults;
  keep(error, faults);
  for (Error& fault : faults) {
    for (const auto& [step, json] : loader.steps) {
      const std::string& pointer = json->place().pointer;
      const std::string& where = fault.place().pointer;
      if (where != pointer && !where.starts_with(pointer + "/")) continue;
      fault = fault.at(
          fmt::format("processing step '{}'", EnumNames<ProcessingType>::names[static_cast<std::size_t>(step.type)]));
      break;
    }
  }
  return together(std::move(faults));
}

}  // namespace forebay::plan
