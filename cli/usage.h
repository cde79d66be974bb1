// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace forebay::cli {

/// The message for a faulty command line: the wrong verb, option or argument, and the nearest valid one.
[[nodiscard]] std::string usage_text(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv);

/// Whether `--json` was given, even if the command line is faulty.
[[nodiscard]] bool wants_json(int argc, char** argv);

}  // namespace forebay::cli
