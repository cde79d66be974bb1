// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/feature_rows.h"

#include <fmt/format.h>

namespace forebay::tools {

namespace {

/// The size of a map entry without its head.
std::size_t entry_size(const std::string& name, std::size_t value) {
  return field_size(name.size()) + field_size(value);
}

/// The heads of a map entry and of its value, with the name between them.
void begin_entry(const std::string& name, std::size_t entry, std::size_t value, WireOut& out) {
  out.begin(1, entry);
  out.begin(1, name.size());
  out.bytes(name.data(), name.size());
  out.begin(2, value);
}

Error no_frames() {
  return {Code::data, Detail::invalid_argument,
          "it has one value a row and so no frames; a list of a SequenceExample needs a list"};
}

Error other_lengths(std::size_t row, const std::vector<std::int64_t>& items) {
  return {Code::data, Detail::data_loss,
          fmt::format("row {} of the batch has {} values, and the lengths of its frames have another sum, or one is "
                      "negative",
                      row, items[row + 1] - items[row])};
}

}  // namespace

Result<FeatureRows> FeatureRows::make(std::string name, const Value& value, std::int64_t rows) {
  if (value.row_splits.size() > 1)
    return Error{Code::data, Detail::invalid_argument, "its rows have lists in lists, and an Example has one list"};
  FOREBAY_TRY(ValueRows places, ValueRows::make(value, rows));
  FOREBAY_TRY(FeatureValues values, FeatureValues::make(value.values));
  return FeatureRows{std::move(name), std::move(values), std::move(places)};
}

std::size_t FeatureRows::measure(std::int64_t row) {
  first_ = rows_.begin(row);
  end_ = rows_.begin(row + 1);
  if (first_ == end_) return 0;
  size_ = values_.size(first_, end_);
  list_ = values_.list_size(size_);
  entry_ = entry_size(name_, field_size(list_));
  return field_size(entry_);
}

void FeatureRows::write(WireOut& out) const {
  if (first_ == end_) return;
  begin_entry(name_, entry_, field_size(list_), out);
  out.begin(values_.field(), list_);
  values_.write(first_, end_, size_, out);
}

/// Frames of the lengths that stand beside the items of each row.
Result<void> FrameRows::split_by(const Value& lengths, const std::vector<std::int64_t>& items) {
  rows_ = numbers_of(lengths.row_splits[0]);
  const std::vector<std::int64_t> sizes = numbers_of(lengths.values);
  splits_ = {0};
  for (std::size_t row = 0; row + 1 < items.size(); ++row) {
    for (auto frame = rows_[row]; frame < rows_[row + 1]; ++frame) {
      const std::int64_t size = sizes[static_cast<std::size_t>(frame)];
      if (size < 0 || size > items[row + 1] - splits_.back()) return other_lengths(row, items);
      splits_.push_back(splits_.back() + size);
    }
    if (splits_.back() != items[row + 1]) return other_lengths(row, items);
  }
  return {};
}

Result<FrameRows> FrameRows::make(std::string name, const Value& value, std::int64_t rows, const Value* lengths) {
  FOREBAY_DO(ValueRows::make(value, rows));
  if (value.row_splits.size() > 2)
    return Error{Code::data, Detail::invalid_argument,
                 "its frames have lists in lists, and a frame of a SequenceExample has one list"};
  FOREBAY_TRY(FeatureValues values, FeatureValues::make(value.values));
  FrameRows out{std::move(name), std::move(values)};
  const std::vector<std::int64_t>& dims = value.values.shape.dims();
  const bool dense = value.row_splits.empty();
  if (dense && dims.size() < 2) return no_frames();
  for (std::size_t axis = dense ? 2 : 1; axis < dims.size(); ++axis) out.width_ *= static_cast<std::size_t>(dims[axis]);
  if (dense) out.each_ = static_cast<std::size_t>(dims[1]);
  if (!dense) out.rows_ = numbers_of(value.row_splits[0]);
  if (value.row_splits.size() == 2) out.splits_ = numbers_of(value.row_splits[1]);
  if (lengths != nullptr) FOREBAY_DO(out.split_by(*lengths, numbers_of(value.row_splits[0])));
  return out;
}

std::size_t FrameRows::measure(std::int64_t row) {
  first_ = first_frame(row);
  const std::size_t end = first_frame(row + 1);
  sizes_.clear();
  steps_ = 0;
  for (std::size_t frame = first_; frame < end; ++frame) {
    sizes_.push_back(values_.size(begin(frame), begin(frame + 1)));
    steps_ += field_size(field_size(values_.list_size(sizes_.back())));
  }
  entry_ = entry_size(name_, steps_);
  return field_size(entry_);
}

void FrameRows::write(WireOut& out) const {
  begin_entry(name_, entry_, steps_, out);
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const std::size_t list = values_.list_size(sizes_[i]);
    out.begin(1, field_size(list));
    out.begin(values_.field(), list);
    values_.write(begin(first_ + i), begin(first_ + i + 1), sizes_[i], out);
  }
}

}  // namespace forebay::tools
