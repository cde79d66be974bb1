// SPDX-License-Identifier: Apache-2.0
#include <forebay/batch.h>

#include <algorithm>

#include "engine/tickets/finish/batch_content.h"
#include "engine/tickets/row_identities.h"

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
bool Batch::epoch_end() const { return content_->layout.epoch_count >= 0; }
Fraction Batch::complete_frac() const { return content_->layout.done.of_epoch; }
std::optional<std::vector<std::int64_t>> Batch::seq_idx() const {
  const engine::BatchLayout& layout = content_->layout;
  if (!content_->program->batching.numbers) return std::nullopt;
  std::vector<std::int64_t> out = layout.numbers;
  out.resize(static_cast<std::size_t>(layout.rows), -1);
  if (epoch_end()) out.back() = layout.epoch_count;
  return out;
}
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

std::int64_t Batch::frames(std::string_view name) const {
  const auto at = place_of(names(), name);
  return at ? engine::frames_of(*content_, *at).real : 0;
}

namespace {

/// The records of one source, in a batch or in its share of a combination.
struct SourceRow {
  const Source& source;
  const engine::BatchLayout& layout;
  std::int64_t element;  // of the layout
};

Origin origin_of(const SourceRow& at) {
  const auto& [source, layout, element] = at;
  const auto place = engine::located(source, layout, element);
  return {.file = source.files[place.file], .record = place.record, .offset = place.offset};
}

/// The source that has the file of an origin.
const Source& source_of(const engine::Program& program, const Origin& at) {
  if (program.branches.empty()) return program.source;
  for (const engine::Program& branch : program.branches) {
    if (std::ranges::find(branch.source.files, at.file) != branch.source.files.end()) return branch.source;
  }
  return program.branches.front().source;
}

/// What the branches have in a row: one, or one of each branch side by side.
template <class Use>
void each_branch(const Batch::Content& content, std::int64_t row, Use use) {
  const engine::Program& program = *content.program;
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    if (const auto place = content.layout.place_in(i, row))
      use(i, SourceRow{program.branches[i].source, content.layout.branches[i], *place});
  }
}

}  // namespace

bool Batch::has_spans() const { return content_->program->taking.has_value(); }
bool Batch::combined() const { return !content_->program->branches.empty(); }
bool Batch::side_by_side() const { return combined() && !content_->program->combining.make; }

std::vector<BatchSpan> Batch::spans(std::int64_t row) const {
  const engine::BatchLayout& layout = content_->layout;
  std::vector<BatchSpan> out;
  const engine::RowSpans& taken = layout.taken;
  for (const columns::PlacedSpan& span : taken.of_row(0, row)) {
    Origin origin = origin_of({content_->program->source, layout, span.element});
    if (!taken.windows_of_spans.empty()) {
      origin.window = taken.windows_of_spans[static_cast<std::size_t>(&span - taken.spans[0].data())];
    } else if (!taken.windows.empty()) {
      origin.window = taken.windows[static_cast<std::size_t>(row)];
    }
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
  if (combined()) {
    each_branch(*content_, row, [&](std::size_t, const SourceRow& at) { out.push_back(origin_of(at)); });
    return out;
  }
  for (const BatchSpan& span : spans(row)) out.push_back(span.origin);
  if (!out.empty()) return out;
  const engine::BatchLayout& layout = content_->layout;
  const std::int64_t element = layout.element_of(row);
  if (element != engine::RowSpans::no_element) out.push_back(origin_of({content_->program->source, layout, element}));
  return out;
}

Origin Batch::origin(std::int64_t row) const {
  if (!has_spans() && !combined()) return origin_of({content_->program->source, content_->layout, row});
  const std::vector<Origin> all = origins(row);
  return all.empty() ? Origin{.file = "", .record = -1, .offset = -1} : all.front();
}

RowIdentity Batch::identity(std::int64_t row) const {
  const engine::BatchLayout& layout = content_->layout;
  if (has_spans() && !layout.identities.empty()) {
    const auto at = static_cast<std::size_t>(row);
    return at < layout.identities.size() ? layout.identities[at]
                                         : RowIdentity{.part = -1, .record = row, .epoch = layout.epoch};
  }
  const std::int64_t element = combined() ? row : layout.element_of(row);
  if (element == engine::RowSpans::no_element) return {.part = -1, .record = row, .epoch = layout.epoch};
  RowIdentity out = engine::LayoutRows{layout, content_->program->source, 0}.of(element);
  if (!has_spans()) return out;
  const Origin at = origin(row);
  out.window = at.window >= 0 ? at.window : at.start;
  return out;
}

std::string Batch::key(std::int64_t row) const {
  if (!side_by_side()) return key(origin(row));
  std::string out;
  for (const Origin& at : origins(row)) out += (out.empty() ? "" : "|") + key(at);
  return out;
}

std::string Batch::key(const Origin& at) const {
  if (at.record < 0) return "";
  const Source& source = source_of(*content_->program, at);
  return source.rows ? std::string{at.file} + ":" + std::to_string(at.record)
                     : source.format->key(at.file, at.record, at.offset);
}

std::int64_t Batch::branch(std::int64_t row) const {
  std::optional<std::size_t> out;
  each_branch(*content_, row, [&](std::size_t branch, const SourceRow&) { out = out.value_or(branch); });
  return static_cast<std::int64_t>(out.value_or(0));
}

}  // namespace forebay
