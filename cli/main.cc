// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <forebay/file_system.h>

#include "command.h"
#include "interrupt.h"
#include "python_package.h"
#include "report.h"
#include "usage.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

void add_verbs(CLI::App& app, Command& command) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "forebay 0.1.0");
  app.footer("Exit codes: 0 ok, 2 usage or config, 3 data, 4 I/O, 130 interrupted.");
  add_run(app, command);
  add_head(app, command);
  add_check(app, command);
  add_explain(app, command);
  add_schema(app, command);
  add_state(app, command);
  add_bench(app, command);
  add_index(app, command);
  add_verify(app, command);
  add_view(app, command);
  add_convert(app, command);
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : verb->get_options([](const CLI::Option* each) { return each->get_positional(); }))
      option->type_name("");  // the name of the option is enough
  }
}

int fail(const Error& error, bool json) {
  if (json) {
    std::vector<Json> faults;
    for (const Error& fault : faults_of(error)) faults.push_back(error_json(fault));
    Json out = Json::object();
    out.set("ok", false);
    out.set("faults", Json::array(std::move(faults)));
    print_line(out.pretty());
  }
  static_cast<void>(flush_output());  // output comes before the error
  const char* kind = error.code() == Code::cancelled ? "" : "error: ";
  fmt::print(stderr, "forebay: {}{}\n", kind, error.text());
  return exit_code(error);
}

/// Paths of a scheme that this program does not read are left to the package, whose readers are programs of Python: the
/// command begins anew inside it. There, the package has named a finder of its own.
void leave_schemes_to_python(int argc, char** argv) {
  if (scheme_finder()) return;
  find_schemes_with([arguments = std::vector<std::string>(argv + 1, argv + argc)](
                        const std::string& scheme) -> Result<std::shared_ptr<FileSystem>> {
    if (scheme == "s3" || scheme == "gs") return std::shared_ptr<FileSystem>{};  // are read without Python
    FOREBAY_DO(run_python("forebay._file_systems", arguments,
                          fmt::format("`{}://` is read by the package fsspec, through Python", scheme)));
    return std::shared_ptr<FileSystem>{};
  });
}

int main(int argc, char** argv) {
  install_signals();
  leave_schemes_to_python(argc, argv);
  CLI::App app{"Forebay: from records in files to batches of tensors", "forebay"};
  Command command;
  add_verbs(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // --help, --version
    const bool json = wants_json(argc, argv);
    fail({Code::config, Detail::invalid_argument, usage_text(app, problem, argc, argv)}, json);
    fmt::print(stderr, "(--help lists verbs and options)\n");
    return 2;
  }
  const auto done = command.run();
  if (!done.ok()) return fail(done.error(), command.json);
  const auto written = flush_output();
  return written.ok() ? command.code : fail(written.error(), false);
}

}  // namespace

}  // namespace forebay::cli

int forebay_command(int argc, char** argv) {
  try {
    return forebay::cli::main(argc, argv);
  } catch (const std::exception& problem) {  // only std::bad_alloc is left
    fmt::print(stderr, "forebay: error: {}\n", problem.what());
    return 1;
  }
}
