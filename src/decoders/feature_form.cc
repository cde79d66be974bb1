// SPDX-License-Identifier: Apache-2.0
#include "decoders/feature_form.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "columns/scalar.h"

namespace forebay::decoders {
namespace {

using Kind = FeatureKind;
using Kinds = unsigned;  ///< A set of kinds, one bit each.

constexpr Kinds set(auto... kinds) { return ((1U << static_cast<unsigned>(kinds)) | ... | 0U); }
constexpr Kinds dense = set(Kind::fixed_len, Kind::fixed_len_sequence);
constexpr Kinds one_key = dense | set(Kind::var_len, Kind::raw);

bool is_null(const Json& json) { return json.is(Json::Kind::null); }

/// An option that only some kinds have.
struct Rule {
  std::string_view option;
  Kinds kinds;                 ///< The kinds that have the option.
  Kinds required = 0;          ///< The kinds that require the option.
  std::string_view only = {};  ///< The kinds in words, for messages. Empty: no fault for other kinds.
  bool (*given)(const FeatureOptions&) = nullptr;  ///< Whether the option has a value.
};

using O = FeatureOptions;
constexpr std::array rules{
    Rule{"default", dense, 0, "fixed_len and fixed_len_sequence",
         [](const O& o) { return !is_null(o.default_value.json); }},
    Rule{"index_key", set(Kind::sparse), set(Kind::sparse), "sparse",
         [](const O& o) { return !is_null(o.index_key.json); }},
    Rule{"size", set(Kind::sparse), set(Kind::sparse), "sparse", [](const O& o) { return !is_null(o.size.json); }},
    Rule{"value_key", set(Kind::sparse, Kind::ragged), set(Kind::sparse), "sparse and ragged",
         [](const O& o) { return o.value_key.has_value(); }},
    Rule{"key", one_key, 0, "the kinds with one key (here: value_key)", [](const O& o) { return o.key.has_value(); }},
    Rule{"already_sorted", set(Kind::sparse), 0, "sparse", [](const O& o) { return o.already_sorted; }},
    Rule{"partitions", set(Kind::ragged), 0, "ragged", [](const O& o) { return !is_null(o.partitions.json); }},
    Rule{"endian", set(Kind::raw), set(Kind::raw), "raw", [](const O& o) { return o.endian.has_value(); }},
    Rule{"len", set(Kind::raw), 0, "raw", [](const O& o) { return o.len != RawFeature{}.len; }},
    Rule{"fixed_length", set(Kind::raw), 0, "raw", [](const O& o) { return o.fixed_length.has_value(); }},
    Rule{"as", set(Kind::var_len, Kind::fixed_len_sequence, Kind::raw), 0, "variable kinds",
         [](const O& o) { return o.as.has_value(); }},
    Rule{"shape", dense | set(Kind::raw), 0, "kinds with a shape", [](const O& o) { return o.shape.rank() > 0; }},
    Rule{"stored", (one_key & ~set(Kind::raw)) | set(Kind::sparse, Kind::ragged)},
    Rule{"allow_missing", set(Kind::var_len, Kind::fixed_len_sequence, Kind::ragged, Kind::raw)},
    Rule{"row_splits_dtype", set(Kind::ragged), 0, "ragged (the row splits of other kinds are int64)",
         [](const O& o) { return o.row_splits_dtype.has_value(); }},
    Rule{"validate", set(Kind::ragged), 0, "ragged", [](const O& o) { return !o.validate; }},
};

std::vector<Json> list_of(const Json& json) {
  if (is_null(json)) return {};
  return json.is(Json::Kind::array) ? json.items() : std::vector<Json>{json};
}

/// Appends the elements of a value or of nested lists, in order. The recursion is at most 64 deep, as documents are.
void flatten(const Json& json, std::vector<const Json*>& out) {
  if (!json.is(Json::Kind::array)) return out.push_back(&json);
  for (const Json& item : json.items()) flatten(item, out);
}

template <class T, class Get>
DefaultValue values_of(const Json& json, const std::vector<const Json*>& items, Get get) {
  if (!json.is(Json::Kind::array)) return T{get(json)};
  std::vector<T> out;
  out.reserve(items.size());
  for (const Json* item : items) out.push_back(get(*item));
  return out;
}

/// Makes the typed form of a feature from its options, and collects the faults. Lives for one call on the planner's
/// thread.
class FormReader {
 public:
  explicit FormReader(const FeatureOptions& options) : options_{options} {}

  ExampleFeature read() {
    ExampleFeature feature;
    feature.form = form();
    const Kind kind = reading_kind(options_.kind, options_.shape);
    for (const Rule& rule : rules) {
      if (rule.only.empty() || (rule.kinds & set(kind)) != 0 || !rule.given(options_)) continue;
      fault(rule.option,
            fmt::format("'{}' is only for {}, not for {}", rule.option, rule.only, name_in_documents(kind)));
    }
    feature.faults = std::move(faults_);
    return feature;
  }

