// SPDX-License-Identifier: Apache-2.0
#include "engine/skip_tally.h"

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::size_t most_told = 16;
constexpr std::int64_t least_judged = 1000;  // a share of fewer records says little

Error too_many(std::string what, const Error& last) {
  return {Code::data, Detail::data_loss,
          fmt::format("too much is damaged: {}; the last was: {}", std::move(what), last.message()), last.place()};
}

}  // namespace

Result<void> SkipTally::add(const Skip& skip) {
  if (skip.error.code() == Code::internal) return skip.error;  // a fault of a program, not of data
  const std::int64_t skips = pass_skips_ + 1;
  const std::int64_t seen = pass_records_ + skips;
  if (allowed_.max_count && skips > *allowed_.max_count)
    return too_many(fmt::format("on_corrupt.max_count allows {} skips in an epoch", *allowed_.max_count), skip.error);
  if (consecutive_ + 1 > allowed_.max_consecutive)
    return too_many(fmt::format("on_corrupt.max_consecutive allows {} skips without a good record in between",
                                allowed_.max_consecutive),
                    skip.error);
  if (allowed_.max_fraction && seen >= least_judged &&
      static_cast<double>(skips) > *allowed_.max_fraction * static_cast<double>(seen)) {
    return too_many(fmt::format("{} of {} records were skipped, on_corrupt.max_fraction is {}", skips, seen,
                                *allowed_.max_fraction),
                    skip.error);
  }
  pass_skips_ = skips;
  ++consecutive_;
  ++(allowed_.policy == Corrupt::skip_file ? counts_.files
     : skip.what == Skip::What::record     ? counts_.records
                                           : counts_.ranges);
  counts_.bytes += skip.bytes;
  if (counts_.first.size() < most_told) counts_.first.push_back(skip.error);
  return {};
}

Result<void> SkipTally::end_pass() const {
  const std::int64_t seen = pass_records_ + pass_skips_;
  if (!allowed_.max_fraction || pass_skips_ == 0) return {};
  if (static_cast<double>(pass_skips_) <= *allowed_.max_fraction * static_cast<double>(seen)) return {};
  return Error{
      Code::data, Detail::data_loss,
      fmt::format("too much is damaged: {} of {} records of the epoch were skipped, on_corrupt.max_fraction is "
                  "{}",
                  pass_skips_, seen, *allowed_.max_fraction)};
}

}  // namespace forebay::engine
