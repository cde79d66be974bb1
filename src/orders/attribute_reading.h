// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orders/census.h"

namespace forebay::orders {

/// Appends an attribute of the records that `out` lacks, as `make` writes it, until it has one of every record. Fails
/// as Reader::attributes_of does; the next call goes on where this one stopped. `out` has room for all.
template <class T, class Make>
[[nodiscard]] Result<void> read_attribute(Reader& reader, const Census& census, std::size_t attribute, const Make& make,
                                          std::vector<T>& out) {
  constexpr std::int64_t at_once = 4096;
  std::vector<RecordName> names;
  std::vector<std::int64_t> values;
  while (std::ssize(out) < census.records()) {
    const std::int64_t first = std::ssize(out);
    const std::int64_t count = std::min(at_once, census.records() - first);
    names.clear();
    values.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) names.push_back(census.name(first + i));
    FOREBAY_DO(reader.attributes_of(attribute, names, values));
    for (const std::int64_t value : values) out.push_back(make(value, std::ssize(out)));
  }
  return {};
}

}  // namespace forebay::orders
