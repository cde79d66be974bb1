// SPDX-License-Identifier: Apache-2.0
#include <forebay/batch.h>

#include <algorithm>

#include "engine/tickets/batch_content.h"

namespace forebay {

std::string_view Tensor::string(std::int64_t element) const {
  const std::int64_t* const split = byte_splits + element;
  return {reinterpret_cast<const char*>(bytes) + split[0], static_cast<std::size_t>(split[1] - split[0])};
}

std::int64_t Batch::rows() const { return content_->layout.rows; }
std::int64_t Batch::valid_rows() const { return static_cast<std::int64_t>(content_->layout.handles.size()); }
std::int64_t Batch::epoch() const { return content_->layout.epoch; }
std::int64_t Batch::number() const { return content_->layout.number; }
std::optional<bool> Batch::ends_epoch() const { return content_->layout.ends_epoch; }
const std::vector<std::string>& Batch::names() const { return *content_->names; }

namespace {

std::optional<std::size_t> place_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

const Value* Batch::find(std::string_view name) const {
  const auto at = place_of(names(), name);
  return at ? &content_->values[*at] : nullptr;
}

const Tensor& Batch::tensor(std::string_view name) const {
  static const Tensor none;
  const Value* const value = find(name);
  return value == nullptr ? none : value->values;
}

const Tensor* Batch::lengths(std::string_view name) const {
  const auto at = place_of(names(), name);
  return at && content_->lengths[*at] ? &*content_->lengths[*at] : nullptr;
}

Origin Batch::origin(std::int64_t row) const {
  const engine::BatchLayout& layout = content_->layout;
  const Source& source = content_->program->source;
  const std::int64_t record = layout.record_of(row);
  const std::int64_t offset = source.rows ? record : source.format->record_offset(layout.payload_offset(row));
  const auto at = source.locate(layout.block_of(row).file, record, offset);
  return {.file = source.files[at.file], .record = at.record, .offset = at.offset};
}

std::vector<SkippedOrigin> Batch::skipped() const {
  std::vector<SkippedOrigin> out;
  for (const engine::SkippedRow& row : content_->skipped) {
    const Origin origin{.file = content_->program->source.files[row.file], .record = row.record, .offset = row.offset};
    out.push_back({.origin = origin, .error = row.error});
  }
  return out;
}

std::string Batch::key(std::int64_t row) const {
  const Origin at = origin(row);
  const Source& source = content_->program->source;
  return source.rows ? std::string{at.file} + ":" + std::to_string(at.record)
                     : source.format->key(at.file, at.record, at.offset);
}

}  // namespace forebay