 private:
  void fault(std::string_view option, std::string message) {
    faults_.emplace_back(Code::config, Detail::invalid_argument, std::move(message),
                         Place{.field = {std::string{option}}});
  }

  ExampleFeature::Form form() {
    const FeatureOptions& o = options_;
    switch (o.kind) {
      case Kind::fixed_len:
        return FixedLenFeature{.dtype = o.dtype,
                               .shape = o.shape,
                               .default_value = default_value(),
                               .key = o.key,
                               .stored = o.stored,
                               .as = o.as,
                               .allow_missing = o.allow_missing};
      case Kind::var_len:
        return VarLenFeature{
            .dtype = o.dtype, .key = o.key, .stored = o.stored, .as = o.as, .allow_missing = o.allow_missing};
      case Kind::fixed_len_sequence:
        return FixedLenSequenceFeature{.dtype = o.dtype,
                                       .shape = o.shape,
                                       .default_value = default_value(),
                                       .key = o.key,
                                       .stored = o.stored,
                                       .as = o.as,
                                       .allow_missing = o.allow_missing};
      case Kind::sparse:
        return sparse();
      case Kind::ragged:
        return ragged();
      case Kind::raw:
        break;
    }
    return raw();
  }

  DefaultValue default_value() {
    const Json& json = options_.default_value.json;
    const DType dtype = options_.dtype;
    if (is_null(json) || is_complex(dtype)) return {};
    std::vector<const Json*> items;
    flatten(json, items);
    for (const Json* item : items) {
      if (!is_null(*item) && columns::element_from(*item, dtype).ok()) continue;
      fault("default", fmt::format("default must have values of type {}; found {}", to_string(dtype), item->text()));
      return {};
    }
    if (dtype == DType::string)
      return values_of<std::string>(json, items, [](const Json& one) { return one.string(); });
    if (is_float(dtype))
      return values_of<double>(json, items, [](const Json& one) { return *columns::real_from(one); });
    if (dtype == DType::boolean && std::ranges::all_of(items, [](const Json* one) { return boolean(*one); }))
      return values_of<bool>(json, items, [](const Json& one) { return one.boolean(); });
    return values_of<std::int64_t>(json, items, integer_of);
  }

  static bool boolean(const Json& json) { return json.is(Json::Kind::boolean); }
  static std::int64_t integer_of(const Json& json) {
    if (boolean(json)) return json.boolean() ? 1 : 0;
    if (json.is(Json::Kind::integer)) return json.integer();
    return static_cast<std::int64_t>(std::nearbyint(json.number()));
  }

  SparseFeature sparse() {
    SparseFeature out{.dtype = options_.dtype,
                      .value_key = options_.value_key.value_or(""),
                      .stored = options_.stored,
                      .already_sorted = options_.already_sorted};
    const std::vector<Json> keys = list_of(options_.index_key.json);
    const std::vector<Json> sizes = list_of(options_.size.json);
    if (options_.allow_missing) fault("allow_missing", std::string{only_lists_may_be_missing});
    if (keys.empty()) fault("index_key", "must name the key of the indices");
    if (sizes.size() != keys.size())
      fault("size", fmt::format("has {} sizes for {} index keys", sizes.size(), keys.size()));
    if (keys.size() >= max_rank)
      return fault("index_key", fmt::format("has {} keys; at most {} are possible", keys.size(), max_rank - 1)), out;
    if (!options_.value_key) return fault("value_key", "must name the key of the values"), out;
    for (const Json& key : keys) {
      if (!key.is(Json::Kind::string)) {
        fault("index_key", fmt::format("must be a string or a list of strings, found {}", key.kind_name()));
        return out;
      }
      out.index_key.push_back(key.string());
    }
    for (const Json& size : sizes) {
      if (!size.is(Json::Kind::integer) || size.integer() < 1)
        return fault("size", fmt::format("must be 1 or more, found {}", size.text())), out;
      out.size.push_back(size.integer());
    }
    return out;
  }

  RaggedFeature ragged() {
    RaggedFeature out{.dtype = options_.dtype,
                      .value_key = options_.value_key,
                      .row_splits_dtype = options_.row_splits_dtype.value_or(RaggedFeature{}.row_splits_dtype),
                      .validate = options_.validate,
                      .stored = options_.stored,
                      .allow_missing = options_.allow_missing};
    const Json& partitions = options_.partitions.json;
    if (is_null(partitions)) return out;
    if (!partitions.is(Json::Kind::array)) return fault("partitions", "must be a list"), out;
    const std::size_t levels = partitions.items().size();
    if (levels >= max_rank)
      return fault("partitions", fmt::format("has {} levels; at most {} are possible", levels, max_rank - 1)), out;
    for (const Json& json : partitions.items()) {
      if (auto made = partition(json)) out.partitions.push_back(*std::move(made));
    }
    return out;
  }

