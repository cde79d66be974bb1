// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace forebay::cli {

/// What is wrong with the command line: which verb, option or argument, and the nearest one that there is.
[[nodiscard]] std::string usage_text(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv);

/// Whether `--json` was asked for, also where the command line could not be read.
[[nodiscard]] bool wants_json(int argc, char** argv);

}  // namespace forebay::cli
