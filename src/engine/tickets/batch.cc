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
std::int64_t Batch::valid_rows() const {
  const engine::BatchLayout& layout = content_->layout;
  if (!has_spans()) return layout.filled_rows();
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < layout.rows; ++row)
    rows += layout.element_of(row) == engine::RowSpans::no_element ? 0 : 1;
  return rows;
}
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

namespace {

/// The origin of an element of the layout.
Origin origin_of(const engine::Program& program, const engine::BatchLayout& layout, std::int64_t element) {
  const Source& source = program.source;
  const std::int64_t record = layout.record_of(element);
  const std::int64_t offset = source.rows ? record : source.format->record_offset(layout.payload_offset(element));
  const auto at = source.locate(layout.block_of(element).file, record, offset);
  return {.file = source.files[at.file], .record = at.record, .offset = at.offset};
}

}  // namespace

bool Batch::has_spans() const { return content_->program->taking.has_value(); }

std::vector<BatchSpan> Batch::spans(std::int64_t row) const {
  const engine::BatchLayout& layout = content_->layout;
  std::vector<BatchSpan> out;
  for (const columns::PlacedSpan& span : layout.taken.of_row(0, row)) {
    Origin origin = origin_of(*content_->program, layout, span.element);
    if (!layout.taken.windows.empty()) origin.window = layout.taken.windows[static_cast<std::size_t>(row)];
    origin.start = span.start;
    out.push_back({.origin = origin, .length = span.length, .at = span.at + span.pad_left});
  }
  return out;
}

std::vector<SkippedOrigin> Batch::skipped() const {
  std::vector<SkippedOrigin> out;
  for (const engine::SkippedRow& row : content_->skipped) {
    const Origin origin{.file = content_->program->source.files[row.file], .record = row.record, .offset = row.offset};
    out.push_back({.origin = origin, .error = row.error});
  }
  return out;
}

std::vector<Origin> Batch::origins(std::int64_t row) const {
  std::vector<Origin> out;
  for (const BatchSpan& span : spans(row)) out.push_back(span.origin);
  if (!out.empty()) return out;
  const engine::BatchLayout& layout = content_->layout;
  const std::int64_t element = layout.element_of(row);
  if (element != engine::RowSpans::no_element) out.push_back(origin_of(*content_->program, layout, element));
  return out;
}

Origin Batch::origin(std::int64_t row) const {
  if (!has_spans()) return origin_of(*content_->program, content_->layout, row);
  const std::vector<Origin> all = origins(row);
  return all.empty() ? Origin{.file = "", .record = -1, .offset = -1} : all.front();
}

std::string Batch::key(std::int64_t row) const { return key(origin(row)); }

std::string Batch::key(const Origin& at) const {
  if (at.record < 0) return "";
  const Source& source = content_->program->source;
  return source.rows ? std::string{at.file} + ":" + std::to_string(at.record)
                     : source.format->key(at.file, at.record, at.offset);
}

}  // namespace forebay
