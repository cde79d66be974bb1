// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "python_package.h"
#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct View {
  std::string document;
  std::vector<std::string> vocabulary;
  bool json = false;
};

Result<void> view(const View& asked) {
  std::vector<std::string> arguments;
  for (const std::string& each : asked.vocabulary) arguments.push_back("--vocabulary=" + each);
  arguments.emplace_back("--");
  arguments.push_back(asked.document);
  return run_python("forebay._view.command", arguments, "view: the page is served by Python");
}

}  // namespace

void add_view(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<View>();
  CLI::App* verb = app.add_subcommand("view", "Shows rows, plan and health on a local page (needs the Python package)");
  verb->add_option("DOC", asked->document, "Loader or pipeline document (JSON), or a file or folder of data")
      ->required();
  verb->add_option("--vocabulary", asked->vocabulary, "TENSOR=FILE: text for the ids of a tensor, a word in each line");
  set_command(verb, asked, view, command, "Print errors as JSON");
}

}  // namespace forebay::cli
