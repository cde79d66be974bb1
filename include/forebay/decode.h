// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/batch.h>
#include <forebay/decoder_choice.h>
#include <forebay/error.h>
#include <forebay/schema.h>

/// Decoders as functions: records in, tensors out, without a source and without a run.
namespace forebay {

/// One tensor of decoded records; its first axis is the records.
struct DecodedTensor {
  std::string name;
  Value value;
  std::optional<Tensor> lengths = {};  ///< As Batch::lengths; nothing for fixed tensors.
};

/// A decoder that was bound to its options, to be called as often as needed. Immutable; any number of threads may call
/// it at once.
///
///     auto decoder = DecodeFunction::bind({.name = "raw", .options = *parse_json(R"({"dtype": "int16"})")});
///     auto tensors = decoder->decode(records);
class DecodeFunction {
 public:
  /// Fails with Code::config and the places of all faults: an unknown decoder, wrong options. `memory` is the budget of
  /// one call in bytes; 0: a quarter of the machine's memory.
  [[nodiscard]] static Result<DecodeFunction> bind(const DecoderChoice& decoder, std::int64_t memory = 0);

  /// Decodes the records in the order of the call. The tensors are those of a batch of these records, in the order of
  /// the schema: dense, padded, ragged or sparse as the options say. Fails with Code::data and Place::record, counted
  /// in the call, for the first record that the decoder cannot read, and with resource_exhausted when the tensors do
  /// not fit into the budget.
  [[nodiscard]] Result<std::vector<DecodedTensor>> decode(std::span<const std::string_view> records) const;

  [[nodiscard]] const std::vector<ColumnSpec>& columns() const;  ///< The tensors, as a plan's schema describes them.

 private:
  struct State;
  explicit DecodeFunction(std::shared_ptr<const State> state) : state_{std::move(state)} {}
  std::shared_ptr<const State> state_;
};

/// `DecodeFunction::bind` and one `decode`.
[[nodiscard]] Result<std::vector<DecodedTensor>> decode(const DecoderChoice& decoder,
                                                        std::span<const std::string_view> records);

}  // namespace forebay
