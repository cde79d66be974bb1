// SPDX-License-Identifier: Apache-2.0
#include "plan/loader/loader_document.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_set>

#include <fmt/core.h>

#include "io/paths.h"
#include "plan/loader/constants.h"

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

using Names = std::vector<std::string>;

bool is_true(const Json* json) { return json != nullptr && json->is(Json::Kind::boolean) && json->boolean(); }

/// Reads one document section by section, so that a fault in one section does not hide those in another.
class LoaderReader {
 public:
  LoaderReader(const Json& json, const std::string& folder) : json_{json}, folder_{folder} {}

  Result<CheckedLoader> read() {
    auto document = JsonCodec<LoaderDocument>::read(json_, faults_);
    loader_.json = json_.find("args");
    if (document)
      loader_.document = *document;
    else
      restore_type();
    if (loader_.json != nullptr && loader_.json->is(Json::Kind::object)) read_args();
    if (!faults_.empty()) return together(std::move(faults_));
    return std::move(loader_);
  }

 private:
  /// Reads the type, the inputs and the targets again, each alone, without faults. The allowed options depend on the
  /// type even when another part of the document has a fault.
  void restore_type() {
    Faults ignored;
    Json reduced = Json::object({{"args", Json::object()}});
    if (const Json* type = json_.find("type")) reduced.set("type", *type);
    using List = std::optional<Names>;
    for (auto [key, list] :
         {std::pair{"inputs", &loader_.document.inputs}, std::pair{"targets", &loader_.document.targets}}) {
      const Json* value = json_.find(key);
      if (value != nullptr) *list = JsonCodec<List>::read(*value, ignored).value_or(List{});
    }
    const auto document = JsonCodec<LoaderDocument>::read(reduced, ignored);
    type_known_ = document.has_value();
    if (document) loader_.document.type = document->type;
  }

  void read_args() {
    if (!type_known_) return;
    const Json& args = *loader_.json;
    if (auto read = loader_fields(loader_.document.type).read(args, faults_)) loader_.args = *std::move(read);
    check_shuffle(args);
    check_windows(args);
    read_dataset(args.find("dataset"));
    loader_.primaries = read_items<PrimaryFeature>(args.find("primary_features"), faults_);
    loader_.secondaries = read_items<SecondaryFeature>(args.find("secondary_features"), faults_);
    loader_.steps = read_items<ProcessingStep>(args.find("processing_steps"), faults_);
    loader_.normalization = read_items<Normalization>(args.find("normalization"), faults_);
    check_primaries(args.find("primary_features"));
    check_secondaries();
    check_wanted();
    check_steps();
    check_padding(args.find("padding"));
    check_multi_load(args);
  }

