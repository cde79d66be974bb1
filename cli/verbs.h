// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <forebay/error.h>
#include <CLI/CLI.hpp>

namespace forebay::cli {

/// The chosen verb; main runs it after parsing.
struct Command {
  std::function<Result<void>()> run;
  int code = 0;       ///< Exit code of the process when `run` succeeds.
  bool json = false;  ///< Errors go to standard output as JSON, too.
};

/// Adds `--json`. When the verb is chosen, `command` will call `run` with the parsed options.
template <class Asked>
void set_command(CLI::App* verb, const std::shared_ptr<Asked>& asked, Result<void> (*run)(const Asked&),
                 Command& command, const char* json = "Print JSON") {
  verb->add_flag("--json", asked->json, json);
  verb->callback([=, &command] { command = {.run = [=] { return run(*asked); }, .json = asked->json}; });
}

// Each adds one verb, which sets `command` when it is chosen. `command` must outlive the parsing.
void add_run(CLI::App& app, Command& command);
void add_head(CLI::App& app, Command& command);
void add_check(CLI::App& app, Command& command);
void add_explain(CLI::App& app, Command& command);
void add_schema(CLI::App& app, Command& command);
void add_state(CLI::App& app, Command& command);
void add_bench(CLI::App& app, Command& command);
void add_index(CLI::App& app, Command& command);
void add_verify(CLI::App& app, Command& command);
void add_view(CLI::App& app, Command& command);
void add_convert(CLI::App& app, Command& command);

}  // namespace forebay::cli
