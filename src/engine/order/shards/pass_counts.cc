// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/pass_counts.h"

#include <algorithm>
#include <numeric>

#include "engine/index/index_parallel.h"
#include "engine/index/made_index.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t memory_for_published = std::int64_t{256} << 20;  // bytes

/// The records of all files that the filters keep, by their stored indexes and attributes, or the rows in memory, or
/// the files that are records. Empty when a file has none stored, or when there are too many to read them now.
std::optional<std::int64_t> known_records(const Program& program, const CountLimits& limits) {
  const Source& source = program.source;
  const bool filtered = !program.early.attributes.empty();
  if (source.files_a_part > 0) return filtered ? std::nullopt : std::optional<std::int64_t>{std::ssize(source.files)};
  std::int64_t records = 0;
  if (source.rows && filtered) return std::nullopt;
  if (source.rows) {
    for (const RowPart& part : source.rows->parts) {
      if (!part.rows && !part.count) return std::nullopt;
      records += part.rows ? part.in_memory() : *part.count;
    }
    return records;
  }
  if (source.files.size() > limits.max_files) return std::nullopt;
  const auto filters = counted_filters(program);
  std::vector<std::uint32_t> numbers(source.files.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  const auto pool = std::make_shared<BufferPool>(memory_for_published);
  for (const IndexRequest& request :
       requests_with_published(program, numbers, {.pool = pool, .stores = limits.stores})) {
    const auto found = load_made(program, request);
    if (!found) return std::nullopt;
    records += records_with(*found, filters);
  }
  return records;
}

/// The records that come out of the order that opens the files when all filters together keep `records`. Empty when it
/// gives another number, or some twice and others not, and a filter after it does not know which ones.
std::optional<std::int64_t> count_of_interleave(const Program& program, std::int64_t records) {
  const auto& count = program.interleave.count;
  const auto given = count ? count(records) : std::optional{records};
  const bool same = given == records && !program.interleave.repeats;
  return same || !std::ranges::any_of(program.record_orders, &Ordering::selects) ? given : std::nullopt;
}

}  // namespace

bool repeats_branches(const Program& program) {
  return !program.branches.empty() && (std::ranges::any_of(program.record_orders, &Ordering::repeats) ||
                                       std::ranges::any_of(program.branches, repeats_branches));
}

bool counted_by_index(const Program& program) {
  if (program.windows || skips_early(program.on_corrupt) || !countable(program.record_orders)) return false;
  if (program.takes_batches) return false;
  constexpr std::int64_t some_files = 1'000'000;
  if (count_after(program.file_orders, some_files) != some_files) return false;
  if (program.made) {
    return !program.made->marks_batches && program.made->on_corrupt.policy == Corrupt::fail &&
           program.early.attributes.empty() && counted_by_index(*program.made);
  }
  if (!program.branches.empty()) {
    const bool again = program.combining.make && std::ranges::any_of(program.record_orders, &Ordering::repeats);
    return !again &&
           std::ranges::all_of(program.branches, [](const Program& branch) { return counted_by_index(branch); });
  }
  return true;
}

struct PassCounts::Branch {
  Branch(const Program& program, const CountLimits& limits) : counts{program, limits}, rows{counts.next()} {}

  [[nodiscard]] bool more() { return !(ended = at.taken == *rows); }
  void next_epoch() {
    rows = counts.next();
    at = {.epoch = at.epoch + 1};
    ended = false;
  }

  PassCounts counts;                 // of its epochs
  std::optional<std::int64_t> rows;  // of the present epoch
  BranchCursor at;
  bool ended = false;  // it was seen that none is left
};

PassCounts::PassCounts(const Program& program, const CountLimits& limits)
    : program_{program}, turns_left_{limits.max_turns} {
  if (program.made) {
    made_ = std::make_unique<PassCounts>(*program.made, limits);
  } else if (program.branches.empty()) {
    const auto records = known_records(program, limits);
    if (records) rows_ = count_of_interleave(program, *records);
  }
  for (const Program& branch : program.branches) branches_.push_back(std::make_unique<Branch>(branch, limits));
  if (!branches_.empty() && program.combining.make) turns_.emplace(program);
}

PassCounts::~PassCounts() = default;

bool PassCounts::alike() const {
  if (made_) return made_->alike();
  return !turns_ && std::ranges::all_of(branches_, [](const auto& branch) { return branch->counts.alike(); });
}

