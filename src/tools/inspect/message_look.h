// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/records.h>

#include "columns/wire.h"
#include "tools/inspect/feature_stats.h"

namespace forebay::tools {

/// Counts the features of tf.train.Example and SequenceExample messages. Each record is parsed in one go; one that has
/// a key twice, or a feature in pieces, is left to the full parser (records.h). One thread at a time uses it.
class MessageLook {
 public:
  enum class Found : std::uint8_t { malformed, nothing, example, sequence };

  /// Adds the features of a record, which has `record_slack` bytes after its end. Nothing is added of a malformed one;
  /// `nothing`: the message is well-formed and has no feature.
  [[nodiscard]] Found add(std::string_view record, FeatureTable& context, FeatureTable& lists);

 private:
  struct Values {  // where they lie in the scratch vectors
    ValueKind kind = ValueKind::none;
    std::size_t first = 0, count = 0;
  };
  struct Entry {
    std::string_view name;
    bool list = false;
    std::size_t first = 0, count = 0;  // Values of its steps; of a feature one
  };

  [[nodiscard]] bool entries_of(columns::Wire features, bool list);
  [[nodiscard]] bool feature_of(columns::Wire feature);
  [[nodiscard]] bool integers_of(columns::Wire list);
  [[nodiscard]] bool floats_of(columns::Wire list);
  [[nodiscard]] bool strings_of(columns::Wire list);
  [[nodiscard]] bool repeated_name();
  [[nodiscard]] bool parse(std::string_view record, bool& sequence);
  [[nodiscard]] Found parse_fully(std::string_view record, FeatureTable& context, FeatureTable& lists);
  void add_values(const Values& values, FeatureStats& stats) const;
  void add_entry(const Entry& entry, FeatureStats& stats) const;
  void clear();

  bool unusual_ = false;  // the record is left to the full parser
  std::vector<Entry> entries_;
  std::vector<Values> values_;
  std::vector<std::int64_t> integers_;
  std::vector<float> floats_;
  std::vector<std::string_view> strings_;
  std::vector<std::string_view> names_;
};

}  // namespace forebay::tools
