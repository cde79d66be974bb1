// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/skip_tally.h"

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::int64_t min_judged = 1000;  // records of the pass from which `add` applies max_fraction

Error exceeded(const std::string& budget, const Error& last) {
  return {Code::data, Detail::data_loss,
          fmt::format("too much is corrupt: {}; the last was: {}", budget, last.message()), last.place()};
}

}  // namespace

bool SkipTally::too_many(std::int64_t skips) const {
  return allowed_.max_fraction &&
         static_cast<double>(skips) > *allowed_.max_fraction * static_cast<double>(pass_.good + skips);
}

Result<void> SkipTally::add(const Skip& skip) {
  if (skip.error.code() == Code::internal) return skip.error;
  const std::int64_t skips = pass_.skips + 1;
  const std::int64_t seen = pass_.good + skips;
  if (allowed_.max_count && skips > *allowed_.max_count)
    return exceeded(fmt::format("on_corrupt.max_count allows {} skips in an epoch", *allowed_.max_count), skip.error);
  if (pass_.consecutive + 1 > allowed_.max_consecutive)
    return exceeded(fmt::format("on_corrupt.max_consecutive allows {} skips without a good record in between",
                                allowed_.max_consecutive),
                    skip.error);
  if (seen >= min_judged && too_many(skips)) {
    return exceeded(fmt::format("{} of {} records were skipped, on_corrupt.max_fraction is {}", skips, seen,
                                *allowed_.max_fraction),
                    skip.error);
  }
  pass_.skips = skips;
  ++pass_.consecutive;
  ++(allowed_.policy == Corrupt::skip_file ? counts_.files
     : skip.what == Skip::What::record     ? counts_.records
                                           : counts_.ranges);
  counts_.bytes += skip.bytes;
  if (counts_.first.size() < SkipCounts::max_errors) counts_.first.push_back(skip.error);
  return {};
}

Result<void> SkipTally::end_pass() const {
  if (pass_.skips == 0 || !too_many(pass_.skips)) return {};
  return Error{
      Code::data, Detail::data_loss,
      fmt::format("too much is corrupt: {} of {} records of the epoch were skipped, on_corrupt.max_fraction is {}",
                  pass_.skips, pass_.good + pass_.skips, *allowed_.max_fraction)};
}

}  // namespace forebay::engine
