// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/pass_counts.h"

#include <algorithm>
#include <numeric>

#include "engine/index/index_parallel.h"
#include "engine/index/made_index.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

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
  const auto identities = requested_identities(program, numbers);
  for (const std::uint32_t file : numbers) {
    IndexRequest request = request_for(source, file);
    request.stores = limits.stores;
    request.identity = identities[file];
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
  Branch(const Program& program, const CountLimits& limits) : counts{program, limits}, epoch{counts.next()} {}

  [[nodiscard]] bool more() { return !(ended = taken == *epoch); }
  void next_epoch() {
    epoch = counts.next();
    taken = 0;
    ended = false;
  }

  PassCounts counts;                  // of its epochs
  std::optional<std::int64_t> epoch;  // rows of the present one
  std::int64_t taken = 0;             // of them
  bool ended = false;                 // it was seen that none is left
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
  const bool known = std::ranges::all_of(branches_, [](const auto& branch) { return branch->epoch.has_value(); });
  if (!known) return std::nullopt;
  return turns_ ? of_turns() : side_by_side();
}

/// As Combination goes through a pass.
std::optional<std::int64_t> PassCounts::of_turns() {
  for (const auto& branch : branches_) {
    if (branch->ended || (branch->taken > 0 && !branch->more())) branch->next_epoch();
  }
  if (turns_left_-- <= 0) return std::nullopt;
  turns_->begin(pass_++);
  for (std::size_t at = turns_->next(); at != Turns::none; at = turns_->next()) {
    Branch& branch = *branches_[at];
    if (!branch.epoch || turns_left_-- <= 0) return std::nullopt;
    if (branch.more()) {
      ++branch.taken;
      turns_->took();
    } else if (turns_->ended(branch.taken == 0)) {
      branch.next_epoch();
    }
  }
  return turns_->given();
}

/// Every pass begins anew with every branch.
std::optional<std::int64_t> PassCounts::side_by_side() {
  std::optional<std::int64_t> shortest, longest;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const std::int64_t rows = *branches_[i]->epoch;
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