  std::optional<RaggedPartition> partition(const Json& json) {
    const auto wrong = [this](std::string message) { return fault("partitions", std::move(message)), std::nullopt; };
    if (!json.is(Json::Kind::array) || json.items().size() != 2 || !json.items()[0].is(Json::Kind::string))
      return wrong(fmt::format("each must be [kind, key or length], found {}", json.text()));
    const auto& kinds = EnumNames<PartitionKind>::names;
    const auto* const kind = std::ranges::find(kinds, std::string_view{json.items()[0].string()});
    if (kind == kinds.end()) {
      return wrong(
          fmt::format("unknown kind {}; known: row_splits, row_lengths, row_starts, row_limits, value_rowids, "
                      "uniform_row_length",
                      json.items()[0].text()));
    }
    RaggedPartition made{.kind = static_cast<PartitionKind>(kind - kinds.begin())};
    const Json& value = json.items()[1];
    if (made.kind == PartitionKind::uniform_row_length) {
      if (!value.is(Json::Kind::integer) || value.integer() < 1)
        return wrong(fmt::format("a uniform row length must be 1 or more, found {}", value.text()));
      made.length = value.integer();
    } else {
      if (!value.is(Json::Kind::string))
        return wrong(fmt::format("the key of a partition must be a string, found {}", value.kind_name()));
      made.key = value.string();
    }
    return made;
  }

  RawFeature raw() {
    const FeatureOptions& o = options_;
    if (o.stored && *o.stored != StoredAs::bytes) {
      fault("stored", fmt::format("bytes and numbers cannot become each other: dtype {} cannot come from '{}'",
                                  to_string(o.dtype), name_in_documents(*o.stored)));
    }
    return {.dtype = o.dtype,
            .shape = o.shape,
            .endian = o.endian,
            .len = o.len,
            .fixed_length = o.fixed_length,
            .key = o.key,
            .as = o.as,
            .allow_missing = o.allow_missing};
  }

  const FeatureOptions& options_;
  std::vector<Error> faults_;
};

template <class T>
Json one_or_list(const std::vector<T>& values) {
  Json list = JsonCodec<std::vector<T>>::write(values);
  return values.size() == 1 ? list.items()[0] : list;
}

Json list_of(const std::vector<RaggedPartition>& partitions) {
  std::vector<Json> items;
  for (const RaggedPartition& one : partitions) {
    const bool uniform = one.kind == PartitionKind::uniform_row_length;
    items.push_back(
        Json::array({Json{std::string{name_in_documents(one.kind)}}, uniform ? Json{one.length} : Json{one.key}}));
  }
  return Json::array(std::move(items));
}

/// Visitor that copies the members of a typed form to options.
struct OptionsWriter {
  FeatureOptions& out;

  template <class Feature>
  void operator()(const Feature& from) const {
    out.dtype = from.dtype;
    if constexpr (requires { from.key; }) out.key = from.key;
    if constexpr (requires { from.shape; }) out.shape = from.shape;
    if constexpr (requires { from.default_value; }) out.default_value.json = to_json(from.default_value);
    if constexpr (requires { from.stored; }) out.stored = from.stored;
    if constexpr (requires { from.as; }) out.as = from.as;
    if constexpr (requires { from.allow_missing; }) out.allow_missing = from.allow_missing;
    if constexpr (requires { from.value_key; }) out.value_key = from.value_key;
  }
  void only(const SparseFeature& from) const {
    out.index_key.json = one_or_list(from.index_key);
    out.size.json = one_or_list(from.size);
    out.already_sorted = from.already_sorted;
  }
  void only(const RaggedFeature& from) const {
    out.partitions.json = list_of(from.partitions);
    if (from.row_splits_dtype != RaggedFeature{}.row_splits_dtype) out.row_splits_dtype = from.row_splits_dtype;
    out.validate = from.validate;
  }
  void only(const RawFeature& from) const {
    out.endian = from.endian, out.len = from.len, out.fixed_length = from.fixed_length;
  }
  void only(const auto&) const {}
};

}  // namespace

Use use_of(std::string_view option, FeatureKind kind) {
  if (option == "kind") return Use::none;
  const auto* const rule = std::ranges::find(rules, option, &Rule::option);
  if (rule == rules.end()) return option == "dtype" ? Use::required : Use::optional;
  const Kinds kinds = kind == Kind::fixed_len ? dense : set(kind);  // a fixed-length feature may be read as a sequence
  if ((rule->required & kinds) != 0) return Use::required;
  return (rule->kinds & kinds) != 0 ? Use::optional : Use::none;
}

ExampleFeature feature_of(const FeatureOptions& options) { return FormReader{options}.read(); }

FeatureOptions options_of(const ExampleFeature& feature) {
  FeatureOptions out{.kind = feature.kind()};
  const OptionsWriter writer{out};
  std::visit([&](const auto& form) { writer(form), writer.only(form); }, feature.form);
  return out;
}

}  // namespace forebay::decoders
