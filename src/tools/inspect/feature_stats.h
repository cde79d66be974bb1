// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/inspect/value_stats.h"

namespace forebay::tools {

/// The lists of a message that hold values, and what a feature without one is.
enum class ValueKind : std::uint8_t { integers, floats, strings, none };

/// What was seen of one feature, column or extension.
struct FeatureStats {
  std::int64_t records = 0;             ///< Records that have it, with or without values.
  std::int64_t empty = 0;               ///< Of these, records in which it has no values.
  std::array<std::int64_t, 3> kinds{};  /// Records, or steps, with each kind of values.
  Lengths lengths;                      ///< Values in a record that has it.
  Lengths steps;                        ///< Lists of a sequence: steps in a record …
  Lengths step_values;                  ///< … and values in a step.
  std::int64_t kindless_steps = 0;
  IntegerStats integers;
  FloatStats floats;
  StringStats strings;

  void merge(const FeatureStats& other);
  /// Whether all values are of one kind; `kind` is that one, or none when there never was any.
  [[nodiscard]] bool one_kind(ValueKind& kind) const;
};

/// Features by name. Bounded: names beyond the limits are counted, and nothing else is known of them.
class FeatureTable {
 public:
  static constexpr std::size_t max_features = 4096;
  static constexpr std::size_t max_name = 4096;  ///< Bytes.

  /// The feature of that name, or null beyond the limits.
  FeatureStats* find_or_add(std::string_view name);
  void merge(FeatureTable&& other);
  /// All features, sorted by name.
  [[nodiscard]] std::vector<std::pair<std::string, const FeatureStats*>> sorted() const;
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }  ///< Calls that found no room.
  [[nodiscard]] bool empty() const { return features_.empty(); }

 private:
  std::unordered_map<std::string, std::unique_ptr<FeatureStats>, BytesHash, std::equal_to<>> features_;
  std::int64_t left_out_ = 0;
};

}  // namespace forebay::tools
