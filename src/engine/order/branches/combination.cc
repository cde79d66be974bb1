// SPDX-License-Identifier: Apache-2.0
#include "engine/order/branches/combination.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::engine {

using When = PassEnd::When;

Combination::Combination(const Program& program, OpenBranches& parts, const std::vector<BranchCursor>& start)
    : program_{program}, parts_{parts}, row_(program.branches.size()), has_(program.branches.size()) {
  if (program.combining.make) turns_.emplace(program);
  for (std::size_t i = 0; i < program.branches.size(); ++i)
    streams_.push_back(std::make_unique<BranchStream>(program.branches[i], parts.branch(i),
                                                      start.empty() ? BranchCursor{} : start[i]));
}

void Combination::begin(std::int64_t pass) {
  for (const auto& stream : streams_) {
    if (stream->ended() || (begun_ && !turns_)) stream->next_epoch();
  }
  begun_ = true;
  if (turns_) turns_->begin(pass);
  has_.assign(streams_.size(), false);
  settled_ = asked_ = 0;
  given_ = 0;
  over_ = told_end_ = false;
}

std::vector<BranchCursor> Combination::cursors() const {
  std::vector<BranchCursor> out;
  for (const auto& stream : streams_) {
    const bool anew = begun_ && !turns_;
    out.push_back(anew ? BranchCursor{.epoch = stream->epoch() + 1} : stream->cursor());
  }
  return out;
}

Result<std::size_t> Combination::pull(std::span<Handle> out) {
  if (turns_ && settled_ < streams_.size()) FOREBAY_DO(settle());
  std::size_t count = 0;
  while (true) {
    if (turns_ && !program_.takes_batches) count += at_hand(out.subspan(count));
    if (count == out.size()) return count;
    const auto more = turns_ ? one(out[count]) : side_by_side(out[count]);
    if (!more.ok() && count == 0) return more.error();
    told_end_ = more.ok() && !*more && count == 0;
    if (!more.ok() || !*more) return count;  // an error comes again with the next call
    ++count;
  }
}

/// Takes turns as long as the branches have elements that were pulled already.
std::size_t Combination::at_hand(std::span<Handle> out) {
  for (std::size_t count = 0; count < out.size(); ++count) {
    const std::size_t branch = turns_->next();
    if (branch == Turns::none || !streams_[branch]->ahead()) return count;
    out[count] = OpenBranches::of_branch(streams_[branch]->take(), branch);
    turns_->took();
  }
  return out.size();
}

Result<std::int64_t> Combination::skip(std::int64_t n, Reader& reader) {
  constexpr std::int64_t some = 64;  // rows that cost less than to pass over them
  const bool within_a_row = asked_ > 0 || over_;
  if (n <= some || program_.takes_batches || within_a_row) return Handles::skip(n, reader);
  if (turns_ && settled_ < streams_.size()) FOREBAY_DO(settle());
  if (program_.equal_files && !files_checked_) FOREBAY_DO(check_files());
  if (const std::int64_t passed = pass_over(n); passed > 0) return passed;
  return Handles::skip(some, reader);
}

/// Passes over up to `n` rows; returns how many. 0: the next one may find the end of an epoch, or no index tells.
std::int64_t Combination::pass_over(std::int64_t n) {
  left_.assign(streams_.size(), 0);
  counts_.assign(streams_.size(), 0);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const auto left = streams_[i]->left(turns_ ? turns_->goes_round(i) : program_.branches[i].repeat);
    if (!left) return 0;
    left_[i] = *left;
  }
  const std::int64_t passed =
      turns_ ? turns_->pass_over(n, left_, counts_) : std::min(n, *std::ranges::min_element(left_));
  if (!turns_) {
    counts_.assign(streams_.size(), passed);
    given_ += passed;
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i]->pass_over(counts_[i]);
  return passed;
}

/// A branch of which an earlier pass took the last element, without asking for more, begins its next epoch.
Result<void> Combination::settle() {
  for (; settled_ < streams_.size(); ++settled_) {
    BranchStream& stream = *streams_[settled_];
    if (stream.fresh()) continue;
    FOREBAY_TRY(const bool more, stream.more());
    if (!more) stream.next_epoch();
  }
  return {};
}

