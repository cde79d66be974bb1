// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

/// Checks of option values. Their messages say what is allowed and what was found.
namespace forebay::cli {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// An integer from `least` to `most`.
[[nodiscard]] CLI::Validator whole_number(std::int64_t min, std::int64_t max = no_limit);
/// A number greater than 0.
[[nodiscard]] CLI::Validator positive_number();
/// Refuses an empty value, which an unset shell variable leaves: an option that is present must not count as left out.
[[nodiscard]] CLI::Validator not_empty();

}  // namespace forebay::cli
