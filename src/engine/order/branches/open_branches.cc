// SPDX-License-Identifier: Apache-2.0
#include "engine/order/branches/open_branches.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "engine/order/files/reader_state.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_first_skips = 16;

}  // namespace

std::unique_ptr<OpenParts> open_parts(const Program& program, const std::shared_ptr<BufferPool>& pool,
                                      const RunMeans& means, std::function<void()> wake) {
  if (program.branches.empty()) return std::make_unique<OpenFiles>(program, pool, means, std::move(wake));
  return std::make_unique<OpenBranches>(program, pool, means, wake);
}

OpenBranches::OpenBranches(const Program& program, const std::shared_ptr<BufferPool>& pool, const RunMeans& means,
                           const std::function<void()>& wake)
    : side_by_side_{!program.combining.make}, pool_{pool}, sorted_(program.branches.size()) {
  const auto made =
      std::ranges::count_if(program.branches, [](const Program& branch) { return branch.made != nullptr; });
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    const Program& branch = program.branches[i];
    RunMeans own = means;
    if (branch.made) own.threads = std::max<std::int64_t>(1, means.threads / made);
    branches_.push_back(std::make_unique<OpenFiles>(branch, pool, std::move(own), wake));
    first_file_.push_back(first_file(program, i));
  }
}

Error OpenBranches::no_files() {
  return Error{Code::internal, "an order after a combination asked for files; it has none of its own"};
}

Error OpenBranches::too_many_blocks() {
  return {Code::data, Detail::resource_exhausted,
          fmt::format("a branch of a combination has more than {} blocks open; lower the buffers of its shuffles",
                      max_slot)};
}

Result<Handle> OpenBranches::side_by_side(std::span<const Handle> row) {
  if (free_rows_.empty()) {
    if (held_.size() == UINT32_MAX)
      return Error{Code::data, Detail::resource_exhausted, "a combination holds more than 2^32 - 1 rows"};
    free_rows_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.push_back(0);
    rows_.resize(held_.size() * branches_.size());
    row_charge_.set(*pool_, static_cast<std::int64_t>(rows_.capacity() * sizeof(Handle)), MemoryUse::order);
  }
  const std::uint32_t number = free_rows_.back();
  free_rows_.pop_back();
  held_[number] = 1;
  std::ranges::copy(row, rows_.begin() + static_cast<std::ptrdiff_t>(number * branches_.size()));
  std::uint64_t length = 0;
  for (const Handle& handle : row) length += handle.length;
  return Handle{.ordinal = number, .length = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, UINT32_MAX))};
}

void OpenBranches::sort(std::span<const Handle> handles) {
  for (auto& some : sorted_) some.clear();
  each(handles, [&](std::size_t branch, const Handle& handle) { sorted_[branch].push_back(handle); });
}

void OpenBranches::release_row(std::uint32_t row) {
  if (--held_[row] == 0) free_rows_.push_back(row);
}

void OpenBranches::drop(std::span<const Handle> records) {
  sort(records);
  for (std::size_t i = 0; i < branches_.size(); ++i) branches_[i]->drop(sorted_[i]);
  if (!side_by_side_) return;
  for (const Handle& record : records) {
    if (record.block != BlockTable::nowhere) release_row(record.ordinal);
  }
}

void OpenBranches::hold(std::span<const Handle> records) {
  sort(records);
  for (std::size_t i = 0; i < branches_.size(); ++i) branches_[i]->hold(sorted_[i]);
  if (!side_by_side_) return;
  for (const Handle& record : records) {
    if (record.block != BlockTable::nowhere) ++held_[record.ordinal];
  }
}

Result<bool> OpenBranches::fetch(std::span<Handle> handles) {
  sort(handles);
  Result<bool> all = true;
  for (std::size_t i = 0; i < branches_.size() && all.ok(); ++i) {
    const auto fetched = branches_[i]->fetch(sorted_[i]);
    all = fetched.ok() ? Result<bool>{*all && *fetched} : fetched;
  }
  // What was fetched is kept, also when a branch was interrupted.
  if (side_by_side_) return keep_fetched(handles), all;
  std::vector<std::size_t> next(branches_.size());
  for (Handle& handle : handles) {
    if (handle.block == BlockTable::nowhere) continue;
    const std::size_t branch = branch_of(handle);
    const Handle& fetched = sorted_[branch][next[branch]++];
    if (fetched.block > max_slot) return too_many_blocks();
    handle = of_branch(fetched, branch);
  }
  return all;
}

