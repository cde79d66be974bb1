// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/run/scheduler.h"

namespace forebay::engine {

namespace {

void add_waiting(const Program& program, std::vector<Fullness>& out) {
  for (const Program& branch : program.branches) add_waiting(branch, out);
  const RowSource* const rows = program.source.rows.get();
  if (rows == nullptr || !rows->waiting) return;
  const auto [held, capacity] = rows->waiting();
  out.push_back(
      {.name = rows->waiting_name.empty() ? fmt::format("feed '{}'", rows->parts.front().name) : rows->waiting_name,
       .held = held,
       .capacity = capacity});
}

/// Names that occur several times get a number.
void number_names(std::vector<Fullness>& queues) {
  for (std::size_t i = queues.size(); i-- > 0;) {
    const auto before = std::count_if(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const Fullness& other) { return other.name == queues[i].name; });
    if (before > 0) queues[i].name += fmt::format(" {}", before + 1);
  }
}

}  // namespace

Fullness Scheduler::fullness_of(const Buffer& buffer) {
  const Gauge& gauge = buffer.gauge;
  return {.name = fmt::format("{}{}{}", buffer.branch ? fmt::format("branch {}: ", *buffer.branch) : "", gauge.name,
                              gauge.of_files ? " of files" : ""),
          .held = gauge.held,
          .capacity = gauge.capacity};
}

/// Copies what the orders have written, for other threads. Runs for every batch, so the words are made by `queues`.
void Scheduler::take_gauges() {
  const auto branches = open_files_.branches();
  const Lock lock{mutex_};
  buffers_.clear();
  const auto add = [&](const OpenParts& parts, std::optional<std::size_t> branch) REQUIRES(mutex_) {
    for (const Gauge& gauge : parts.gauges())
      if (!gauge.name.empty()) buffers_.push_back({.gauge = gauge, .branch = branch});
  };
  for (std::size_t i = 0; i < branches.size(); ++i) add(*branches[i], i);
  add(open_files_, std::nullopt);
  if (!order_.batcher_gauge().name.empty()) buffers_.push_back({.gauge = order_.batcher_gauge(), .branch = {}});
}

std::vector<Fullness> Scheduler::queues() const {
  std::vector<Fullness> out;
  {
    const Lock lock{mutex_};
    out.push_back({.name = "prefetch",
                   .held = static_cast<std::int64_t>(line_.done()),
                   .capacity = static_cast<std::int64_t>(depth_)});
    for (const Buffer& buffer : buffers_) out.push_back(fullness_of(buffer));
  }
  add_waiting(*program_, out);  // without the mutex, which a feed's `wake` takes
  number_names(out);
  return out;
}

Stats Scheduler::stats() const {
  std::vector<Fullness> full = queues();
  RequestStats requests = open_files_.requests();
  const auto seconds = [this](Work work) {
    return static_cast<double>(spent_.ns[static_cast<std::size_t>(work)].load(std::memory_order_relaxed)) * 1e-9;
  };
  const Lock lock{mutex_};
  Stats out = stats_;
  out.queues = std::move(full);
  out.requests = requests;
  out.records = open_files_.records();
  out.bytes_read = open_files_.bytes_read();
  out.row_bytes = open_files_.row_bytes();
  out.reading = open_files_.reading();
  if (out.row_bytes > 0)
    out.reading.amplification = static_cast<double>(out.bytes_read) / static_cast<double>(out.row_bytes);
  const SkipTally::Counts skipped = open_files_.skipped();
  out.skipped_records = skipped.records;
  out.skipped_ranges = skipped.ranges;
  out.skipped_files = skipped.files;
  out.skipped_bytes = skipped.bytes;
  out.skipped = skipped.first;
  const SkipTally::Counts& rows = row_skips_.counts();  // counted when no records are
  out.skipped_records += rows.records;
  out.skipped_bytes += rows.bytes;
  out.skipped.insert(out.skipped.end(), rows.first.begin(), rows.first.end());
  add_branches(out);
  out.seconds = began_ ? std::chrono::duration<double>(Clock::now() - *began_).count() : 0;
  out.scan_seconds = seconds(Work::scan);
  out.order_seconds = seconds(Work::order);
  out.decode_seconds = seconds(Work::decode);
  out.idle_seconds = seconds(Work::idle);
  out.ready_fill = asked_ > 0 ? ready_fill_sum_ / static_cast<double>(asked_) : 0;
  if (waiting_since_) {
    out.waiting_seconds = std::chrono::duration<double>(Clock::now() - *waiting_since_).count();
    out.waiting = waiting();
  }
  out.memory_used = pool_->used();
  out.memory_limit = pool_->limit();
  out.memory_pinned = pool_->pinned();
  out.scan_memory = pool_->used(MemoryUse::scan);
  out.order_memory = pool_->used(MemoryUse::order);
  out.decode_memory = pool_->used(MemoryUse::decode);
  out.steps = executor_.step_seconds();
  out.threads = threads_;
  return out;
}

void Scheduler::add_branches(Stats& out) const {
  const std::vector<const OpenParts*> branches = open_files_.branches();
  out.branches.resize(branches.size());  // those that delivered nothing, too
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const SkipTally::Counts skipped = branches[i]->skipped();
    BranchStats& branch = out.branches[i];
    branch.records = branches[i]->records();
    branch.bytes_read = branches[i]->bytes_read();
    branch.skipped_records = skipped.records;
    branch.skipped_ranges = skipped.ranges;
    branch.skipped_files = skipped.files;
    branch.skipped_bytes = skipped.bytes;
  }
}

RunShare::Counts Scheduler::read() const {
  RunShare::Counts out{.bytes_read = open_files_.bytes_read(), .skipped = open_files_.skipped()};
  const Lock lock{mutex_};
  out.skipped.add(row_skips_.counts(), {});
  return out;
}

double Scheduler::complete_frac() const {
  const Lock lock{mutex_};
  return line_.empty() && order_over_ && !order_error_ ? 1.0 : complete_frac_;
}

std::string Scheduler::trace() const {
  const Lock lock{mutex_};
  return trace_.text(program_->source.files, began_.value_or(Clock::now()));
}

std::string Scheduler::waiting() const {
  constexpr double mebibyte = 1048576;
  const auto now = Clock::now();
  const std::string oldest = starved_ ? open_files_.oldest_request() : std::string{};
  return fmt::format(
      "batch {} has been waited for {:.1f} s. {}. {} batches are being made, {} tickets wait, the order is {}; "
      "{:.1f} of {:.1f} MiB are in use{}{}",
      next_number_, std::chrono::duration<double>(now - waiting_since_.value_or(now)).count(),
      activity_.text(program_->source.files, now), line_.size(), line_.tickets(),
      order_over_    ? "decided"
      : starved_     ? (program_->source.rows ? "waiting for rows that the program gives"
                                              : "waiting for bytes that were asked for")
      : baton_taken_ ? "being decided"
                     : "open",
      static_cast<double>(pool_->used()) / mebibyte, static_cast<double>(pool_->limit()) / mebibyte,
      oldest.empty() ? "" : ". ", oldest);
}

}  // namespace forebay::engine
