// SPDX-License-Identifier: Apache-2.0
#include "queues/live_example.h"

#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

namespace forebay::queues {

namespace {

Error bad_example(const SaverExample& example, std::string_view what) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("example {}: {}", quote(example.key), what)};
}

std::string name_of(const SaverExample& example, std::string_view kind, const SaverColumn& column) {
  return fmt::format("example {}: {} {}", quote(example.key), kind, quote(column.name));
}

Result<void> check_count(const SaverExample& example, std::string_view kind, std::size_t found, std::size_t allowed) {
  if (found == allowed) return {};
  return bad_example(example,
                     fmt::format("{} {} tensors, allowed are those that were declared: {}", found, kind, allowed));
}

/// Frames of all sequences, which must agree.
Result<std::int64_t> frames_of(const SaverPlan& plan, const SaverExample& example) {
  FOREBAY_DO(check_count(example, "sequence", example.sequences.size(), plan.sequences.size()));
  std::int64_t frames = 0;
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const SaverColumn& column = plan.sequences[i];
    const Tensor& tensor = example.sequences[i];
    Shape shape;
    shape.assign(tensor.shape.rank() == 0 ? unknown_dim : tensor.shape[0], column.shape);
    FOREBAY_DO(check_tensor(tensor, column.dtype, shape, name_of(example, "sequence", column)));
    if (i == 0) frames = shape[0];
    if (shape[0] != frames)
      return bad_example(example,
                         fmt::format("sequence {} has {} frames, but sequence {} has a length of {}; all must be equal",
                                     quote(column.name), shape[0], quote(plan.sequences[0].name), frames));
  }
  constexpr auto max = std::numeric_limits<std::int32_t>::max();
  if (frames > 0 && frames <= max - plan.num_unroll && (plan.pad || frames % plan.num_unroll == 0)) return frames;
  return bad_example(
      example, fmt::format("sequence {} has {} frames, which should be {}; {}", quote(plan.sequences[0].name), frames,
                           frames > max - plan.num_unroll ? "fewer than 2^31 with padding"
                           : plan.pad                     ? fmt::format("1 or more (segments have {})", plan.num_unroll)
                                      : fmt::format("a multiple of num_unroll, {}, and not 0", plan.num_unroll),
                           plan.pad ? "leave such sequences out" : "pad them, or set pad=true"));
}

Result<std::int32_t> length_of(const SaverPlan& plan, const SaverExample& example, std::int64_t frames) {
  if (!example.length) {
    if (plan.pad) return static_cast<std::int32_t>(frames);
    return bad_example(example, "it has no length; give the number of frames that count, or set pad=true");
  }
  const std::int64_t padded = (frames + plan.num_unroll - 1) / plan.num_unroll * plan.num_unroll;
  if (*example.length >= 0 && *example.length <= padded) return static_cast<std::int32_t>(*example.length);
  return bad_example(example,
                     fmt::format("length {}, allowed is 0 … {}, the frames of its sequences with their padding",
                                 *example.length, padded));
}

/// Copies the tensors that have no owner: numbers to one block, each string tensor to memory of its own.
void copy_unowned(std::vector<Tensor>& tensors, SaverMemory& memory) {
  std::vector<Tensor> copies;
  std::vector<Tensor*> places;
  copies.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    copies.push_back(tensor.owner || tensor.dtype != DType::string ? tensor : copy_of(tensor));
    if (!copies.back().owner) places.push_back(&copies.back());
  }
  if (!places.empty()) memory.place(places);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(tensors[i].count()) * size_of(tensors[i].dtype);
    if (copies[i].data != tensors[i].data) std::memcpy(copies[i].data, tensors[i].data, bytes);
  }
  tensors = std::move(copies);
}

Result<void> give_states(const SaverPlan& plan, const SaverExample& example, LiveExample& out) {
  out.states = plan.initial;
  out.texts = plan.initial_texts;
  if (example.states.empty()) return {};
  FOREBAY_DO(check_count(example, "state", example.states.size(), plan.states.size()));
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    const SaverColumn& column = plan.states[i];
    const Tensor& given = example.states[i];
    FOREBAY_DO(check_tensor(given, column.dtype, column.shape, name_of(example, "state", column)));
    if (column.text()) {
      out.texts[i] = copy_of(given);
    } else {
      std::memcpy(out.states.data() + column.offset, given.data, column.bytes);
    }
  }
  return {};
}

}  // namespace

Tensor copy_texts(const Tensor& from, std::int64_t first, std::int64_t count, const Shape& shape) {
  struct Texts {
    std::vector<std::int64_t> splits;
    std::vector<std::byte> bytes;
  };
  const auto texts = std::make_shared<Texts>();
  const std::int64_t* const splits = from.byte_splits + first;
  texts->bytes.assign(from.bytes + splits[0], from.bytes + splits[count]);
  for (std::int64_t i = 0; i <= count; ++i) texts->splits.push_back(splits[i] - splits[0]);
  Tensor out{.dtype = DType::string, .shape = shape};
  out.byte_splits = texts->splits.data();
  out.bytes = texts->bytes.data();
  out.owner = texts;
  return out;
}

Tensor empty_texts(const Shape& shape) {
  const auto splits = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(shape.count()) + 1);
  Tensor out{.dtype = DType::string, .shape = shape};
  out.byte_splits = splits->data();
  out.owner = splits;
  return out;
}

Tensor copy_of(const Tensor& tensor) {
  if (tensor.dtype == DType::string) return copy_texts(tensor, 0, tensor.shape.count(), tensor.shape);
  const auto bytes = static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype);
  const auto memory = std::make_shared<std::vector<std::byte>>(tensor.data, tensor.data + bytes);
  Tensor out{.dtype = tensor.dtype, .shape = tensor.shape, .data = memory->data()};
  out.owner = memory;
  return out;
}

Result<std::unique_ptr<LiveExample>> make_live(const SaverPlan& plan, SaverExample example, SaverMemory& memory) {
  auto out = std::make_unique<LiveExample>();
  FOREBAY_TRY(out->frames, frames_of(plan, example));
  FOREBAY_TRY(out->length, length_of(plan, example, out->frames));
  out->count = static_cast<std::int32_t>((out->frames + plan.num_unroll - 1) / plan.num_unroll);
  FOREBAY_DO(check_count(example, "context", example.context.size(), plan.context.size()));
  for (std::size_t i = 0; i < plan.context.size(); ++i) {
    const SaverColumn& column = plan.context[i];
    FOREBAY_DO(check_tensor(example.context[i], column.dtype, column.shape, name_of(example, "context", column)));
  }
  FOREBAY_DO(give_states(plan, example, *out));
  out->sequences = std::move(example.sequences);
  out->context = std::move(example.context);
  copy_unowned(out->sequences, memory);
  copy_unowned(out->context, memory);
  out->epoch = example.epoch;
  out->key = std::make_shared<const std::string>(std::move(example.key));
  return out;
}

}  // namespace forebay::queues
