// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/attribute.h>

/// What the tag of a sequence says about it.
namespace forebay::orders {

/// 1 for the tags in a file that has one on each line, else 0. Blank lines are passed over.
[[nodiscard]] TextLookup listed_tags(const DataFile& file);

/// The lengths in a file that has a JSON object of tags and numbers, as integers in the same order.
[[nodiscard]] TextLookup lengths_by_tag(const DataFile& file);

/// Half `half` (0 or 1) of a hash of 128 bits, by which equal tags are found.
[[nodiscard]] TextLookup half_of_hash(std::uint64_t half);

}  // namespace forebay::orders
