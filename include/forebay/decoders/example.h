// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <forebay/describe.h>
#include <forebay/scalar.h>

/// The options of the decoders `example` and `sequence_example`: one struct for each kind of feature. The names in a
/// document are those of the members; `default_value` is "default" there, and a list with one item may be that item.
namespace forebay {

/// The list of a message that holds the values: "int", "float" or "bytes". A keyword of C++ gets an underscore.
enum class StoredAs : std::uint8_t { int_, float_, bytes };
enum class Endian : std::uint8_t { little, big };

/// A feature with the same number of values in every record. One size of -1, at any axis, is what the values of the
/// record make it: the feature is then read like a `fixed_len_sequence` of the other sizes.
struct FixedLenFeature {
  DType dtype = DType::float32;         ///< Of the tensor. Values that are stored as another type are converted.
  Shape shape = {};                     ///< Of a record.
  DefaultValue default_value = {};      ///< Used when the feature is missing. Without it that is an error.
  std::optional<std::string> key = {};  ///< Name in the message. Left out: the tensor's name.
  std::optional<StoredAs> stored = {};  ///< Left out: int_ for integers and bool, float_ for floats, else bytes.
  std::optional<Delivery> as = {};      ///< With a size of -1: padded (when left out), ragged or equal.
  bool allow_missing = false;           ///< With a size of -1: a list that is missing is empty.
};

/// A feature with any number of values: [-1]. A missing one has none. A list of a sequence example has values [-1] and
/// `parts[0]`, the row splits of its steps; delivered sparse, the indices follow from these splits.
struct VarLenFeature {
  DType dtype = DType::float32;
  std::optional<std::string> key = {};
  std::optional<StoredAs> stored = {};
  std::optional<Delivery> as = {};  ///< Ragged (when left out), sparse, padded or equal; a list: ragged or sparse.
  bool allow_missing = false;       ///< Lists: accepted; a missing list is empty anyway.
};

/// A feature with any number of steps of one shape: [-1] + shape. A missing one has no steps.
struct FixedLenSequenceFeature {
  DType dtype = DType::float32;
  Shape shape = {};                 ///< Of a step.
  DefaultValue default_value = {};  ///< One value, which pads the shorter rows.
  std::optional<std::string> key = {};
  std::optional<StoredAs> stored = {};
  std::optional<Delivery> as = {};  ///< Padded (when left out), ragged or equal.
  bool allow_missing = false;       ///< Lists: a missing list is an empty one. Without it that is an error.
};

/// A sparse tensor made from several keys of the message. The column has the values [-1]; `ColumnSpec::sizes` is the
/// dense shape of a row, and `parts[k]` are the int64 [-1] indices along axis k, as many as values, inside the sizes.
struct SparseFeature {
  DType dtype = DType::float32;
  std::vector<std::string> index_key = {};  ///< The key of the indices along each axis.
  std::string value_key = {};               ///< The key of the values.
  std::vector<std::int64_t> size = {};      ///< The size of each axis.
  std::optional<StoredAs> stored = {};
  bool already_sorted = false;  ///< The indices stay in the order of the message. False: they are sorted.
};

enum class PartitionKind : std::uint8_t {
  row_splits,
  row_lengths,
  row_starts,
  row_limits,
  value_rowids,
  uniform_row_length
};

/// One level of a ragged tensor; ["row_splits", "key"] or ["uniform_row_length", 3] in documents.
struct RaggedPartition {
  PartitionKind kind = PartitionKind::row_splits;
  std::string key = {};     ///< The key of its numbers; unused by uniform_row_length.
  std::int64_t length = 0;  ///< Of uniform_row_length.
};

/// A ragged tensor made from several keys of the message. The column has values [-1] + the lengths of trailing uniform
/// partitions; `parts[k]` are the int64 [-1] row splits of the other levels, outermost first. Each row of `parts[k]`
/// starts at 0 and counts within its record: with n_k splits in it the record has n_0 - 1 outer rows. A batch joins a
/// level by adding the sum of the sizes (n - 1 of the next level; of the innermost, the first dim of the values) of the
/// records before. Without partitions the rows are the only level. In lists of a sequence example the row splits of the
/// steps come first.
struct RaggedFeature {
  DType dtype = DType::float32;
  std::vector<RaggedPartition> partitions = {};  ///< Outermost first.
  std::optional<std::string> value_key = {};     ///< The key of the values. Left out: the tensor's name.
  DType row_splits_dtype = DType::int32;         ///< int32 or int64.
  /// Partitions that do not fit the values are an error. False: the levels hold the numbers of the message
  /// (ColumnSpec::partitioning), and a batch takes them for one long partition: lengths and row ids are added up,
  /// starts end with the size of the batch.
  bool validate = true;
  std::optional<StoredAs> stored = {};
  bool allow_missing = false;  ///< Lists: accepted; a missing list is empty anyway.
};

/// Numbers in byte strings: a tensor of known shape, [len] + shape for more than one string.
struct RawFeature {
  DType dtype = DType::float32;
  Shape shape = {};                               ///< Of one byte string. One size may be -1.
  std::optional<Endian> endian = {};              ///< Byte order. Must be given.
  std::int64_t len = 1;                           ///< Number of byte strings.
  std::optional<std::int64_t> fixed_length = {};  ///< Each byte string is cut or zero-filled to so many bytes.
  std::optional<std::string> key = {};
  std::optional<Delivery> as = {};  ///< With a size of -1: equal (when left out), padded or ragged; lists: padded.
  bool allow_missing = false;       ///< Lists: a missing list is an empty one. Without it that is an error.
};

/// The kinds by their names in documents, in the order of the forms of ExampleFeature.
enum class FeatureKind : std::uint8_t { fixed_len, var_len, fixed_len_sequence, sparse, ragged, raw };

/// How one tensor comes out of a message.
struct ExampleFeature {
  using Form =
      std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature, SparseFeature, RaggedFeature, RawFeature>;
  ExampleFeature() = default;
  template <class Feature>
  requires std::constructible_from<Form, Feature> ExampleFeature(Feature feature)
      : form{std::move(feature)} {}  // NOLINT
  [[nodiscard]] FeatureKind kind() const { return static_cast<FeatureKind>(form.index()); }