std::optional<std::int64_t> PassCounts::next() {
  const std::optional<std::int64_t> rows = cut_ ? std::nullopt : given();
  const auto out = rows ? count_after_filters(program_.record_orders, *rows) : std::nullopt;
  cut_ = turns_ && out != rows;
  return out;
}

std::optional<std::int64_t> PassCounts::given() {
  if (made_) {
    const auto rows = made_->next();
    return rows ? count_of_interleave(program_, *rows) : std::nullopt;
  }
  if (branches_.empty()) return rows_;
  const bool known = std::ranges::all_of(branches_, [](const auto& branch) { return branch->rows.has_value(); });
  if (!known) return std::nullopt;
  return turns_ ? of_turns() : side_by_side();
}

/// As Combination goes through a pass.
std::optional<std::int64_t> PassCounts::of_turns() {
  for (const auto& branch : branches_) {
    if (branch->ended || (branch->at.taken > 0 && !branch->more())) branch->next_epoch();
  }
  if (turns_left_-- <= 0) return std::nullopt;
  turns_->begin(pass_++);
  return take_turns() ? std::optional{turns_->given()} : std::nullopt;
}

/// Goes to the end of the pass. Returns false where it cannot tell.
bool PassCounts::take_turns() {
  constexpr std::int64_t turns_apart = 64;  // what to pass over some of them costs
  while (true) {
    const std::int64_t passed = pass_over();
    turns_left_ -= turns_apart;
    for (std::int64_t i = passed > 0 ? turns_apart - 1 : 0; i < turns_apart; ++i) {
      const std::size_t at = turns_->next();
      if (at == Turns::none) return true;
      Branch& branch = *branches_[at];
      if (!branch.rows || turns_left_-- <= 0) return false;
      if (branch.more()) {
        ++branch.at.taken;
        turns_->took();
      } else if (turns_->ended(branch.at.taken == 0)) {
        branch.next_epoch();
      }
    }
  }
}

/// Takes the turns up to the next one that may find the end of an epoch; returns how many.
std::int64_t PassCounts::pass_over() {
  left_.assign(branches_.size(), 0);
  given_.assign(branches_.size(), 0);
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const Branch& branch = *branches_[i];
    if (!branch.rows) return 0;
    const bool endless = *branch.rows > 0 && branch.counts.alike() && turns_->goes_round(i);
    left_[i] = endless ? Turns::endless : *branch.rows - branch.at.taken;
  }
  const std::int64_t passed = turns_->pass_over(Turns::endless, left_, given_);
  for (std::size_t i = 0; i < branches_.size() && passed > 0; ++i) {
    Branch& branch = *branches_[i];
    branch.at = branch.at.after(given_[i], *branch.rows);
  }
  return passed;
}

std::vector<BranchCursor> PassCounts::cursors() const {
  std::vector<BranchCursor> out;
  for (const auto& branch : branches_)
    out.push_back(branch->ended ? BranchCursor{.epoch = branch->at.epoch + 1} : branch->at);
  return out;
}

std::optional<std::int64_t> EpochRows::of(std::int64_t epoch) {
  if (!counts_ && countable_) {
    countable_ = counted_by_index(branch_);
    if (countable_) counts_.emplace(branch_, CountLimits{});
  }
  if (!counts_) return std::nullopt;
  while (known_ == 0 || (known_ <= epoch && !counts_->alike())) {
    rows_ = counts_->next();
    if (!rows_) return counts_.reset(), countable_ = false, std::nullopt;
    ++known_;
  }
  return rows_;
}

/// Every pass begins anew with every branch.
std::optional<std::int64_t> PassCounts::side_by_side() {
  std::optional<std::int64_t> shortest, longest;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const std::int64_t rows = *branches_[i]->rows;
    const bool repeats = program_.branches[i].repeat && rows > 0;
    if (repeats && !branches_[i]->counts.alike()) return std::nullopt;
    branches_[i]->next_epoch();
    if (repeats) continue;
    shortest = std::min(shortest.value_or(rows), rows);
    longest = std::max(longest.value_or(rows), rows);
  }
  const bool ends = program_.combining.end.when == PassEnd::When::first || shortest == longest;
  return ends ? shortest : std::nullopt;  // a run of unlike branches fails
}

}  // namespace forebay::engine
