// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/describe.h>

namespace forebay {

enum class FeatureKind : std::uint8_t {
  fixed_len,           ///< The same number of values in every record: shape.
  var_len,             ///< Any number of values: [n].
  fixed_len_sequence,  ///< Any number of steps of one shape: [t] + shape.
  sparse,              ///< Values with lists of their indices, from several keys of the message.
  ragged,              ///< Values with row partitions, from several keys of the message.
  raw,                 ///< Byte strings that hold the numbers of a tensor.
};
/// The list of a message that holds the values. An enumerator that would be a keyword ends in "_"; in documents: int,
/// float, bytes.
enum class StoredAs : std::uint8_t { int_, float_, bytes };
enum class Endian : std::uint8_t { little, big };

/// How one tensor comes out of a message. The columns, by kind and by `as`:
///
/// * `fixed_len`, `raw`: known shape (`raw` with len > 1: [len] + shape). One size of -1, at any axis, is what
///   the values of the record make it: a `fixed_len` is then read like a `fixed_len_sequence` of the rest.
/// * `var_len`: [-1]; `fixed_len_sequence`: [-1] + shape. Missing: 0 values.
/// * `sparse`: values [-1], `ColumnSpec::sizes` is the dense shape of a row, `parts[k]` the int64 [-1] indices along
///   axis k; all rows of all parts are as long as the values, sorted (unless `already_sorted`) and inside the sizes.
/// * `ragged`: values [-1] + the lengths of trailing uniform partitions; `parts[k]` are the int64 [-1] row splits of
///   the other levels, outermost first, each row starting at 0 and counting within its record. With n_k splits in
///   parts[k], the record has n_0 - 1 outer rows. A batch joins a level by adding the sum of the sizes (n - 1 of the
///   next level; of the innermost, the first dim of the values) of the records before; no parts: one level, the rows.
///   With `validate` false the levels hold the numbers themselves (ColumnSpec::partitioning), and a batch takes them
///   for one long partition: lengths and row ids add up whatever they split, starts end with the size of the batch.
/// * lists of a sequence example, `var_len`: values [-1], `parts[0]` the row splits of the steps; delivered sparse,
///   `sizes` is empty and the indices follow from the splits. `ragged`: the splits of the steps come first.
struct ExampleFeature {
  FeatureKind kind = FeatureKind::fixed_len;
  std::optional<std::string> key;            ///< Name in the message; the tensor's name when left out.
  DType dtype = DType::float32;              ///< Of the tensor; converted when it is stored differently.
  Shape shape;                               ///< Of a record, or of a step.
  Json fallback;                             ///< "default": of fixed_len when missing; what pads a fixed_len_sequence.
  std::optional<StoredAs> stored;            ///< Left out: ints for integers and bool, floats for floats, else bytes.
  std::optional<Delivery> as;                ///< Of variable kinds: ragged, sparse, padded or equal.
  Json index_key;                            ///< sparse: a key, or one per axis.
  std::optional<std::string> value_key;      ///< sparse and ragged: key of the values.
  Json size;                                 ///< sparse: an integer, or one per axis.
  bool already_sorted = false;               ///< sparse: indices are taken as they come.
  Json partitions;                           ///< ragged: [[kind, key or length], …], outermost first.
  DType row_splits_dtype = DType::int32;     ///< ragged: int32 or int64.
  bool validate = true;                      ///< ragged: refuse partitions that do not fit; false lets them through.
  std::optional<Endian> endian;              ///< raw: byte order; must be given.
  std::int64_t len = 1;                      ///< raw: number of byte strings.
  std::optional<std::int64_t> fixed_length;  ///< raw: bytes to cut or zero-fill each string to.
  bool allow_missing = false;                ///< Lists of a sequence example: a missing list is an empty one.
};

using FeatureMap = std::vector<std::pair<std::string, ExampleFeature>>;

/// Decodes tf.train.Example messages, one tensor per feature.
struct ExampleFeatures {
  FeatureMap features;  ///< By name of the tensor.
};

template <>
struct EnumNames<FeatureKind> {
  static constexpr std::array<std::string_view, 6> names{"fixed_len", "var_len", "fixed_len_sequence",
                                                         "sparse",    "ragged",  "raw"};
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
