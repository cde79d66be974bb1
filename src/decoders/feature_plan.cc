// SPDX-License-Identifier: Apache-2.0
#include "decoders/feature_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "columns/scalar.h"
#include "decoders/feature_form.h"

namespace forebay::decoders {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 31;
constexpr std::size_t max_features = 65'536;

/// How a kind reads its key. Features may share a key only if they read it the same way.
enum class Reading : std::uint8_t { dense, sparse, ragged };
Reading reading_of(FeatureKind kind) {
  if (kind == FeatureKind::sparse || kind == FeatureKind::var_len) return Reading::sparse;
  return kind == FeatureKind::ragged ? Reading::ragged : Reading::dense;
}

/// The options that several kinds have. A kind without an option has its default.
struct Common {
  DType dtype;
  Shape shape = {};
  std::optional<StoredAs> stored = {};
  std::optional<std::string> key = {};
  bool allow_missing = false;
};

Common common_of(const ExampleFeature& feature) {
  const auto copy = [](const auto& form) {
    Common out{.dtype = form.dtype};
    if constexpr (requires { form.shape; }) out.shape = form.shape;
    if constexpr (requires { form.stored; }) out.stored = form.stored;
    if constexpr (requires { form.key; }) out.key = form.key;
    if constexpr (requires { form.allow_missing; }) out.allow_missing = form.allow_missing;
    return out;
  };
  return std::visit(copy, feature.form);
}

/// Stores the default in `output`, in the final type, if the default has `count` values. Returns its number of values.
std::int64_t put_default(const DefaultValue& value, std::int64_t count, Output& output) {
  const Json json = to_json(value);
  const std::vector<Json> items = json.is(Json::Kind::array) ? json.items() : std::vector<Json>{json};
  const auto found = static_cast<std::int64_t>(items.size());
  if (found != count) return found;
  output.has_default = true;
  const std::size_t size = size_of(output.dtype);
  output.default_bytes.resize(items.size() * size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    // The codec has checked the type of every value.
    const auto element = columns::element_from(items[i], output.dtype);
    const std::vector<std::byte> bytes = element.ok() ? *element : std::vector<std::byte>(size);
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    if (output.dtype == DType::string) output.default_strings.emplace_back(text, bytes.size());
    if (output.dtype != DType::string) std::memcpy(output.default_bytes.data() + i * size, text, size);
  }
  return found;
}

/// Plans one feature at a time and collects the faults. Lives for one call of plan_features, on the planner's thread.
class Planner {
 public:
  Planner(Role role, Schema& schema, std::vector<Error>& faults) : role_{role}, schema_{schema}, faults_{faults} {}

  FeaturePlan plan;

