// SPDX-License-Identifier: Apache-2.0
#include "batchers/sequence_choice.h"

#include <algorithm>

namespace forebay::batchers {

Error bad_frames(const std::string& option, const std::string& message) {
  return Error{Code::config, Detail::invalid_argument, message}.at(Field{option});
}

Result<std::vector<std::int64_t>> by_key(const std::optional<FramesByKey>& limit, const LengthKeys& keys,
                                         const std::string& option, std::int64_t none, std::int64_t min) {
  std::vector<std::int64_t> out(keys.names.size(), none);
  if (!limit) return out;
  if (const auto* const named = std::get_if<FramesOfKeys>(&*limit)) {
    for (const auto& [name, value] : *named) {
      if (std::ranges::find(keys.names, name) != keys.names.end()) continue;
      return bad_frames(option, "'" + name + "' is not one of the tensors whose frames count; list it in `keys`");
    }
  }
  for (std::size_t key = 0; key < out.size(); ++key) {
    out[key] = frames_of(*limit, keys.names[key]).value_or(none);
    if (out[key] < min) return bad_frames(option, "must be at least " + std::to_string(min));
  }
  return out;
}

namespace {

Result<void> add_weight(const Frames& options, const Schema& in, Batching& batching) {
  const std::string& name = *options.weight;
  FOREBAY_TRY(const ColumnId column, in.find(name).at(Field{"weight"}));
  const ColumnSpec& spec = in[column];
  const bool number = spec.dtype != DType::string && spec.dtype != DType::boolean && !is_complex(spec.dtype);
  if (spec.shape.rank() > 0 || !number)
    return bad_frames("weight", "tensor '" + name + "' is " + std::string{to_string(spec.dtype)} + " of shape " +
                                    spec.shape.text() + "; a weight is one number, of shape []");
  batching.attributes.push_back(
      {.expression = Expression{quoted_name(name) + " * 1.0"}, .kind = AttributeKind::real, .option = {"weight"}});
  return {};
}

}  // namespace

Result<ChoiceOptions> choice_of(const Frames& options, const LengthKeys& keys, const Schema& in, Batching& batching) {
  ChoiceOptions out{.sequences = options.max_total_num_seqs.value_or(no_limit),
                    .drop = options.seq_drop,
                    .weighs = options.weight.has_value(),
                    .mean_weight = options.mean_weight,
                    .pruning = options.pruning};
  FOREBAY_TRY(out.longest, by_key(options.max_seq_length, keys, "max_seq_length", no_limit, 1));
  FOREBAY_TRY(out.shortest, by_key(options.min_seq_length, keys, "min_seq_length", 0, 0));
  if (!(options.seq_drop >= 0 && options.seq_drop <= 1))
    return bad_frames("seq_drop",
                      "seq_drop is a probability, a number from 0 to 1, found " + std::to_string(options.seq_drop));
  if (!(options.mean_weight > 0)) return bad_frames("mean_weight", "the mean of the weights is above 0");
  if (!(options.pruning >= 0)) return bad_frames("pruning", "pruning is a number from 0 on");
  if (options.pruning > 0 && !options.weight)
    return bad_frames("pruning", "`pruning` leaves sequences out by their weight; name its tensor in `weight`");
  if (options.weight) FOREBAY_DO(add_weight(options, in, batching));
  return out;
}

bool SequenceChoice::wants(const Measured& stream) {
  if (options_.counts()) begin_pass(stream);
  for (std::size_t key = 0; key < options_.longest.size(); ++key) {
    const std::int64_t length = stream.length(key);
    if (length > options_.longest[key] || length < options_.shortest[key]) return false;
  }
  if (options_.counts() && sequences_ == options_.sequences && !counted(stream)) return false;
  return drawn(stream);
}

void SequenceChoice::count(const Measured& stream) {
  if (!options_.counts()) return;
  begin_pass(stream);
  if (counted(stream)) return;
  last_ = stream.sequence();
  ++sequences_;
}

/// A weight below its share of the mean survives with a probability that grows with it.
bool SequenceChoice::drawn(const Measured& stream) const {
  if (options_.drop > 0 && unit_of(stream.draw(seq_drop_draw)) < options_.drop) return false;
  if (options_.pruning == 0) return true;
  const double least = unit_of(stream.draw(weight_draw)) * options_.mean_weight * options_.pruning;
  return stream.real(options_.longest.size()) * (1 + options_.pruning) >= least;
}

void SequenceChoice::begin_pass(const Measured& stream) {
  if (stream.pass() == pass_) return;
  pass_ = stream.pass();
  sequences_ = 0;
  last_ = -1;
}

}  // namespace forebay::batchers
