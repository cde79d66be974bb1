// SPDX-License-Identifier: Apache-2.0
#include "engine/order/skip_tally.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::size_t max_told = 16;
constexpr std::int64_t min_judged = 1000;  // a share of fewer records says little

/// As many as `amount` would have, if each of `others` had an equal part of `all`.
std::int64_t share(std::int64_t amount, std::int64_t all, std::int64_t others) {
  if (others <= 0) return 0;
  return std::llround(static_cast<double>(amount) * static_cast<double>(all) / static_cast<double>(others));
}

Error too_many(std::string what, const Error& last) {
  return {Code::data, Detail::data_loss,
          fmt::format("too much is corrupt: {}; the last was: {}", std::move(what), last.message()), last.place()};
}

}  // namespace

Result<void> SkipTally::add(const Skip& skip) {
  if (skip.error.code() == Code::internal) return skip.error;  // a fault of a program, not of data
  const std::int64_t skips = pass_.skips + 1;
  const std::int64_t seen = pass_.good + skips;
  if (allowed_.max_count && skips > *allowed_.max_count)
    return too_many(fmt::format("on_corrupt.max_count allows {} skips in an epoch", *allowed_.max_count), skip.error);
  if (pass_.consecutive + 1 > allowed_.max_consecutive)
    return too_many(fmt::format("on_corrupt.max_consecutive allows {} skips without a good record in between",
                                allowed_.max_consecutive),
                    skip.error);
  if (allowed_.max_fraction && seen >= min_judged &&
      static_cast<double>(skips) > *allowed_.max_fraction * static_cast<double>(seen)) {
    return too_many(fmt::format("{} of {} records were skipped, on_corrupt.max_fraction is {}", skips, seen,
                                *allowed_.max_fraction),
                    skip.error);
  }
  pass_.skips = skips;
  ++pass_.consecutive;
  ++(allowed_.policy == Corrupt::skip_file ? counts_.files
     : skip.what == Skip::What::record     ? counts_.records
                                           : counts_.ranges);
  if (skip.what == Skip::What::file) {
    ++pass_.lost_files;
  } else if (skip.what == Skip::What::range || allowed_.policy == Corrupt::skip_file) {
    ++pass_.lost_parts;
    pass_.lost_bytes += skip.bytes + skip.unread;
  }
  counts_.bytes += skip.bytes;
  if (counts_.first.size() < max_told) counts_.first.push_back(skip.error);
  return {};
}

void SkipTally::found_in(const Block& block) {
  const std::int64_t bytes = block.file_end - block.file_offset;
  if (block.skips.empty()) return found(std::ssize(block.records), bytes);
  const Skip& first = block.skips.front();
  if (allowed_.policy == Corrupt::skip_file)
    return found(static_cast<std::int64_t>(first.index), first.offset - block.file_offset);
  std::int64_t lost = 0;
  for (const Skip& skip : block.skips) lost += skip.what == Skip::What::record ? 0 : skip.bytes;
  found(std::ssize(block.records), bytes - lost);
}

std::int64_t SkipTally::lost_records() const {
  const std::int64_t single = pass_.skips - pass_.lost_parts - pass_.lost_files;
  return single + std::max(pass_.lost_parts, share(pass_.lost_bytes, pass_.found, pass_.found_bytes)) +
         std::max(pass_.lost_files, share(pass_.lost_files, pass_.found, pass_.files - pass_.lost_files));
}

Result<void> SkipTally::end_pass() const {
  if (!allowed_.max_fraction || pass_.skips == 0) return {};
  const std::int64_t lost = lost_records();
  const std::int64_t all = pass_.good + lost;
  if (static_cast<double>(lost) <= *allowed_.max_fraction * static_cast<double>(all)) return {};
  return Error{
      Code::data, Detail::data_loss,
      fmt::format("too much is corrupt: {}{} of {} records of the epoch were skipped, on_corrupt.max_fraction is {}",
                  lost == pass_.skips ? "" : "by the bytes and files that are lost, about ", lost, all,
                  *allowed_.max_fraction)};
}

}  // namespace forebay::engine
