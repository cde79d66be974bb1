// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/example.h>

namespace forebay {
namespace {

const Fields<ExampleFeature>& fields() {
  using F = ExampleFeature;
  static const Fields<F> all =
      Fields<F>{}
          .field("kind", &F::kind, "How many values a record has, and in what shape they come out.")
          .field("key", &F::key, "Name in the message; the tensor's name when left out.")
          .required("dtype", &F::dtype, "Type of the tensor; values stored as another type are converted.")
          .field("shape", &F::shape, "Shape of a record, or of one step of a sequence; one size may be -1.")
          .field("default", &F::fallback,
                 "fixed_len: value when missing (without: an error); fixed_len_sequence: what pads it.")
          .field("stored", &F::stored,
                 "Type in the message; left out: int for integers and bool, float for floats, else bytes.")
          .field("as", &F::as, "How a variable kind is handed over; var_len: ragged, fixed_len_sequence: padded.")
          .field("index_key", &F::index_key, "sparse: key of the indices, or a list with one key per axis.")
          .field("value_key", &F::value_key,
                 "sparse, ragged: key of the values; ragged: the tensor's name when left out.")
          .field("size", &F::size, "sparse: size of the dense tensor, or a list with one size per axis.")
          .field("already_sorted", &F::already_sorted, "sparse: take the indices in the order in which they come.")
          .field("partitions", &F::partitions,
                 "ragged: list of [kind, key] outermost first; kinds row_splits, row_lengths, row_starts, row_limits, "
                 "value_rowids, or [\"uniform_row_length\", length].")
          .field("row_splits_dtype", &F::row_splits_dtype, "ragged: int32 or int64.")
          .field("validate", &F::validate, "ragged: refuse partitions that do not fit the values.")
          .field("endian", &F::endian, "raw: byte order of the numbers; must be given.")
          .field("len", &F::len, "raw: number of byte strings; more than 1 adds a first axis.",
                 {.min = 1, .max = 1 << 30})
          .field("fixed_length", &F::fixed_length, "raw: cut or zero-fill every byte string to this length.",
                 {.min = 1, .max = 1 << 30})
          .field("allow_missing", &F::allow_missing,
                 "Lists of a sequence example: take a missing list as an empty one.");
  return all;
}

}  // namespace

std::optional<ExampleFeature> JsonCodec<ExampleFeature>::read(const Json& json, std::vector<Error>& faults) {
  return fields().read(json, faults);
}

Json JsonCodec<ExampleFeature>::write(const ExampleFeature& value) { return fields().write(value); }

Json JsonCodec<ExampleFeature>::schema() { return fields().schema(); }

std::string JsonCodec<ExampleFeature>::python_type() { return "Feature"; }

}  // namespace forebay
