// SPDX-License-Identifier: Apache-2.0
#include "decoders/lists/step_runs.h"

#include <array>
#include <cstring>

namespace forebay::decoders {
namespace {

using columns::Wire;

/// Reads a tag byte and the bytes of its field. False: another tag is there, or the length exceeds the message.
bool take_field(Wire& wire, std::uint8_t tag, Wire& bytes) {
  if (wire.empty() || *wire.at != tag) return false;
  ++wire.at;
  return columns::read_bytes(wire, bytes);
}

/// Puts a tag and a length in front of the bytes that `size` counts.
void put_in_front(std::uint8_t tag, std::uint64_t& size, std::array<std::uint8_t, 32>& head, std::size_t& used) {
  std::array<std::uint8_t, 10> field{tag};
  std::size_t count = 1;
  for (std::uint64_t rest = size; count == 1 || rest > 0; rest >>= 7)
    field[count++] = static_cast<std::uint8_t>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  std::memmove(head.data() + count, head.data(), used);
  std::memcpy(head.data(), field.data(), count);
  used += count;
  size += count;
}

}  // namespace

std::optional<StepHead> StepHead::of(std::uint8_t tag, std::uint64_t value_bytes) {
  if (value_bytes == 0 || value_bytes >= std::uint64_t{1} << 27) return std::nullopt;
  std::array<std::uint8_t, 32> head{};
  std::array<std::uint8_t, 32> mask{};
  StepHead out;
  for (const std::uint8_t field : {std::uint8_t{0x0a}, tag, std::uint8_t{0x0a}})
    put_in_front(field, value_bytes, head, out.size_);
  std::memset(mask.data(), 0xff, out.size_);
  out.low_ = columns::load64(head.data()), out.low_mask_ = columns::load64(mask.data());
  out.high_ = columns::load64(head.data() + 8), out.high_mask_ = columns::load64(mask.data() + 8);
  return out;
}

bool next_long_list(Wire& steps, std::uint8_t tag, Wire& list) {
  Wire step;
  if (!take_field(steps, 0x0a, step)) return false;
  list = {step.end, step.end};
  return step.empty() || (take_field(step, tag, list) && step.empty());
}

bool only_long_run(Wire list, Wire& run) {
  run = {list.end, list.end};
  return list.empty() || (take_field(list, 0x0a, run) && list.empty());
}

bool next_entry(Wire& entries, Wire& key, Wire& steps) {
  Wire entry;
  return take_field(entries, 0x0a, entry) && take_field(entry, 0x0a, key) && take_field(entry, 0x12, steps) &&
         entry.empty();
}

}  // namespace forebay::decoders
