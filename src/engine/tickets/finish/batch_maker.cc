// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/finish/batch_maker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "engine/tickets/bad_rows.h"
#include "engine/tickets/branch_tickets.h"
#include "engine/tickets/finish/finish.h"

namespace forebay::engine {

BatchMaker::BatchMaker(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, const StepClock& clock,
                       const ErrorPlaces& errors, const BranchTickets* branches)
    : program_{std::move(program)},
      pool_{std::move(pool)},
      clock_{clock},
      errors_{errors},
      branches_{branches},
      contents_{std::make_shared<BatchRecycler>(program_)} {
  for (std::size_t i = 0; i < program_->outputs.size(); ++i) {
    const ColumnSpec& spec = program_->outputs[i].spec;
    if (spec.delivery == Delivery::padded && spec.shape.rank() > 0 && spec.shape[0] == unknown_dim)
      padded_.push_back(i);
  }
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
void BatchMaker::count_frames(Batch::Content& content) const {
  content.frames = content.padded_frames = 0;
  for (const std::size_t output : padded_) {
    const FrameCount frames = frames_of(content, output);
    content.frames += frames.real;
    content.padded_frames += frames.padded;
  }
}

/// Those of fixed tensors that no record fills.
void BatchMaker::clear_empty_rows(const Job& job) const {
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

std::optional<Error> BatchMaker::make(Job& job) const {
  if (branches_) {
    if (auto failed = branches_->find_cut_short(job)) return failed;
  }
  if (auto failed = errors_.find_cut_short(job)) return failed;
  if (program_->on_corrupt.policy == Corrupt::skip_row && job.bytes() <= pool_->limit())
    take_out_bad_rows(job, *program_, job.row_bytes);
  if (auto failed = too_large(job)) return failed;
  clear_empty_rows(job);
  auto content = contents_->take();
  Finisher finisher{*program_, *pool_, job, &clock_};
  if (auto failed = finisher.run(*content)) {
    return failed->row < 0 ? failed->error : errors_.of_row(job, failed->error, failed->row);
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

std::optional<Error> BatchMaker::too_large(const Job& job) const {
  if (job.bytes() <= pool_->limit()) return std::nullopt;
  return Error{Code::data, Detail::resource_exhausted,
               fmt::format("batch {} needs {} bytes for what its {} rows decode to, more than the memory budget of {} "
                           "bytes; raise `memory`, make batches smaller, or drop the outlier",
                           job.layout.number, job.bytes(), job.layout.filled_rows(), pool_->limit())};
}

}  // namespace forebay::engine
