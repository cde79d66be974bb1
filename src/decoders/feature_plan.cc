// SPDX-License-Identifier: Apache-2.0
#include "decoders/feature_plan.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>

namespace forebay::decoders {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 31;
constexpr std::size_t max_rank = 16;
constexpr std::size_t max_features = 65'536;

/// Which kinds may read the same key: those that read it the same way.
enum class Reading : std::uint8_t { dense, sparse, ragged };
Reading reading_of(FeatureKind kind) {
  if (kind == FeatureKind::sparse || kind == FeatureKind::var_len) return Reading::sparse;
  return kind == FeatureKind::ragged ? Reading::ragged : Reading::dense;
}

std::string_view name_of(FeatureKind kind) { return EnumNames<FeatureKind>::names[static_cast<std::size_t>(kind)]; }

/// Plans one feature at a time and collects what is wrong.
class Planner {
 public:
  Planner(Role role, Schema& schema, std::vector<Error>& faults) : role_{role}, schema_{schema}, faults_{faults} {}

  FeaturePlan plan;

  void add(const std::string& name, const ExampleFeature& feature, bool wanted) {
    name_ = &name, feature_ = &feature;
    before_ = faults_.size();
    used_.clear();
    Output output{.name = name, .kind = feature.kind, .dtype = feature.dtype, .shape = feature.shape};
    output.list = role_ == Role::lists;
    output.allow_missing = feature.allow_missing;
    ColumnSpec column{.name = name, .dtype = feature.dtype, .shape = feature.shape};
    check_kind(output);
    check_types(output);
    check_shape(output);
    if (faults_.size() != before_) return;
    switch (output.kind) {
      case FeatureKind::fixed_len:
        fixed(output);
        break;
      case FeatureKind::var_len:
        variable(output, column);
        break;
      case FeatureKind::fixed_len_sequence:
        sequence(output, column);
        break;
      case FeatureKind::sparse:
        sparse(output, column);
        break;
      case FeatureKind::ragged:
        ragged(output, column);
        break;
      case FeatureKind::raw:
        raw(output, column);
        break;
    }
    if (column.delivery == Delivery::ragged && !column.shape.known() && column.shape[0] != unknown_dim)
      fault("as", fmt::format("rows of shape {} differ behind their first axis; hand them over padded or equal",
                              column.shape.text()));
    check_unused(output.kind);
    if (faults_.size() != before_) return;
    output.variable = !column.shape.known();
    output.column = schema_.put(std::move(column));
    if (wanted)
      plan.outputs.push_back(std::move(output));
    else
      forget();
  }

  void finish() {
    std::vector<std::optional<std::string>> keys;
    for (const Source& source : plan.sources)
      keys.push_back(source.uses > 0 ? std::optional{source.key} : std::nullopt);
    plan.keys = KeyTable{std::move(keys)};
  }

 private:
  void fault(std::string_view option, std::string message) {
    faults_.emplace_back(Code::config, Detail::invalid_argument, std::move(message),
                         Place{.feature = *name_, .field = {option_of(role_), *name_, std::string{option}}});
  }

  bool take_default(Output& output, std::int64_t count) {
    const auto done = read_default(feature_->fallback, count, output);
    if (!done.ok()) fault("default", done.error().message());
    return done.ok();
  }