/// Puts what was fetched for rows, which is in sorted_, into the rows. A copy of a record counts the handles that it
/// was fetched for; a row that was given out more often before, when its record had no count, adds those.
void OpenBranches::keep_fetched(std::span<const Handle> rows) {
  std::unordered_map<std::uint32_t, std::int64_t> here;  // how often each row is among these
  for (const Handle& handle : rows)
    if (handle.block != BlockTable::nowhere) ++here[handle.ordinal];
  std::vector<std::size_t> next(branches_.size());
  for (const Handle& handle : rows) {
    if (handle.block == BlockTable::nowhere) continue;
    const std::int64_t elsewhere = static_cast<std::int64_t>(held_[handle.ordinal]) - here[handle.ordinal];
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      Handle& place = rows_[handle.ordinal * branches_.size() + i];
      const Handle& fetched = sorted_[i][next[i]++];
      if (fetched.block == place.block && fetched.ordinal == place.ordinal) continue;
      place = fetched;
      for (std::int64_t more = 0; more < elsewhere; ++more) branches_[i]->hold({&fetched, 1});
    }
  }
}

/// Gives each row to the branch that it is of.
void OpenBranches::deal_by_turns(BatchLayout& layout) {
  const bool draws = !layout.identities.empty();
  dealt_to_.assign(branches_.size(), 0);
  for (const Handle& handle : layout.handles)
    if (handle.block != BlockTable::nowhere) ++dealt_to_[branch_of(handle)];
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    layout.branches[i].handles.resize(dealt_to_[i]);
    layout.branches[i].row_of.resize(dealt_to_[i]);
    layout.branches[i].identities.resize(draws ? dealt_to_[i] : 0);
  }
  dealt_to_.assign(branches_.size(), 0);
  for (std::size_t row = 0; row < layout.handles.size(); ++row) {
    const Handle& handle = layout.handles[row];
    if (handle.block == BlockTable::nowhere) continue;
    BatchLayout& branch = layout.branches[branch_of(handle)];
    const std::size_t place = dealt_to_[branch_of(handle)]++;
    branch.handles[place] = without_branch(handle);
    branch.row_of[place] = static_cast<std::int64_t>(row);
    if (draws) branch.identities[place] = layout.identities[row];
  }
}

/// Gives each branch its part of every row.
void OpenBranches::deal_side_by_side(BatchLayout& layout) {
  const bool draws = !layout.identities.empty();
  for (std::size_t row = 0; row < layout.handles.size(); ++row) {
    std::size_t identity = row * branches_.size();
    each(std::span{layout.handles}.subspan(row, 1), [&](std::size_t number, const Handle& handle) {
      BatchLayout& branch = layout.branches[number];
      branch.handles.push_back(handle);
      branch.row_of.push_back(static_cast<std::int64_t>(row));
      if (draws) branch.identities.push_back(layout.identities[identity++]);
    });
    release_row(layout.handles[row].ordinal);
  }
  if (draws) layout.identities = layout.branches.front().identities;
}

/// Gives each branch its rows of the batch.
void OpenBranches::deal(BatchLayout& layout) {
  layout.branches.resize(branches_.size());
  for (BatchLayout& branch : layout.branches) {
    branch.clear();
    branch.number = layout.number;
    branch.epoch = layout.epoch;
  }
  if (side_by_side_) {
    deal_side_by_side(layout);
  } else {
    deal_by_turns(layout);
  }
  for (BatchLayout& branch : layout.branches) branch.rows = std::ssize(branch.handles);
}

Result<void> OpenBranches::hand_over(BatchLayout& layout, std::int64_t batch) {
  if (!dealt_) {
    deal(layout);
    dealt_ = true;
    handed_ = 0;
  }
  for (; handed_ < branches_.size(); ++handed_)
    FOREBAY_DO(branches_[handed_]->hand_over(layout.branches[handed_], batch));
  dealt_ = false;
  return {};
}

OpenParts::Expected OpenBranches::expect_batch(std::span<const Handle> rows) {
  sort(rows);
  Expected out;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const Expected one = branches_[i]->expect_batch(sorted_[i]);
    out.bytes += one.bytes;
    out.asked = out.asked && one.asked;
  }
  return out;
}

Result<void> OpenBranches::prepare() {
  for (const auto& branch : branches_) FOREBAY_DO(branch->prepare());
  return {};
}

void OpenBranches::catch_up(bool catching_up) {
  for (const auto& branch : branches_) branch->catch_up(catching_up);
}

