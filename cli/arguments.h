// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

/// What values of options must be, in messages that say what was found and what is allowed.
namespace forebay::cli {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// An integer from `least` to `most`.
[[nodiscard]] CLI::Validator whole_number(std::int64_t min, std::int64_t max = no_limit);
/// A number above 0.
[[nodiscard]] CLI::Validator positive_number();
/// Not empty, as an unset variable of the shell leaves it: an option that is there must not count as left out.
[[nodiscard]] CLI::Validator not_empty();

/// The paths without the indexes among them, which a shell's wildcards find beside the data; says so on standard error.
/// Patterns stay as they are. Nothing is left when all of them are indexes.
[[nodiscard]] std::vector<std::string> without_indexes(const std::vector<std::string>& paths);

}  // namespace forebay::cli
