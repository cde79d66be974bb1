// SPDX-License-Identifier: Apache-2.0
#include <forebay/state_saver.h>

#include <utility>

#include <fmt/format.h>

#include "queues/saver_core.h"

namespace forebay {

SegmentBatch::Content::~Content() { core->leave(*this); }

std::int64_t SegmentBatch::rows() const { return std::ssize(content_->keys); }

Result<Tensor> SegmentBatch::sequences(std::string_view name) const {
  FOREBAY_TRY(const std::size_t at, queues::find_column(content_->core->plan().sequences, name, "sequences"));
  return content_->sequences[at];
}

Result<Tensor> SegmentBatch::context(std::string_view name) const {
  FOREBAY_TRY(const std::size_t at, queues::find_column(content_->core->plan().context, name, "context"));
  return content_->context[at];
}

Result<Tensor> SegmentBatch::state(std::string_view name) const {
  FOREBAY_TRY(const std::size_t at, queues::find_column(content_->core->plan().states, name, "states"));
  return content_->states[at];
}

Result<void> SegmentBatch::save_state(std::string_view name, const Tensor& values) const {
  return content_->core->save(*content_, name, values);
}

const Tensor& SegmentBatch::sequence() const { return content_->sequence; }
const Tensor& SegmentBatch::sequence_count() const { return content_->sequence_count; }
const Tensor& SegmentBatch::length() const { return content_->length; }
const Tensor& SegmentBatch::total_length() const { return content_->total_length; }
const Tensor& SegmentBatch::insertion_index() const { return content_->insertion_index; }
const Tensor& SegmentBatch::epoch() const { return content_->epoch; }
const Tensor& SegmentBatch::reset() const { return content_->reset; }

namespace {

/// The key of a segment that lies `ahead` segments after that of the row.
std::string segment_key(const SegmentBatch::Content& batch, std::int64_t row, std::int32_t ahead) {
  const auto at = static_cast<std::size_t>(row);
  if (!batch.keys[at]) return {};
  const std::int32_t number = batch.sequence.as<std::int32_t>()[at] + ahead;
  const std::int32_t count = batch.sequence_count.as<std::int32_t>()[at];
  if (number == count) return "STOP:" + *batch.keys[at];
  return fmt::format("{:05}_of_{:05}:{}", number, count, *batch.keys[at]);
}

}  // namespace

std::string SegmentBatch::key(std::int64_t row) const { return segment_key(*content_, row, 0); }
std::string SegmentBatch::next_key(std::int64_t row) const { return segment_key(*content_, row, 1); }

Result<StateSaver> StateSaver::make(const StateSaverOptions& options) {
  FOREBAY_TRY(queues::SaverPlan plan, queues::SaverPlan::make(options));
  return StateSaver{std::make_shared<queues::SaverCore>(std::move(plan))};
}

Result<bool> StateSaver::insert(SaverExample example, std::chrono::milliseconds wait, const StopCheck* check) {
  return core_->insert(std::move(example), {wait, check});
}

Result<TakenSegments> StateSaver::take(std::optional<std::int64_t> size, std::chrono::milliseconds wait,
                                       const StopCheck* check) {
  return core_->take(size, {wait, check});
}

Result<void> StateSaver::save(const SegmentBatch& batch, std::string_view name, const Tensor& values) const {
  if (!batch.content_ || batch.content_->core != core_)
    return Error{Code::config, Detail::invalid_argument,
                 "the batch is not one of this state saver; save it with the saver that gave it"};
  return batch.save_state(name, values);
}

Result<void> StateSaver::close(bool cancel) { return core_->close(cancel); }
bool StateSaver::closed() const { return core_->closed(); }
StateSaver::Sizes StateSaver::sizes() const { return core_->sizes(); }

}  // namespace forebay
