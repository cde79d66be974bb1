// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/convert/feature_values.h"
#include "tools/convert/value_rows.h"

namespace forebay::tools {

/// One feature of the Examples of a batch, or of the contexts of SequenceExamples. The batch must outlive it.
class FeatureRows {
 public:
  /// Fails with Code::data for what an Example cannot hold.
  [[nodiscard]] static Result<FeatureRows> make(std::string name, const Value& value, std::int64_t rows);

  /// The size of the map entry of a row; 0: the row has no values. `write` of the same row comes next.
  std::size_t measure(std::int64_t row);
  void write(WireOut& out) const;

 private:
  FeatureRows(std::string name, FeatureValues values, ValueRows rows)
      : name_{std::move(name)}, values_{std::move(values)}, rows_{std::move(rows)} {}

  std::string name_;
  FeatureValues values_;
  ValueRows rows_;
  std::size_t first_ = 0, end_ = 0, size_ = 0, list_ = 0, entry_ = 0;  // of the row that was measured
};

/// One list of the SequenceExamples of a batch: the first axis of each row is its frames. The batch must outlive it.
class FrameRows {
 public:
  /// `lengths`: those beside the tensor, or null. Fails with Code::data for what a SequenceExample cannot hold.
  [[nodiscard]] static Result<FrameRows> make(std::string name, const Value& value, std::int64_t rows,
                                              const Value* lengths);

  /// The size of the map entry of a row. `write` of the same row comes next.
  std::size_t measure(std::int64_t row);
  void write(WireOut& out) const;

 private:
  FrameRows(std::string name, FeatureValues values) : name_{std::move(name)}, values_{std::move(values)} {}
  Result<void> split_by(const Value& lengths, const std::vector<std::int64_t>& items);

  /// The first element of a frame of the batch.
  [[nodiscard]] std::size_t begin(std::size_t frame) const {
    return width_ * (splits_.empty() ? frame : static_cast<std::size_t>(splits_[frame]));
  }
  [[nodiscard]] std::size_t first_frame(std::int64_t row) const {
    const auto place = static_cast<std::size_t>(row);
    return rows_.empty() ? place * each_ : static_cast<std::size_t>(rows_[place]);
  }

  std::string name_;
  FeatureValues values_;
  std::size_t width_ = 1;                          // elements of a frame, or of an item of its list
  std::size_t each_ = 0;                           // frames of a row, where all have as many
  std::vector<std::int64_t> rows_;                 // else the frames before a row
  std::vector<std::int64_t> splits_;               // the items before a frame; empty: one each
  std::size_t first_ = 0, steps_ = 0, entry_ = 0;  // of the row that was measured, as the next one
  std::vector<std::size_t> sizes_;                 // of the values of its frames
};

}  // namespace forebay::tools
