// SPDX-License-Identifier: Apache-2.0
#include <forebay/row_identity.h>

#include <initializer_list>

#include "base/draw.h"

namespace forebay {

std::uint64_t draw_of_row(std::uint64_t seed, const RowIdentity& row, std::uint64_t purpose) {
  std::uint64_t key = draw_key({.seed = seed, .epoch = static_cast<std::uint64_t>(row.epoch), .purpose = purpose});
  for (const std::int64_t part : {row.part, row.occurrence, row.window})
    key = draw_at(key, static_cast<std::uint64_t>(part));
  // Of branch 0 nothing is mixed in: the draws of a plan that has one source do not depend on branches.
  if (row.branch != 0) key = draw_at(key, static_cast<std::uint64_t>(row.branch));
  return draw_at(key, static_cast<std::uint64_t>(row.record));
}

}  // namespace forebay
