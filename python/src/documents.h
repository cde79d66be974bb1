// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/json.h>
#include <forebay/run_options.h>

#include "errors.h"

namespace forebay::python {

/// The JSON value of dicts, lists, tuples, str, numbers, bool and None, of NumPy scalars and arrays, and of paths and
/// bytes. The place of each value has its JSON pointer and no line; `pointer` is that of the outermost.
/// Raises ConfigError for anything else, and when nested deeper than 64.
[[nodiscard]] Json to_json(nb::handle value, const std::string& pointer = "");

/// A number of bytes, or text such as "1GiB". Raises ConfigError for anything else.
[[nodiscard]] std::int64_t memory_of(nb::handle memory);
/// The same for the size of a cache.
[[nodiscard]] std::int64_t cache_size_of(nb::handle size);

/// A shard in any form that parse_shard takes. Raises ConfigError with every fault.
[[nodiscard]] Shard shard_of(nb::handle shard);

}  // namespace forebay::python
