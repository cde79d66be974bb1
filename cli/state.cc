// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <forebay/state.h>

#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Show {
  std::string file;
  bool json = false;
};

Result<void> show(const Show& asked) {
  FOREBAY_TRY(const Json state, load_state(asked.file));
  FOREBAY_TRY(const std::string text, state_text(state).at(Place{.file = asked.file}));
  print_line(asked.json ? state.pretty() : text);
  return {};
}

}  // namespace

void add_state(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Show>();
  CLI::App* verb = app.add_subcommand("state", "Checks and prints the saved state of a run");
  verb->add_option("FILE", asked->file, "State as JSON, as `run --save-state` and state_dict() write it")->required();
  set_command(verb, asked, show, command);
}

}  // namespace forebay::cli