  Form form;
  /// Options that do not fit the kind. Set by the codec; the decoder reports them together with its own faults.
  std::vector<Error> faults = {};
};

using FeatureMap = std::vector<std::pair<std::string, ExampleFeature>>;

/// Decodes tf.train.Example messages, one tensor per feature.
struct ExampleFeatures {
  FeatureMap features;  ///< By name of the tensor.
};

/// The kinds of features with the options that each one has, from the declarations that read documents. An option that
/// a kind cannot do without is required here.
[[nodiscard]] std::vector<Description> feature_kinds();

template <>
struct EnumNames<FeatureKind> {
  static constexpr std::array<std::string_view, 6> names{"fixed_len", "var_len", "fixed_len_sequence",
                                                         "sparse",    "ragged",  "raw"};
};
template <>
struct EnumNames<PartitionKind> {
  static constexpr std::array<std::string_view, 6> names{"row_splits", "row_lengths",  "row_starts",
                                                         "row_limits", "value_rowids", "uniform_row_length"};
};
template <>
struct EnumNames<StoredAs> {
  static constexpr std::array<std::string_view, 3> names{"int", "float", "bytes"};
};
template <>
struct EnumNames<Endian> {
  static constexpr std::array<std::string_view, 2> names{"little", "big"};
};
template <>
struct EnumNames<Delivery> {
  static constexpr std::array<std::string_view, 4> names{"equal", "padded", "ragged", "sparse"};
};
template <>
struct JsonCodec<ExampleFeature> {
  static std::optional<ExampleFeature> read(const Json& json, std::vector<Error>& faults);
  static Json write(const ExampleFeature& value);
  static Json schema();
  static std::string python_type();
};

}  // namespace forebay
