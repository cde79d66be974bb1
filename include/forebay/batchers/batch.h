// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/scalar.h>
#include <forebay/schema.h>

namespace forebay {

/// Handling of a last batch that is not full.
enum class Remainder : std::uint8_t {
  keep,    ///< It is delivered short.
  drop,    ///< It is left out.
  pad,     ///< It is filled up with empty rows; Batch::valid_rows is the number of real ones.
  repeat,  ///< It is filled up with its own records, from its first one on.
};

/// How one tensor is padded.
struct PadTensor {
  TensorName tensor;
  std::optional<Shape> shape = {};  ///< Sizes to pad to, without the batch axis. -1, or left out: the batch's maximum.
  Scalar value = {};                ///< The padding. Left out: 0, false or "".
  /// Options that cannot be read. Set by the codec; the batch step reports them together with its own faults.
  std::vector<Error> faults = {};
};

/// True: each unknown dim of every tensor is padded to the batch's maximum. A list: also those tensors as it says.
using Pad = std::variant<bool, std::vector<PadTensor>>;

/// Cuts the stream into batches of one size. `Batch` is what a loader delivers, so the step's options have this name.
struct FixedBatch {
  std::int64_t size = 32;  ///< Rows of a batch.
  /// Name of a function that the program binds. It is asked with the number of each batch, from 0 on, and answers with
  /// the rows of that batch, 0 to `size`. It must be pure: a restart asks again.
  std::optional<BindingName> size_function = {};
  Remainder remainder = Remainder::keep;  ///< Handling of a last batch that is not full.
  Pad pad = false;
  bool seq_idx = false;        ///< Number the sequences of each pass (Batch::seq_idx).
  bool epoch_end = false;      ///< The last batch of each epoch has one empty row more (Batch::epoch_end).
  bool require_equal = false;  ///< Rows of unequal shape are an error instead of being delivered ragged.
};

template <>
struct JsonCodec<Pad> {
  static std::optional<Pad> read(const Json& json, std::vector<Error>& faults);
  static Json write(const Pad& value);
  static Json schema();
  static std::string python_type();
  static void add_tensors(const Json& json, std::vector<std::string>& names);
};

}  // namespace forebay