  void check_shuffle(const Json& args) {
    if (!is_true(args.find("shuffle"))) return;
    for (const char* key : {"num_shuffle_buffer_elements", "num_filenames_shuffle_buffer", "num_mix_files"}) {
      const Json* value = args.find(key);
      if (value == nullptr) {
        complain(args, fmt::format("missing required option '{}': shuffle is true", key), faults_);
        continue;
      }
      Faults ignored;  // faults of the type are already reported
      const auto number = read_integer(*value, ignored);
      if (number) static_cast<void>(in_range(*number, Range{.min = 1, .max = 1'000'000'000}, key, *value, faults_));
    }
  }

  std::optional<std::int64_t> number(const Json& args, const char* key) {
    Faults ignored;
    const Json* value = args.find(key);
    return value != nullptr ? read_integer(*value, ignored) : std::nullopt;
  }

  void check_least(const Json& args, const char* least, const char* most) {
    const auto low = number(args, least);
    const auto high = number(args, most);
    if (low && high && *low > *high) {
      fault_value(*args.find(least), fmt::format("must not be greater than '{}': found {} and {}", most, *low, *high),
                  faults_);
    }
  }

  void check_windows(const Json& args) {
    if (loader_.document.type == LoaderType::independent) return;
    check_least(args, "min_window", "max_window");
    if (loader_.document.type != LoaderType::continuous_sequence) return;
    check_least(args, "min_stride", "max_stride");
    const Json* stride = args.find("stride");
    if (stride != nullptr && stride->is(Json::Kind::null)) stride = nullptr;
    const Json* least = args.find("min_stride");
    const Json* most = args.find("max_stride");
    if (stride != nullptr && (least != nullptr || most != nullptr)) {
      fault_value(*stride, "cannot be given together with 'min_stride' and 'max_stride'", faults_);
    } else if ((least == nullptr) != (most == nullptr)) {
      const bool no_min = least == nullptr;
      complain(args,
               fmt::format("missing required option '{}': '{}' is given", no_min ? "min_stride" : "max_stride",
                           no_min ? "max_stride" : "min_stride"),
               faults_);
    }
  }

  /// Returns the value, or adds the faults. A fault without a line in its own file gets the place of the file's name in
  /// the document.
  template <class T>
  std::optional<T> keep_named(Result<T> result, const Json& name) {
    Faults found;
    auto value = keep(std::move(result), found);
    for (const Error& fault : found) {
      const bool placed = fault.place().line > 0;
      faults_.push_back(placed ? fault : Error{fault.code(), fault.detail(), fault.message(), name.place()});
    }
    return value;
  }

  void read_dataset(const Json* json) {
    if (json == nullptr || !json->is(Json::Kind::object)) return;
    const auto dataset = JsonCodec<Dataset>::read(*json, faults_);
    if (!dataset) return;
    const Json& args = *json->find("args");
    std::string manifest;
    const Json* manifest_named = nullptr;
    std::optional<Names> files;
    if (dataset->type == DatasetType::dir) {
      const auto dir = JsonCodec<DirArgs>::read(args, faults_);
      if (!dir) return;
      const std::string data_dir = io::resolve(dir->data_dir, folder_);
      manifest = io::resolve("__manifest__.json", data_dir);
      files = keep_named(io::find_files(data_dir, ".tfrecords"), *args.find("data_dir"));
      if (!files) return;
      manifest_named = args.find("data_dir");
    } else {
      const auto list = JsonCodec<ListArgs>::read(args, faults_);
      if (!list) return;
      manifest = io::resolve(list->manifest_file, folder_);
      files = keep_named(io::read_list(io::resolve(list->list_file, folder_)), *args.find("list_file"));
      manifest_named = args.find("manifest_file");
    }
    auto loaded = keep_named(load_manifest(manifest), *manifest_named);
    if (files) loader_.files = *std::move(files);
    loader_.listed = dataset->type == DatasetType::dir;
    if (!loaded) return;
    loader_.manifest = *std::move(loaded);
    manifest_known_ = true;
  }

  void produce(const std::string& name, const Json& item) {
    if (is_produced_.insert(name).second) {
      produced_.push_back(name);
    } else {
      complain(*item.find("to_name"),
               fmt::format("to_name {} is used twice; every tensor must have a name of its own", quote(name)), faults_);
    }
  }

  void check_primaries(const Json* list) {
    if (list != nullptr && list->is(Json::Kind::array) && list->items().empty()) {
      fault_value(*list, "must name at least one feature", faults_);
    }
    const Names known = loader_.manifest.names();
    for (const auto& [feature, json] : loader_.primaries) {
      if (faults_.size() > max_faults) return;
      produce(feature.to_name, *json);
      primary_names_.push_back(feature.to_name);
      if (!manifest_known_) continue;
      if (const ManifestFeature* found = loader_.manifest.find(feature.from_name)) {
        check_loadable(*found, faults_);
      } else {
        complain(*json->find("from_name"),
                 fmt::format("the manifest has no feature {}{}", quote(feature.from_name),
                             among(feature.from_name, known, "it has")),
                 faults_);
      }
    }
  }

  void check_secondaries() {
    for (const auto& [feature, json] : loader_.secondaries) {
      produce(feature.to_name, *json);
      check_constant(feature, *json, primary_names_, faults_);
    }
  }

  void check_wanted() {
    const auto names = [](const std::optional<Names>& given) { return given.value_or(Names{}); };
    const LoaderDocument& document = loader_.document;
    loader_.targets = names(document.targets);
    loader_.inputs = names(document.inputs);
    check_twice("inputs");
    check_twice("targets");
    if (!document.inputs) {
      const std::unordered_set<std::string> is_target{loader_.targets.begin(), loader_.targets.end()};
      std::copy_if(produced_.begin(), produced_.end(), std::back_inserter(loader_.inputs),
                   [&](const std::string& name) { return !is_target.contains(name); });
    }
    Names wanted = loader_.inputs;
    wanted.insert(wanted.end(), loader_.targets.begin(), loader_.targets.end());
    const std::unordered_set<std::string> is_wanted{wanted.begin(), wanted.end()};
    const auto check = [&](const std::string& name, const Json& item) {
      if (is_wanted.contains(name) || faults_.size() > max_faults) return;
      complain(
          *item.find("to_name"),
          fmt::format("{} is not required: it is neither an input nor a target{}", quote(name), hint(name, wanted)),
          faults_);
    };
    for (const auto& [feature, json] : loader_.primaries) check(feature.to_name, *json);
    for (const auto& [feature, json] : loader_.secondaries) check(feature.to_name, *json);
    check_produced("inputs");
    check_produced("targets");
  }

  void check_twice(const char* key) {
    const Json* list = json_.find(key);
    if (list == nullptr) return;
    std::unordered_set<std::string> seen;
    for (const Json& item : list->items()) {
      if (!item.is(Json::Kind::string) || seen.insert(item.string()).second) continue;
      complain(item, fmt::format("{} is named twice in '{}'", quote(item.string()), key), faults_);
    }
  }

  void check_produced(const char* key) {
    const Json* list = json_.find(key);
    if (list == nullptr) return;
    for (const Json& item : list->items()) {
      if (!item.is(Json::Kind::string) || is_produced_.contains(item.string())) continue;
      if (faults_.size() > max_faults) return;
      const std::string& name = item.string();
      complain(item, fmt::format("no feature produces {}{}", quote(name), among(name, produced_, "produced are")),
               faults_);
    }
  }

  void check_tensor(const std::string& name, const Json& item) {
    if (is_produced_.contains(name)) return;
    complain(*item.find("tensor"),
             fmt::format("there is no tensor {}{}", quote(name), among(name, produced_, "defined here")), faults_);
  }

  void check_steps() {
    for (const auto& [step, json] : loader_.steps) {
      check_tensor(step.tensor, *json);
      const Json none = Json{Json::object()}.mark(json->place());
      const Json& args = json->find("args") != nullptr ? *json->find("args") : none;
      if (step.type == ProcessingType::slice) static_cast<void>(JsonCodec<SliceArgs>::read(args, faults_));
      if (step.type == ProcessingType::onehot) static_cast<void>(JsonCodec<OneHotArgs>::read(args, faults_));
      if (step.type == ProcessingType::reshape) check_reshape(args);
    }
    for (const auto& [item, json] : loader_.normalization) check_tensor(item.tensor, *json);
  }

  void check_reshape(const Json& args) {
    const auto reshape = JsonCodec<ReshapeArgs>::read(args, faults_);
    if (!reshape) return;
    const auto& dims = reshape->shape.dims();
    if (std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim <= 0; })) {
      fault_value(*args.find("shape"),
                  fmt::format("must have sizes of 1 or more only, found {}", args.find("shape")->text()), faults_);
    }
  }

  /// Adds the name of the tensor to the faults inside an entry of `padding`.
  void name_tensors(const Json* padding, std::size_t first_fault) {
    for (const Json& entry : padding->items()) {
      const Json* const tensor = entry.find("tensor");
      if (tensor == nullptr || !tensor->is(Json::Kind::string)) continue;
      for (std::size_t i = first_fault; i < faults_.size(); ++i) {
        const bool inside = faults_[i].place().pointer.starts_with(entry.place().pointer + "/");
        const bool named = faults_[i].message().find('\'' + tensor->string() + '\'') != std::string::npos;
        if (inside && !named) faults_[i] = faults_[i].at(fmt::format("padding of tensor '{}'", tensor->string()));
      }
    }
  }

  void check_padding(const Json* padding) {
    if (padding == nullptr) return;
    loader_.pads = is_true(padding) || !padding->items().empty();
    const std::size_t before = faults_.size();
    for (const auto& [entry, json] : read_items<PaddingEntry>(padding, faults_)) check_tensor(entry.tensor, *json);
    name_tensors(padding, before);
  }

  void check_multi_load(const Json& args) {
    const Json* multi = args.find("multi_load");
    if (!is_true(multi)) return;
    const auto refuse = [&](std::string_view why) {
      complain(*multi, fmt::format("multi_load cannot be used {}", why), faults_);
    };
    if (loader_.document.type != LoaderType::independent) refuse("with this type of loader, only with 'independent'");
    if (loader_.manifest.allow_var_len) refuse("with a manifest whose allow_var_len is true");
    for (const char* key : {"secondary_features", "processing_steps", "normalization"}) {
      const Json* list = args.find(key);
      if (list != nullptr && !list->items().empty()) refuse(fmt::format("together with {}", key));
    }
    if (loader_.pads) refuse("together with padding");
  }

  const Json& json_;
  const std::string& folder_;
  Faults faults_;
  CheckedLoader loader_;
  Names produced_;
  std::unordered_set<std::string> is_produced_;
  Names primary_names_;
  bool type_known_ = true;
  bool manifest_known_ = false;
};

}  // namespace

Result<CheckedLoader> read_loader(const Json& json, const std::string& folder) {
  return LoaderReader{json, folder}.read();
}

}  // namespace forebay::plan
