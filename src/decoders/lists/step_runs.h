// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "columns/wire.h"

/// The steps of a feature list in the form that writers give them:
///
///     0a length                       the step, a Feature
///        tag length                   its list: 0a bytes, 12 floats, 1a ints
///           0a length values          one packed run, or one string
///
/// Every function returns false for any other form, also for a legal one: FeatureWriter reads those.
namespace forebay::decoders {

/// The bytes of a step before its values. They are the same in all steps whose values have one size.
class StepHead {
 public:
  /// Null when the values have no bytes, or too many. `tag` is that of the list.
  [[nodiscard]] static std::optional<StepHead> of(std::uint8_t tag, std::uint64_t value_bytes);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Reads 16 bytes.
  [[nodiscard]] bool matches(const std::uint8_t* step) const {
    return (((columns::load64(step) ^ low_) & low_mask_) | ((columns::load64(step + 8) ^ high_) & high_mask_)) == 0;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t low_mask_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t high_mask_ = 0;
  std::size_t size_ = 0;
};

/// The rare case of next_list: a step of more than 127 bytes, or one without a list.
[[nodiscard]] bool next_long_list(columns::Wire& steps, std::uint8_t tag, columns::Wire& list);
/// The rare case of only_run: a run of more than 127 bytes, or none.
[[nodiscard]] bool only_long_run(columns::Wire list, columns::Wire& run);

/// Moves `steps` after the next step and sets `list` to its list message, which is empty when the step has none.
[[nodiscard]] inline bool next_list(columns::Wire& steps, std::uint8_t tag, columns::Wire& list) {
  const std::uint8_t* const at = steps.at;
  const std::uint64_t size = at[1];
  const std::uint64_t head = 0x0a | size << 8 | std::uint64_t{tag} << 16 | (size - 2) << 24;
  if (size - 2 > 125 || ((columns::load64(at) ^ head) & 0xffffffff) != 0) return next_long_list(steps, tag, list);
  if (size + 2 > steps.size()) return false;
  list = {at + 4, at + 2 + size};
  steps.at = list.end;
  return true;
}

/// Sets `run` to the values of a list that has one packed run, or none.
[[nodiscard]] inline bool only_run(columns::Wire list, columns::Wire& run) {
  if (list.size() - 2 > 127 || list.at[0] != 0x0a || list.at[1] != list.size() - 2) return only_long_run(list, run);
  run = {list.at + 2, list.end};
  return true;
}

/// Sets `key` and `steps` to those of the next entry of a map of feature lists.
[[nodiscard]] bool next_entry(columns::Wire& entries, columns::Wire& key, columns::Wire& steps);

}  // namespace forebay::decoders
