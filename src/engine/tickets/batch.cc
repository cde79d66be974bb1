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

namespace {

/// The rows of one source, in a batch or in its share of a combination.
struct SourceRow {
  const Source& source;
  const engine::BatchLayout& layout;
  std::int64_t row;
};

Origin origin_of(const SourceRow& at) {
  const auto& [source, layout, row] = at;
  const std::int64_t record = layout.record_of(row);
  const std::int64_t offset = source.rows ? record : source.format->record_offset(layout.payload_offset(row));
  const auto place = source.locate(layout.block_of(row).file, record, offset);
  return {.file = source.files[place.file], .record = place.record, .offset = place.offset};
}

std::string key_of(const SourceRow& row) {
  const Origin at = origin_of(row);
  return row.source.rows ? std::string{at.file} + ":" + std::to_string(at.record)
                         : row.source.format->key(at.file, at.record, at.offset);
}

/// What the branches have in a row: one, or one of each branch side by side.
template <class Use>
void each_branch(const Batch::Content& content, std::int64_t row, Use use) {
  const engine::Program& program = *content.program;
  if (program.branches.empty()) return use(std::size_t{0}, SourceRow{program.source, content.layout, row});
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    if (const auto place = content.layout.place_in(i, row))
      use(i, SourceRow{program.branches[i].source, content.layout.branches[i], *place});
  }
}

}  // namespace

Origin Batch::origin(std::int64_t row) const {
  const std::vector<Origin> all = origins(row);
  return all.empty() ? Origin{} : all.front();
}

std::vector<Origin> Batch::origins(std::int64_t row) const {
  std::vector<Origin> out;
  each_branch(*content_, row, [&](std::size_t, const SourceRow& at) { out.push_back(origin_of(at)); });
  return out;
}

std::string Batch::key(std::int64_t row) const {
  std::string out;
  each_branch(*content_, row, [&](std::size_t, const SourceRow& at) { out += (out.empty() ? "" : "|") + key_of(at); });
  return out;
}

std::int64_t Batch::branch(std::int64_t row) const {
  std::optional<std::size_t> out;
  each_branch(*content_, row, [&](std::size_t branch, const SourceRow&) { out = out.value_or(branch); });
  return static_cast<std::int64_t>(out.value_or(0));
}

bool Batch::combined() const { return !content_->program->branches.empty(); }
bool Batch::side_by_side() const { return combined() && !content_->program->combining.make; }

}  // namespace forebay