Result<bool> Combination::one(Handle& out) {
  while (true) {
    const std::size_t branch = turns_->next();
    if (branch == Turns::none) return false;
    BranchStream& stream = *streams_[branch];
    if (!stream.ahead()) {
      FOREBAY_TRY(const bool more, stream.more());
      if (!more) {
        if (turns_->ended(stream.fresh())) stream.next_epoch();
        continue;
      }
    }
    out = OpenBranches::of_branch(stream.take(), branch);
    inside_ = program_.takes_batches && !stream.ended_batch();
    if (!inside_) turns_->took();
    return true;
  }
}

/// Orders of files and an interleave move rows alike only where files of the same number have as many rows.
Result<void> Combination::check_files() {
  const auto counts_of = [this](std::size_t branch) {
    std::vector<Handle> files(program_.branches[branch].source.parts());
    for (std::size_t file = 0; file < files.size(); ++file) files[file].block = static_cast<std::uint32_t>(file);
    return parts_.branch(branch).count(files);
  };
  FOREBAY_TRY(const std::vector<std::int64_t> first, counts_of(0));
  for (std::size_t branch = 1; branch < streams_.size(); ++branch) {
    FOREBAY_TRY(const std::vector<std::int64_t> counts, counts_of(branch));
    if (counts == first) continue;
    const auto [own, other] = std::ranges::mismatch(counts, first);
    const std::string found =
        counts.size() != first.size()
            ? fmt::format("{} files, where branch 0 has {}", counts.size(), first.size())
            : fmt::format("{} rows in file {}, where branch 0 has {}", *own, own - counts.begin(), *other);
    return Error{Code::data, Detail::failed_precondition,
                 fmt::format("branch {} of `zip` has {}; its orders go by files, so files that lie side by side have "
                             "equally many rows; shuffle the rows with a buffer or globally instead",
                             branch, found)};
  }
  files_checked_ = true;
  return {};
}

Result<bool> Combination::side_by_side(Handle& out) {
  if (program_.equal_files && !files_checked_) FOREBAY_DO(check_files());
  const bool first_ends = program_.combining.end.when == When::first;
  while (asked_ < streams_.size() && !over_) {
    BranchStream& stream = *streams_[asked_];
    FOREBAY_TRY(const bool more, stream.more());
    if (!more && program_.branches[asked_].repeat && !stream.fresh()) {
      stream.next_epoch();
      continue;
    }
    has_[asked_] = more;
    if (more) row_[asked_] = stream.take();
    over_ = !more && first_ends;
    ++asked_;
  }
  const auto there = static_cast<std::size_t>(std::ranges::count(has_, true));
  if (there == streams_.size()) {
    FOREBAY_TRY(out, parts_.side_by_side(row_));
    has_.assign(streams_.size(), false);
    asked_ = 0;
    ++given_;
    return true;
  }
  if (there > 0 && !first_ends) return unequal();
  over_ = true;
  for (std::size_t i = 0; i < row_.size(); ++i) {
    if (has_[i]) parts_.branch(i).drop({&row_[i], 1});
    has_[i] = false;
  }
  return false;
}

Error Combination::unequal() const {
  std::size_t ended = 0;
  while (has_[ended]) ++ended;
  std::size_t goes_on = 0;
  while (!has_[goes_on]) ++goes_on;
  return Error{
      Code::data, Detail::failed_precondition,
      fmt::format("branch {} of `zip` ends after {} rows, and branch {} goes on; branches that are read side by "
                  "side have equally many rows; set `until` to \"first\" to end with the shortest one",
                  ended, given_, goes_on)};
}

double Combination::done() const {
  const PassEnd& end = turns_ ? turns_->end() : program_.combining.end;
  if (end.when == When::rows) return static_cast<double>(turns_->given()) / static_cast<double>(end.rows);
  double largest = 0, smallest = 1, sum = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const double done = turns_ && turns_->completed(i) ? 1.0 : streams_[i]->done();
    if (!program_.branches[i].repeat && !(turns_ && turns_->left_out(i))) largest = std::max(largest, done);
    smallest = std::min(smallest, done);
    sum += done;
  }
  if (end.when == When::all) return sum / static_cast<double>(streams_.size());
  return largest > 0 ? largest : smallest;
}

}  // namespace forebay::engine
