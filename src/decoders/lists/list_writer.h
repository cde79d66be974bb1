// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/column.h>

#include "decoders/feature_plan.h"
#include "decoders/feature_writer.h"
#include "decoders/lists/step_runs.h"

namespace forebay::decoders {

/// How the steps of a list are read.
enum class ListAction : std::uint8_t {
  skip,     ///< No output uses the key.
  hold,     ///< FeatureWriter reads the list: its column needs other keys, too, or the list has a rare form.
  copy,     ///< The values of each step are bytes of one size: floats, or raw numbers.
  ints,     ///< A known number of integers a step.
  strings,  ///< A known number of strings a step.
  ragged_floats,
  ragged_ints,
  ragged_strings,
};

/// Appends feature lists in the usual form (step_runs.h) to their columns, without an entry for each step. Immutable:
/// any number of workers use it at once.
class ListWriter {
 public:
  /// `plan` outlives this object.
  explicit ListWriter(const FeaturePlan& plan);

  [[nodiscard]] ListAction action(int source) const { return targets_[static_cast<std::size_t>(source)].action; }
  /// Appends one row to the column of a source whose action is neither `skip` nor `hold`. False: the list has another
  /// form, or is malformed; the end of the column is then unspecified.
  [[nodiscard]] bool write(int source, columns::Wire steps, ColumnBlock& block, Values& scratch) const;

 private:
  /// How the lists of one key are read. Indexed by source.
  struct Target {
    ListAction action = ListAction::skip;
    std::uint8_t tag = 0;            ///< Tag of the list in each step.
    const Output* output = nullptr;  ///< The only output that uses the source.
    std::optional<StepHead> head;    ///< Of `copy`.
    std::size_t value_bytes = 0;     ///< Of `copy`: the values of one step.
    DType stored = DType::float32;   ///< Type of the stored numbers.
  };
  [[nodiscard]] static Target target_of(const Output& output);
  [[nodiscard]] static bool copy(const Target& target, columns::Wire steps, Column& column, Values& scratch);
  [[nodiscard]] static bool ints(const Target& target, columns::Wire steps, Column& column, Values& scratch);
  [[nodiscard]] static bool strings(const Target& target, columns::Wire steps, Column& column);
  template <class Append>
  [[nodiscard]] static bool ragged(const Target& target, columns::Wire steps, Column& column, Append append);

  std::vector<Target> targets_;
};

}  // namespace forebay::decoders