  void check_kind(Output& output) {
    if (output.kind == FeatureKind::fixed_len && output.shape.unknown() == 1) {
      output.kind = FeatureKind::fixed_len_sequence;
      std::vector<std::int64_t> step = output.shape.dims();
      std::erase(step, unknown_dim);
      output.shape = Shape{std::move(step)};
    }
    const bool never_in_context = output.kind == FeatureKind::fixed_len_sequence || output.kind == FeatureKind::sparse;
    const bool never_in_lists = output.kind == FeatureKind::fixed_len || output.kind == FeatureKind::sparse;
    if (role_ == Role::context && never_in_context) {
      fault("kind", fmt::format("'{}' is not possible in context; use fixed_len, var_len, ragged or raw{}",
                                name_of(output.kind), keys_text()));
    }
    if (role_ == Role::lists && never_in_lists) {
      fault("kind", fmt::format("'{}' is not possible in lists; use fixed_len_sequence, var_len, ragged or raw{}",
                                name_of(output.kind), keys_text()));
    }
    if (role_ != Role::lists && feature_->allow_missing && output.kind != FeatureKind::fixed_len_sequence) {
      fault("allow_missing", "is for lists of a sequence example; give a fixed_len feature a default instead");
    }
  }

  /// The keys of a feature that is made from several, for messages.
  std::string keys_text() const {
    if (feature_->kind != FeatureKind::sparse) return "";
    return fmt::format(" (index key {}, value key '{}')", feature_->index_key.text(), feature_->value_key.value_or(""));
  }

  void check_types(Output& output) {
    const bool raw = output.kind == FeatureKind::raw;
    if (raw && output.dtype == DType::string)
      return fault("dtype", "raw bytes become numbers, not strings; use fixed_len");
    if (!raw && is_complex(output.dtype))
      return fault("dtype", fmt::format("a list of ints or floats cannot become {}; use kind raw, which reads the "
                                        "numbers from bytes",
                                        to_string(output.dtype)));
    StoredAs natural = is_float(output.dtype) ? StoredAs::float_ : StoredAs::int_;
    if (raw || output.dtype == DType::string) natural = StoredAs::bytes;
    output.stored = feature_->stored.value_or(natural);
    if ((output.stored == StoredAs::bytes) != (natural == StoredAs::bytes)) {
      fault("stored",
            fmt::format("bytes and numbers cannot become each other: dtype {} cannot come from '{}'{}",
                        to_string(output.dtype), EnumNames<StoredAs>::names[static_cast<std::size_t>(output.stored)],
                        output.stored == StoredAs::bytes ? "; for numbers in byte strings use kind raw" : ""));
    }
  }

  /// Every dim and the number of elements; `raw` may leave one dim open.
  void check_shape(Output& output) {
    const auto& dims = output.shape.dims();
    if (dims.size() > max_rank)
      return fault("shape", fmt::format("has {} dims; at most {} are possible", dims.size(), max_rank));
    const bool open = output.kind == FeatureKind::raw && output.shape.unknown() == 1;
    std::int64_t count = 1;
    bool too_large = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (open && dims[i] == unknown_dim) continue;
      if (dims[i] < 0)
        return fault("shape",
                     fmt::format("size {} of axis {} must be 0 or more{}", dims[i], i,
                                 dims[i] == unknown_dim ? "; only one of a fixed_len or raw may be -1 (unknown)" : ""));
      if (dims[i] != 0 && count > max_elements / dims[i])
        too_large = true;
      else
        count *= dims[i];
    }
    if (too_large || count > max_elements)
      return fault("shape", fmt::format("{} has more than {} elements", output.shape.text(), max_elements));
    output.count = count;
  }

