// SPDX-License-Identifier: Apache-2.0
// The functions of Executor that make a batch of its tickets.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/tickets/bad_rows.h"
#include "engine/tickets/branch_tickets.h"
#include "engine/tickets/executor.h"
#include "engine/tickets/finish/finish.h"

namespace forebay::engine {

std::optional<Error> Executor::finish(Job& job) const {
  auto failed = make(job);
  for (std::size_t i = 0; i < job.cut; ++i) {
    if (job.tickets[i]->columns) columns_->give(std::move(job.tickets[i]->columns));
  }
  return failed;
}

FrameCount frames_of(const Batch::Content& content, std::size_t output) {
  const Shape& rows = content.program->outputs[output].spec.shape;
  if (rows.rank() == 0) return {};
  const Value& value = content.values[output];
  const std::int64_t padded = value.kind == Value::Kind::dense ? content.layout.rows * value.values.shape[1] : 0;
  if (rows[0] != unknown_dim) return {.real = content.layout.rows * rows[0], .padded = padded};
  if (!content.lengths[output]) return {.real = padded, .padded = padded};
  const Tensor& lengths = *content.lengths[output];
  const std::span<const std::int64_t> all = lengths.as<std::int64_t>();
  const std::size_t a_row = lengths.shape.rank() == 1 ? 1 : static_cast<std::size_t>(lengths.shape[1]);
  FrameCount out{.padded = padded};
  for (std::size_t i = 0; i < all.size(); i += a_row) out.real += all[i];
  return out;
}

/// Counts the frames of the padded tensors, for Stats.
void Executor::count_frames(Batch::Content& content) const {
  content.frames = content.padded_frames = 0;
  for (const std::size_t output : padded_) {
    const FrameCount frames = frames_of(content, output);
    content.frames += frames.real;
    content.padded_frames += frames.padded;
  }
}

/// Those of fixed tensors that no record fills.
void Executor::clear_empty_rows(const Job& job) const {
  const auto first = static_cast<std::size_t>(job.layout.filled_rows());
  const std::size_t rows = static_cast<std::size_t>(job.layout.rows) - first;
  if (rows == 0) return;
  for (std::size_t i = 0; i < job.row_bytes.size(); ++i) {
    for (std::size_t at = 0, bytes = rows * job.row_bytes[i]; at < bytes; at += StopCheck::interval) {
      pool_->look();
      std::memset(job.fixed_outputs[i] + first * job.row_bytes[i] + at, 0, std::min(StopCheck::interval, bytes - at));
    }
  }
}

std::optional<Error> Executor::make(Job& job) const {
  if (branches_) {
    if (auto failed = branches_->find_cut_short(job)) return failed;
  }
  if (auto failed = find_cut_short(job)) return failed;
  if (program_->on_corrupt.policy == Corrupt::skip_row && job.bytes() <= pool_->limit())
    take_out_bad_rows(job, *program_, job.row_bytes);
  if (auto failed = too_large(job)) return failed;
  clear_empty_rows(job);
  auto content = contents_->take();
  Finisher finisher{*program_, *pool_, job, &clock_};
  if (auto failed = finisher.run(*content)) {
    return failed->row < 0 ? failed->error : place_row(job, failed->error, failed->row);
  }
  job.made_bytes = finisher.needed();
  job.tensor_bytes = job.made_bytes - job.bytes() + job.fixed_bytes;
  if (branches_) branches_->end(job);
  std::swap(content->layout, job.layout);
  std::swap(content->layout.payloads, job.layout.payloads);  // of records that are gone when the batch is out
  job.layout.clear();
  content->skipped = std::move(job.skipped);
  count_frames(*content);
  job.skipped.clear();
  job.content = std::move(content);
  job.fixed.reset();
  return std::nullopt;
}

}  // namespace forebay::engine
