// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoders/faults/missing_feature.h"
#include "decoders/feature_plan.h"
#include "decoders/message.h"

namespace forebay::decoders {

/// The values of the current list. Only the vector for the stored type is used.
struct Values {
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<columns::Wire> strings;

  void clear();
  [[nodiscard]] std::int64_t size(StoredAs stored) const;
  [[nodiscard]] std::int64_t bytes() const;  ///< Memory of the vectors.
};

/// Buffers that are reused for every record. One object per worker.
struct Scratch {
  Values values;
  std::vector<std::int64_t> numbers;              ///< The numbers of one partition.
  std::vector<std::int64_t> splits;               ///< Row splits of one level of one step.
  std::vector<std::vector<std::int64_t>> levels;  ///< Row splits, or index lists.
  std::vector<std::int64_t> rows_before;  ///< Rows of each level, and values, in the steps of this record so far.
  std::vector<std::uint32_t> order;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::int64_t owned() const;  ///< Bytes of memory.
};

/// Writes one row of each column from the parsed values of one record. This is the slow path: it handles every legal
/// message. An error names the feature; the row's columns are then unspecified. Used by one worker at a time.
class FeatureWriter {
 public:
  /// `message` is the record, whose features errors list, and `looked` where the plan's keys are in it. Without it a
  /// missing feature is an error that lists nothing.
  FeatureWriter(const FeaturePlan& plan, const Parsed& parsed, Scratch& scratch, ColumnBlock& block,
                columns::Wire message = {}, Looked looked = Looked::example)
      : plan_{plan}, parsed_{parsed}, scratch_{scratch}, block_{block}, message_{message}, looked_{looked} {}

  /// Writes row `row` of a fixed numeric column, or appends to a column of another kind. `record` is for errors.
  Result<void> write(const Output& output, std::int64_t row, std::int64_t record);

 private:
  using Pieces = std::span<const columns::Wire>;

  Error fault(Detail detail, int source, std::string message) const;
  Error malformed(int source) const;
  /// The error for a feature or list that the record lacks. `cure`: what helps where records may lack it.
  Error missing(const Output& output, std::string what, const std::string& cure) const;
  const FoundFeature& found(int source) const { return parsed_.features[static_cast<std::size_t>(source)]; }
  const Source& source(int index) const { return plan_.sources[static_cast<std::size_t>(index)]; }

  Result<void> read(int source, const FoundFeature& feature, Values& out);
  Result<void> read_numbers(int source, const FoundFeature& feature, std::vector<std::int64_t>& out);
  /// Converts values to the type of the output. `to` has room for them.
  void convert(const Output& output, const Values& values, std::byte* to);
  /// Converts values and appends them to a column.
  void append(const Output& output, Column& column, const Values& values);

  Result<void> fixed(const Output& output);
  void write_default(const Output& output, Column& column);
  Result<void> variable(const Output& output);
  Result<void> sparse(const Output& output);
  void sort_by_indices(StoredAs stored);
  Result<void> ragged(const Output& output);
  Result<void> raw(const Output& output);
  [[nodiscard]] Result<std::int64_t> raw_elements(const Output& output, columns::Wire bytes) const;

  Result<void> list(const Output& output);
  Result<void> list_sequence(const Output& output, const FoundList& list);
  Result<void> list_raw(const Output& output, const FoundList& list);
  Result<void> list_steps(const Output& output, const FoundList& list);

  /// Adds the row splits of one step to Scratch::levels. `rows` is the number of rows of the values; afterwards it is
  /// that of the outermost level.
  template <class Find>
  Result<void> add_partitions(const Output& output, std::int64_t& rows, Find find);
  Result<void> splits_of(const Output& output, const Partition& partition, std::int64_t below);
  Result<void> keep_numbers(const Output& output, std::size_t level, std::int64_t& rows);
  Result<void> inner_rows(const Output& output, std::int64_t values, std::int64_t& rows) const;
  void write_levels(Column& column, std::size_t first);

  const FeaturePlan& plan_;
  const Parsed& parsed_;
  Scratch& scratch_;
  ColumnBlock& block_;
  const columns::Wire message_;
  const Looked looked_;
  const Output* output_ = nullptr;
  std::int64_t row_ = 0;
  std::int64_t record_ = 0;
  std::int64_t step_ = -1;  ///< Step of a list, for errors; -1 outside lists.
};

}  // namespace forebay::decoders