void OpenBranches::begin_batch(std::int64_t number) {
  for (const auto& branch : branches_) branch->begin_batch(number);
}

Result<bool> OpenBranches::end_run(Deadline deadline) {
  for (const auto& branch : branches_) {
    FOREBAY_TRY(const bool done, branch->end_run(deadline));
    if (!done) return false;
  }
  return true;
}

void OpenBranches::set_deadline(Deadline deadline) {
  for (const auto& branch : branches_) branch->set_deadline(deadline);
}

bool OpenBranches::starved() const {
  return std::ranges::any_of(branches_, [](const auto& branch) { return branch->starved(); });
}

bool OpenBranches::interrupted(const Error& error) const {
  return std::ranges::any_of(branches_, [&](const auto& branch) { return branch->interrupted(error); });
}

void OpenBranches::collect(std::int64_t finished) {
  for (const auto& branch : branches_) branch->collect(finished);
}

void OpenBranches::collect() {
  for (const auto& branch : branches_) branch->collect();
}

void OpenBranches::limit_memory() {
  for (const auto& branch : branches_) branch->limit_memory();
}

void OpenBranches::close_readers() {
  for (const auto& branch : branches_) branch->close_readers();
}

std::uint32_t OpenBranches::number_of(const ReaderState& file) const {
  return static_cast<std::uint32_t>(first_file_[file.branch]) + branches_[file.branch]->number_of(file);
}

/// The branches are asked in turn, so that the blocks of one do not take all memory for blocks that are read ahead.
std::shared_ptr<ReaderState> OpenBranches::claim(bool soon) {
  const std::size_t first = turn_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const std::size_t branch = (first + i) % branches_.size();
    auto file = branches_[branch]->claim(soon);
    if (!file) continue;
    file->branch = branch;
    return file;
  }
  return nullptr;
}

void OpenBranches::scan(const std::shared_ptr<ReaderState>& file) { branches_[file->branch]->scan(file); }

bool OpenBranches::keeps_content() const {
  return std::ranges::any_of(branches_, [](const auto& branch) { return branch->keeps_content(); });
}

void OpenBranches::drop_kept_content() {
  for (const auto& branch : branches_) branch->drop_kept_content();
}

/// The notice of the first branch that has one; the others follow with later calls.
std::string OpenBranches::take_notice() {
  for (const auto& branch : branches_) {
    if (std::string notice = branch->take_notice(); !notice.empty()) return notice;
  }
  return "";
}

void OpenBranches::stop() {
  for (const auto& branch : branches_) branch->stop();
}

std::vector<std::int64_t> OpenBranches::sizes() const {
  std::vector<std::int64_t> out;
  for (const auto& branch : branches_) {
    const std::vector<std::int64_t> some = branch->sizes();
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::int64_t OpenBranches::records() const {
  std::int64_t out = 0;
  for (const auto& branch : branches_) out += branch->records();
  return out;
}

ShardReading OpenBranches::reading() const {
  ShardReading out;
  for (const auto& branch : branches_) {
    ShardReading one = branch->reading();
    if (out.reason.empty()) out.reason = std::move(one.reason);
    out.own_files += one.own_files;
    out.whole_files += one.whole_files;
  }
  return out;
}

std::int64_t OpenBranches::row_bytes() const {
  std::int64_t out = 0;
  for (const auto& branch : branches_) out += branch->row_bytes();
  return out;
}

std::int64_t OpenBranches::bytes_read() const {
  std::int64_t out = 0;
  for (const auto& branch : branches_) out += branch->bytes_read();
  return out;
}

RequestStats OpenBranches::requests() const {
  RequestStats out;
  for (const auto& branch : branches_) out.add(branch->requests());
  return out;
}

std::string OpenBranches::oldest_request() const {
  for (const auto& branch : branches_)
    if (std::string oldest = branch->oldest_request(); !oldest.empty()) return oldest;
  return {};
}

std::vector<const OpenParts*> OpenBranches::branches() const {
  std::vector<const OpenParts*> out;
  for (const auto& branch : branches_) out.push_back(branch.get());
  return out;
}

SkipTally::Counts OpenBranches::skipped() const {
  SkipTally::Counts out;
  for (const auto& branch : branches_) {
    const SkipTally::Counts some = branch->skipped();
    out.records += some.records;
    out.ranges += some.ranges;
    out.files += some.files;
    out.bytes += some.bytes;
    for (const Error& error : some.first) {
      if (out.first.size() < max_first_skips) out.first.push_back(error);
    }
  }
  return out;
}

}  // namespace forebay::engine