  /// Options that the kind has no use for are refused: they would be silently ignored.
  void check_unused(FeatureKind kind) {
    const ExampleFeature& f = *feature_;
    const auto only = [&](bool given, bool fits, std::string_view option, std::string_view kinds) {
      if (given && !fits) fault(option, fmt::format("'{}' is only for {}, not for {}", option, kinds, name_of(kind)));
    };
    using K = FeatureKind;
    const bool deferred = kind == K::sparse || kind == K::ragged;
    only(!f.fallback.is(Json::Kind::null), kind == K::fixed_len || kind == K::fixed_len_sequence, "default",
         "fixed_len and fixed_len_sequence");
    only(!f.index_key.is(Json::Kind::null), kind == K::sparse, "index_key", "sparse");
    only(!f.size.is(Json::Kind::null), kind == K::sparse, "size", "sparse");
    only(f.value_key.has_value(), deferred, "value_key", "sparse and ragged");
    only(f.key.has_value(), !deferred, "key", "the kinds with one key (here: value_key)");
    only(f.already_sorted, kind == K::sparse, "already_sorted", "sparse");
    only(!f.partitions.is(Json::Kind::null), kind == K::ragged, "partitions", "ragged");
    only(f.endian.has_value(), kind == K::raw, "endian", "raw");
    only(f.len != 1, kind == K::raw, "len", "raw");
    only(f.fixed_length.has_value(), kind == K::raw, "fixed_length", "raw");
    only(f.as.has_value(), kind == K::var_len || kind == K::fixed_len_sequence || kind == K::raw, "as",
         "variable kinds");
    only(f.shape.rank() > 0, kind != K::var_len && !deferred, "shape", "kinds with a shape");
  }

  /// The source of a key; the same key may be used several times when it is read the same way.
  int source(const std::string& key, StoredAs stored, std::string_view option) {
    auto found = std::ranges::find(plan.sources, key, &Source::key);
    if (found == plan.sources.end()) {
      plan.sources.push_back({.key = key, .stored = stored, .feature = *name_, .kind = feature_->kind});
      found = plan.sources.end() - 1;
    } else if (found->stored != stored || reading_of(found->kind) != reading_of(feature_->kind)) {
      fault(option,
            fmt::format("key '{}' is already used by feature '{}' as {} of '{}'; a key can be read in one way only",
                        key, found->feature, name_of(found->kind),
                        EnumNames<StoredAs>::names[static_cast<std::size_t>(found->stored)]));
    }
    ++found->uses;
    used_.push_back(static_cast<int>(found - plan.sources.begin()));
    return used_.back();
  }

  /// Takes back the sources of a feature that nobody wants; they were looked at only to find faults.
  void forget() {
    for (const int index : used_) --plan.sources[static_cast<std::size_t>(index)].uses;
  }

  void own_source(Output& output) { output.source = source(feature_->key.value_or(*name_), output.stored, "key"); }

  void fixed(Output& output) {
    own_source(output);
    if (!feature_->fallback.is(Json::Kind::null)) static_cast<void>(take_default(output, output.count));
  }

  void variable(Output& output, ColumnSpec& column) {
    own_source(output);
    column.shape = {unknown_dim};
    column.delivery = feature_->as.value_or(Delivery::ragged);
    if (role_ != Role::lists) return;
    column.parts.push_back(
        {.name = "row_splits", .dtype = DType::int64, .shape = {unknown_dim}, .delivery = Delivery::ragged});
    if (column.delivery != Delivery::ragged && column.delivery != Delivery::sparse) {
      fault("as", "a list whose steps differ in length can be handed over ragged or sparse");
    }
  }

  void sequence(Output& output, ColumnSpec& column) {
    own_source(output);
    if (feature_->kind != FeatureKind::fixed_len) {  // its shape has the open axis already
      std::vector<std::int64_t> dims = output.shape.dims();
      dims.insert(dims.begin(), unknown_dim);
      column.shape = Shape{std::move(dims)};
    }
    column.delivery = feature_->as.value_or(Delivery::padded);
    if (column.delivery == Delivery::sparse)
      fault("as", "a sequence of fixed shapes can be handed over padded, ragged or equal");
    if (role_ == Role::example && output.count == 0)
      fault("shape", "a step without elements leaves the number of steps unknown");
    if (feature_->fallback.is(Json::Kind::null)) return;
    if (role_ == Role::lists)
      return fault("default", "lists have no default; allow_missing makes a missing list an empty one");
    if (!take_default(output, 1)) return;
    column.pad = output.dtype == DType::string ? output.default_strings[0]
                                               : std::string(reinterpret_cast<const char*>(output.default_bytes.data()),
                                                             output.default_bytes.size());
  }

