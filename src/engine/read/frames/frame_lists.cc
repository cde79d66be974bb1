// SPDX-License-Identifier: Apache-2.0
#include "engine/read/frames/frame_lists.h"

#include <utility>

namespace forebay::engine {

void FrameLists::set_records(std::size_t count) {
  splits_.resize(count + 1, splits_.back());
  narrow_.resize(verdicts_ ? splits_.back() * attributes_ : 0);
  wide_.resize(verdicts_ ? 0 : splits_.back() * attributes_);
}

std::size_t FrameLists::add_record(std::int64_t frames) {
  const std::size_t first = splits_.back();
  splits_.push_back(first + static_cast<std::size_t>(frames));
  set_records(records());
  return first;
}

void FrameLists::set(std::size_t frame, std::size_t attribute, std::int64_t value) {
  const std::size_t at = frame * attributes_ + attribute;
  if (verdicts_) {
    narrow_[at] = value == 0 ? 0 : 1;
  } else {
    wide_[at] = value;
  }
}

void FrameLists::spread(std::span<const std::size_t> records, std::size_t count) {
  std::vector<std::size_t> splits{0};
  splits.reserve(count + 1);
  for (std::size_t i = 0; i < records.size(); ++i) {
    splits.resize(records[i] + 1, splits_[i]);
    splits.push_back(splits_[i + 1]);
  }
  splits.resize(count + 1, splits.back());
  splits_ = std::move(splits);
}

void FrameLists::charge(BufferPool& pool) {
  charge_.set(pool, static_cast<std::int64_t>(splits_.capacity() * sizeof(std::size_t) + narrow_.capacity() +
                                              wide_.capacity() * sizeof(std::int64_t)));
}

std::int64_t FrameLists::at(std::size_t record, std::int64_t frame, std::size_t attribute) const {
  if (record >= records() || frame < 0) return 0;
  const std::size_t place = splits_[record] + static_cast<std::size_t>(frame);
  if (place >= splits_[record + 1]) return 0;
  return verdicts_ ? narrow_[place * attributes_ + attribute] : wide_[place * attributes_ + attribute];
}

}  // namespace forebay::engine