  void add(const std::string& name, const ExampleFeature& feature, bool wanted) {
    name_ = &name, feature_ = &feature;
    common_ = common_of(feature);
    before_ = faults_.size();
    used_.clear();
    Output output{.name = name,
                  .kind = reading_kind(feature.kind(), common_.shape),
                  .dtype = common_.dtype,
                  .shape = common_.shape};
    output.list = role_ == Role::lists;
    output.allow_missing = common_.allow_missing;
    ColumnSpec column{.name = name, .dtype = common_.dtype, .shape = common_.shape};
    check_kind(output);
    check_types(output);
    check_shape(output);
    if (faults_.size() != before_) return;
    for (const Error& one : feature.faults) fault(one.place().field.front(), one.message());
    const bool complete =
        feature.faults.empty() || (output.kind != FeatureKind::sparse && output.kind != FeatureKind::ragged);
    if (complete) std::visit([&](const auto& form) { make(form, output, column); }, feature.form);
    if (column.delivery == Delivery::ragged && !column.shape.known() && column.shape[0] != unknown_dim)
      fault("as", fmt::format("rows of shape {} differ behind their first axis; hand them over padded or equal",
                              column.shape.text()));
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

  bool take_default(const DefaultValue& value, std::int64_t count, Output& output) {
    const std::int64_t found = put_default(value, count, output);
    if (found == count) return true;
    fault("default", fmt::format("default has {} values, but shape {} takes {}", found, output.shape.text(), count));
    return false;
  }

  void check_kind(Output& output) {
    if (output.kind != feature_->kind()) {
      std::vector<std::int64_t> step = output.shape.dims();
      std::erase(step, unknown_dim);
      output.shape = Shape{std::move(step)};
    }
    const bool never_in_context = output.kind == FeatureKind::fixed_len_sequence || output.kind == FeatureKind::sparse;
    const bool never_in_lists = output.kind == FeatureKind::fixed_len || output.kind == FeatureKind::sparse;
    if (role_ == Role::context && never_in_context) {
      fault("kind", fmt::format("'{}' is not possible in context; use fixed_len, var_len, ragged or raw{}",
                                name_in_documents(output.kind), keys_text()));
    }
    if (role_ == Role::lists && never_in_lists) {
      fault("kind", fmt::format("'{}' is not possible in lists; use fixed_len_sequence, var_len, ragged or raw{}",
                                name_in_documents(output.kind), keys_text()));
    }
    if (role_ != Role::lists && common_.allow_missing && output.kind != FeatureKind::fixed_len_sequence)
      fault("allow_missing", std::string{only_lists_may_be_missing});
  }

  /// Returns the keys of a feature that is made from several, for messages.
  std::string keys_text() const {
    const auto* const sparse = std::get_if<SparseFeature>(&feature_->form);
    if (sparse == nullptr) return "";
    return fmt::format(" (index key {}, value key '{}')", options_of(*feature_).index_key.json.text(),
                       sparse->value_key);
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
    output.stored = common_.stored.value_or(natural);
    if ((output.stored == StoredAs::bytes) != (natural == StoredAs::bytes)) {
      fault("stored",
            fmt::format("bytes and numbers cannot become each other: dtype {} cannot come from '{}'{}",
                        to_string(output.dtype), name_in_documents(output.stored),
                        output.stored == StoredAs::bytes ? "; for numbers in byte strings use kind raw" : ""));
    }
  }

  /// Checks every dim and the number of elements; `raw` may leave one dim open.
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

  /// Returns the index of the source of a key, and adds the source if it is new. A fault: another feature reads the key
  /// in another way.
  int source(const std::string& key, StoredAs stored, std::string_view option) {
    auto found = std::ranges::find(plan.sources, key, &Source::key);
    if (found == plan.sources.end()) {
      plan.sources.push_back({.key = key, .stored = stored, .feature = *name_, .kind = feature_->kind()});
      found = plan.sources.end() - 1;
    } else if (found->stored != stored || reading_of(found->kind) != reading_of(feature_->kind())) {
      fault(option,
            fmt::format("key '{}' is already used by feature '{}' as {} of '{}'; a key can be read in one way only",
                        key, found->feature, name_in_documents(found->kind), name_in_documents(found->stored)));
    }
    ++found->uses;
    used_.push_back(static_cast<int>(found - plan.sources.begin()));
    return used_.back();
  }

  /// Releases the sources of a feature that is not wanted. Such a feature is planned only to find its faults.
  void forget() {
    for (const int index : used_) --plan.sources[static_cast<std::size_t>(index)].uses;
  }

  void own_source(Output& output) { output.source = source(common_.key.value_or(*name_), output.stored, "key"); }

  void make(const FixedLenFeature& form, Output& output, ColumnSpec& column) {
    if (output.kind == FeatureKind::fixed_len_sequence)  // the column's shape has the open axis already
      return sequence(form.as, form.default_value, output, column);
    own_source(output);
    if (!std::holds_alternative<std::monostate>(form.default_value))
      static_cast<void>(take_default(form.default_value, output.count, output));
  }

  void make(const VarLenFeature& form, Output& output, ColumnSpec& column) {
    own_source(output);
    column.shape = {unknown_dim};
    column.delivery = form.as.value_or(Delivery::ragged);
    if (role_ != Role::lists) return;
    column.parts.push_back(
        {.name = "row_splits", .dtype = DType::int64, .shape = {unknown_dim}, .delivery = Delivery::ragged});
    if (column.delivery != Delivery::ragged && column.delivery != Delivery::sparse) {
      fault("as", "a list whose steps differ in length can be handed over ragged or sparse");
    }
  }

  void make(const FixedLenSequenceFeature& form, Output& output, ColumnSpec& column) {
    std::vector<std::int64_t> dims = output.shape.dims();
    dims.insert(dims.begin(), unknown_dim);
    column.shape = Shape{std::move(dims)};
    sequence(form.as, form.default_value, output, column);
  }

  void sequence(std::optional<Delivery> as, const DefaultValue& pad, Output& output, ColumnSpec& column) {
    own_source(output);
    column.delivery = as.value_or(Delivery::padded);
    if (column.delivery == Delivery::sparse)
      fault("as", "a sequence of fixed shapes can be handed over padded, ragged or equal");
    if (role_ == Role::example && output.count == 0)
      fault("shape", "a step without elements leaves the number of steps unknown");
    if (std::holds_alternative<std::monostate>(pad)) return;
    if (role_ == Role::lists)
      return fault("default", "lists have no default; allow_missing makes a missing list an empty one");
    if (!take_default(pad, 1, output)) return;
    column.pad = output.dtype == DType::string ? output.default_strings[0]
                                               : std::string(reinterpret_cast<const char*>(output.default_bytes.data()),
                                                             output.default_bytes.size());
  }

  void make(const SparseFeature& form, Output& output, ColumnSpec& column) {
    output.already_sorted = form.already_sorted;
    output.source = source(form.value_key, output.stored, "value_key");
    for (const std::string& key : form.index_key) {
      output.indices.push_back(source(key, StoredAs::int_, "index_key"));
      column.parts.push_back(
          {.name = key, .dtype = DType::int64, .shape = {unknown_dim}, .delivery = Delivery::ragged});
    }
    output.sizes = form.size;
    column.sizes = output.sizes;
    column.shape = {unknown_dim};
    column.delivery = Delivery::sparse;
  }

  void make(const RaggedFeature& form, Output& output, ColumnSpec& column) {
    output.source = source(form.value_key.value_or(*name_), output.stored, "value_key");
    output.validate = form.validate;
    for (const RaggedPartition& one : form.partitions) {
      const bool uniform = one.kind == PartitionKind::uniform_row_length;
      output.partitions.push_back({.kind = one.kind,
                                   .source = uniform ? KeyTable::none : source(one.key, StoredAs::int_, "partitions"),
                                   .length = one.length});
    }
    if (form.row_splits_dtype != DType::int32 && form.row_splits_dtype != DType::int64)
      fault("row_splits_dtype", "must be int32 or int64");
    column.row_splits_int32 = form.row_splits_dtype == DType::int32;
    if (!take_uniform(output)) return;
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

  /// Turns the trailing uniform partitions into dims of the values. False: too many elements.
  bool take_uniform(Output& output) {
    while (!output.partitions.empty() && output.partitions.back().kind == PartitionKind::uniform_row_length) {
      const std::int64_t length = output.partitions.back().length;
      if (length > max_elements / output.inner)
        return fault("partitions", fmt::format("more than {} elements", max_elements)), false;
      output.inner *= length;
      output.inner_lengths.insert(output.inner_lengths.begin(), length);
      output.partitions.pop_back();
    }
    return true;
  }

  void make(const RawFeature& form, Output& output, ColumnSpec& column) {
    own_source(output);
    if (!form.endian) return fault("endian", "raw numbers need their byte order: \"little\" or \"big\"");
    output.swaps = (*form.endian == Endian::little) != (std::endian::native == std::endian::little);
    output.len = form.len;
    output.fixed_length = form.fixed_length.value_or(0);
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
    if (open) column.delivery = form.as.value_or(Delivery::equal);
    if (output.len > max_elements / std::max<std::int64_t>(output.count, 1))
      fault("len", fmt::format("more than {} elements", max_elements));
    if (role_ == Role::lists && output.len != 1) fault("len", "each step of a list holds one byte string");
    std::vector<std::int64_t> dims = output.shape.dims();
    if (output.len > 1) dims.insert(dims.begin(), output.len);
    if (role_ == Role::lists) {
      dims.insert(dims.begin(), unknown_dim);
      column.delivery = form.as.value_or(Delivery::padded);
    }
    column.shape = Shape{std::move(dims)};
  }

  const Role role_;
  Schema& schema_;
  std::vector<Error>& faults_;
  const std::string* name_ = nullptr;
  const ExampleFeature* feature_ = nullptr;
  Common common_{};
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
