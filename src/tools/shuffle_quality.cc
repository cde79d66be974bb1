// SPDX-License-Identifier: Apache-2.0
#include "tools/shuffle_quality.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "engine/memory/machine.h"
#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"

namespace forebay {

namespace engine {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds timeout{20};  // a stop is noticed within this time

Error stopped() { return {Code::cancelled, "interrupted while the shuffle was measured"}; }

std::shared_ptr<BufferPool> pool_for(const Program& program) {
  return std::make_shared<BufferPool>(program.memory > 0 ? program.memory : usable_memory() / 4);
}

/// The number of records of each file, or of rows of each part.
Result<std::vector<std::int64_t>> count_records(const Source& source, const std::shared_ptr<BufferPool>& pool,
                                                const std::function<bool()>& stop) {
  PassCache kept{0};
  std::vector<std::int64_t> out(source.files.size(), 1);
  if (source.files_a_part > 0) return out;
  if (source.rows) {
    if (!source.rows->resident())
      return Error{Code::config, Detail::invalid_argument, "the rows of this source can be read only once"};
    std::ranges::transform(source.rows->parts, out.begin(), [](const RowPart& part) { return part.in_memory(); });
    return out;
  }
  out.assign(out.size(), 0);
  for (std::uint32_t file = 0; file < out.size(); ++file) {
    FileReader scanner{source, file, pool, kept};
    for (Block block; !block.last;) {
      if (stop && stop()) return stopped();
      block.clear();
      scanner.scan(block);
      out[file] += static_cast<std::int64_t>(block.records.size());
      if (block.error) return *block.error;
    }
  }
  return out;
}

/// Feeds the first epoch of the program to the measure.
Result<void> measure(const Program& program, const std::shared_ptr<BufferPool>& pool, const std::function<bool()>& stop,
                     ShuffleMeasure& out) {
  Program once = program;
  if (!once.epochs || *once.epochs > 1) once.epochs = 1;
  OpenFiles streams{once, pool};
  OrderPlane order{once, streams};
  const auto asked_now_and_then = [&stop, next = Clock::now()]() mutable {
    if (!stop || Clock::now() < next) return false;
    next = Clock::now() + timeout;
    return stop();
  };
  streams.ask(asked_now_and_then);
  BatchLayout layout;
  while (true) {
    if (stop && stop()) return stopped();
    const auto more = order.next(layout);
    if (!more.ok()) return streams.interrupted(more.error()) ? stopped() : more.error();
    if (!*more) return {};
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(layout.handles.size()); ++row) {
      const auto at = program.source.locate(layout.block_of(row).file, layout.record_of(row), 0);
      out.add(static_cast<std::uint32_t>(at.file), at.record);
    }
    streams.collect(layout.number + 1);
    streams.limit_memory();
    layout = {};
  }
}

}  // namespace

void Correlation::add(double x, double y) {
  ++count_;
  const double off_x = x - mean_x_, off_y = y - mean_y_;
  mean_x_ += off_x / count_;
  mean_y_ += off_y / count_;
  square_x_ += off_x * (x - mean_x_);
  square_y_ += off_y * (y - mean_y_);
  product_ += off_x * (y - mean_y_);
}

std::optional<double> Correlation::value() const {
  if (square_x_ <= 0 || square_y_ <= 0) return std::nullopt;
  return product_ / (std::sqrt(square_x_) * std::sqrt(square_y_));
}

ShuffleMeasure::ShuffleMeasure(const std::vector<std::int64_t>& records) {
  before_.reserve(records.size());
  std::int64_t sum = 0;
  for (const std::int64_t count : records) {
    before_.push_back(sum);
    sum += count;
  }
}

void ShuffleMeasure::add(std::uint32_t file, std::int64_t record) {
  const std::int64_t moved = rows_ - (before_[file] + record);
  moved_ += static_cast<double>(moved < 0 ? -moved : moved);
  if (rows_ > 0) neighbours_.add(last_file_, file);
  last_file_ = file;
  ++rows_;
}

ShuffleQuality ShuffleMeasure::result() const {
  ShuffleQuality out{.rows = rows_, .files = static_cast<std::int64_t>(before_.size())};
  out.file_correlation = neighbours_.value();
  if (rows_ < 2) return out;  // there is only one order
  const auto n = static_cast<double>(rows_);
  out.displacement = moved_ / n / n;
  out.of_uniform = out.displacement / ((1 - 1 / n / n) / 3);
  return out;
}

}  // namespace engine

Result<ShuffleQuality> shuffle_quality(const Plan& plan, const std::function<bool()>& stop) {
  const engine::Program& program = engine::program_of(plan);
  if (!program.branches.empty())
    return Error{
        Code::config, Detail::invalid_argument,
        "the plan combines branches, whose records have no common order to compare with; measure the shuffle of "
        "each branch"};
  try {
    const auto pool = engine::pool_for(program);
    FOREBAY_TRY(const auto records, engine::count_records(program.source, pool, stop));
    engine::ShuffleMeasure measure{records};
    FOREBAY_DO(engine::measure(program, pool, stop, measure));
    return measure.result();
  } catch (const std::bad_alloc&) {
    return Error{Code::io, Detail::resource_exhausted, "the machine has no memory left to measure the shuffle"};
  }
}

}  // namespace forebay