  void sparse(Output& output, ColumnSpec& column) {
    const std::vector<Json> keys = list_of(feature_->index_key);
    const std::vector<Json> sizes = list_of(feature_->size);
    if (keys.empty()) fault("index_key", "must name the key of the indices");
    if (sizes.size() != keys.size())
      fault("size", fmt::format("has {} sizes for {} index keys", sizes.size(), keys.size()));
    if (keys.size() >= max_rank)
      return fault("index_key", fmt::format("has {} keys; at most {} are possible", keys.size(), max_rank - 1));
    if (!feature_->value_key) return fault("value_key", "must name the key of the values");
    output.already_sorted = feature_->already_sorted;
    output.source = source(*feature_->value_key, output.stored, "value_key");
    for (const Json& key : keys) {
      if (!key.is(Json::Kind::string))
        return fault("index_key", fmt::format("must be a string or a list of strings, found {}", key.kind_name()));
      output.indices.push_back(source(key.string(), StoredAs::int_, "index_key"));
      column.parts.push_back(
          {.name = key.string(), .dtype = DType::int64, .shape = {unknown_dim}, .delivery = Delivery::ragged});
    }
    for (const Json& size : sizes) {
      if (!size.is(Json::Kind::integer) || size.integer() < 1)
        return fault("size", fmt::format("must be 1 or more, found {}", size.text()));
      output.sizes.push_back(size.integer());
    }
    column.sizes = output.sizes;
    column.shape = {unknown_dim};
    column.delivery = Delivery::sparse;
  }

  static std::vector<Json> list_of(const Json& json) {
    if (json.is(Json::Kind::null)) return {};
    return json.is(Json::Kind::array) ? json.items() : std::vector<Json>{json};
  }

  void ragged(Output& output, ColumnSpec& column) {
    output.source = source(feature_->value_key.value_or(*name_), output.stored, "value_key");
    output.validate = feature_->validate;
    const std::vector<Json> partitions = list_of(feature_->partitions);
    if (!feature_->partitions.is(Json::Kind::null) && !feature_->partitions.is(Json::Kind::array))
      return fault("partitions", "must be a list");
    if (partitions.size() >= max_rank)
      return fault("partitions",
                   fmt::format("has {} levels; at most {} are possible", partitions.size(), max_rank - 1));
    for (const Json& json : partitions) partition(json, output);
    if (feature_->row_splits_dtype != DType::int32 && feature_->row_splits_dtype != DType::int64)
      fault("row_splits_dtype", "must be int32 or int64");
    column.row_splits_int32 = feature_->row_splits_dtype == DType::int32;
    while (!output.partitions.empty() && output.partitions.back().kind == PartitionKind::uniform_row_length) {
      const std::int64_t length = output.partitions.back().length;
      if (length > max_elements / output.inner)
        return fault("partitions", fmt::format("more than {} elements", max_elements));
      output.inner *= length;
      output.inner_lengths.insert(output.inner_lengths.begin(), length);
      output.partitions.pop_back();
    }
    std::vector<std::int64_t> dims = output.inner_lengths;
    dims.insert(dims.begin(), unknown_dim);
    column.shape = Shape{std::move(dims)};
    column.delivery = Delivery::ragged;
    const std::size_t levels = output.partitions.size() + (role_ == Role::lists ? 1 : 0);
    column.parts.assign(
        levels, {.name = "row_splits", .dtype = DType::int64, .shape = {unknown_dim}, .delivery = Delivery::ragged});
    for (std::size_t level = 0; level < output.partitions.size() && !output.validate; ++level)
      column.parts[levels - output.partitions.size() + level].partitioning = kept_as(output.partitions[level].kind);
  }

