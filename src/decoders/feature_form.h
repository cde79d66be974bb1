// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <forebay/decoders/example.h>

/// Between the JSON form of a feature, which has the options of all kinds, and the typed form, which has those of one.
namespace forebay::decoders {

inline constexpr std::size_t max_rank = 16;
inline constexpr std::string_view only_lists_may_be_missing =
    "is for lists of a sequence example; give a fixed_len feature a default instead";

/// An option whose type depends on other options. Any JSON is read; `feature_of` reports values that do not fit.
enum class Late : std::uint8_t { default_value, keys, sizes, partitions };
template <Late>
struct LateJson {
  Json json = {};
};

/// The members of a feature in a document. Their names, defaults and docs are declared in feature_fields.cc.
struct FeatureOptions {
  FeatureKind kind = FeatureKind::fixed_len;
  std::optional<std::string> key;
  DType dtype = FixedLenFeature{}.dtype;
  Shape shape;
  LateJson<Late::default_value> default_value;
  std::optional<StoredAs> stored;
  std::optional<Delivery> as;
  LateJson<Late::keys> index_key;
  std::optional<std::string> value_key;
  LateJson<Late::sizes> size;
  bool already_sorted = SparseFeature{}.already_sorted;
  LateJson<Late::partitions> partitions;
  std::optional<DType> row_splits_dtype;
  bool validate = RaggedFeature{}.validate;
  std::optional<Endian> endian;
  std::int64_t len = RawFeature{}.len;
  std::optional<std::int64_t> fixed_length;
  bool allow_missing = false;
};

/// Whether a feature of that kind may have the option, or must have it. `kind` itself is an option of none.
enum class Use : std::uint8_t { none, optional, required };
[[nodiscard]] Use use_of(std::string_view option, FeatureKind kind);

/// The typed form. Options that do not fit the kind are its `faults`, each with the option as its field.
[[nodiscard]] ExampleFeature feature_of(const FeatureOptions& options);
[[nodiscard]] FeatureOptions options_of(const ExampleFeature& feature);

/// The kind by which a feature is read: a `fixed_len` with one size of -1 is a sequence.
[[nodiscard]] inline FeatureKind reading_kind(FeatureKind kind, const Shape& shape) {
  const bool open = kind == FeatureKind::fixed_len && shape.unknown() == 1;
  return open ? FeatureKind::fixed_len_sequence : kind;
}

/// A kind, partition, … as documents name it.
template <class Enum>
[[nodiscard]] std::string_view name_in_documents(Enum value) {
  return EnumNames<Enum>::names[static_cast<std::size_t>(value)];
}

}  // namespace forebay::decoders