  void partition(const Json& json, Output& output) {
    static constexpr std::array<std::string_view, 6> kinds{"row_splits", "row_lengths",  "row_starts",
                                                           "row_limits", "value_rowids", "uniform_row_length"};
    if (!json.is(Json::Kind::array) || json.items().size() != 2 || !json.items()[0].is(Json::Kind::string)) {
      return fault("partitions", fmt::format("each must be [kind, key or length], found {}", json.text()));
    }
    const auto kind = std::ranges::find(kinds, std::string_view{json.items()[0].string()});
    if (kind == kinds.end()) {
      return fault("partitions", fmt::format("unknown kind {}; known: row_splits, row_lengths, row_starts, row_limits, "
                                             "value_rowids, uniform_row_length",
                                             json.items()[0].text()));
    }
    Partition made{.kind = static_cast<PartitionKind>(kind - kinds.begin())};
    const Json& what = json.items()[1];
    if (made.kind == PartitionKind::uniform_row_length) {
      if (!what.is(Json::Kind::integer) || what.integer() < 1)
        return fault("partitions", fmt::format("a uniform row length must be 1 or more, found {}", what.text()));
      made.length = what.integer();
    } else {
      if (!what.is(Json::Kind::string))
        return fault("partitions", fmt::format("the key of a partition must be a string, found {}", what.kind_name()));
      made.source = source(what.string(), StoredAs::int_, "partitions");
    }
    output.partitions.push_back(made);
  }

  void raw(Output& output, ColumnSpec& column) {
    own_source(output);
    if (!feature_->endian) return fault("endian", "raw numbers need their byte order: \"little\" or \"big\"");
    output.swaps = (*feature_->endian == Endian::little) != (std::endian::native == std::endian::little);
    output.len = feature_->len;
    output.fixed_length = feature_->fixed_length.value_or(0);
    const bool open = !output.shape.known();
    const std::int64_t bytes = output.count * static_cast<std::int64_t>(size_of(output.dtype));
    const std::int64_t item = open ? std::max<std::int64_t>(bytes, 1) : bytes;
    if (output.fixed_length != 0 && (open ? output.fixed_length % item != 0 : output.fixed_length != bytes)) {
      fault("fixed_length",
            fmt::format("{} bytes do not fill shape {} of {}: {} {}", output.fixed_length, output.shape.text(),
                        to_string(output.dtype), open ? "it must be a multiple of" : "that takes", item));
    }
    if (open && (output.len > 1 || role_ == Role::lists || bytes == 0))
      fault("shape", "an unknown size goes with one byte string per record only");
    if (open) column.delivery = feature_->as.value_or(Delivery::equal);
    if (output.len > max_elements / std::max<std::int64_t>(output.count, 1))
      fault("len", fmt::format("more than {} elements", max_elements));
    if (role_ == Role::lists && output.len != 1) fault("len", "each step of a list holds one byte string");
    std::vector<std::int64_t> dims = output.shape.dims();
    if (output.len > 1) dims.insert(dims.begin(), output.len);
    if (role_ == Role::lists) {
      dims.insert(dims.begin(), unknown_dim);
      column.delivery = feature_->as.value_or(Delivery::padded);
    }
    column.shape = Shape{std::move(dims)};
  }

  const Role role_;
  Schema& schema_;
  std::vector<Error>& faults_;
  const std::string* name_ = nullptr;
  const ExampleFeature* feature_ = nullptr;
  std::size_t before_ = 0;
  std::vector<int> used_;
};

}  // namespace

FeaturePlan plan_features(const FeatureMap& features, Role role, const std::vector<std::string>& wanted, Schema& schema,
                          std::vector<Error>& faults) {
  Planner planner{role, schema, faults};
  if (features.size() > max_features) {
    faults.emplace_back(Code::config, Detail::invalid_argument,
                        fmt::format("{} features; at most {} are possible", features.size(), max_features));
    return {};
  }
  for (const auto& [name, feature] : features) {
    planner.add(name, feature, wanted.empty() || std::ranges::find(wanted, name) != wanted.end());
  }
  planner.finish();
  return std::move(planner.plan);
}

}  // namespace forebay::decoders
