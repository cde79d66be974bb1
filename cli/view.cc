// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "report.h"
#include "verbs.h"

extern char** environ;

namespace forebay::cli {

namespace {

struct View {
  std::string document;
  std::vector<std::string> vocabulary;
  bool json = false;
};

// Python puts the working directory first on its path, where the files of a data set may lie; this takes it out again.
constexpr const char* only_installed = "import sys; sys.path[:] = [p for p in sys.path if p]; ";

class Arguments {
 public:
  explicit Arguments(std::vector<std::string> texts) : texts_{std::move(texts)} {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

bool has_forebay(const char* python) {
  const Arguments arguments{{python, "-c",
                             std::string{only_installed} +
                                 "import importlib.util as u; sys.exit(not u.find_spec('forebay') or not "
                                 "u.find_spec('forebay._view'))"}};
  pid_t child = 0;
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
  const bool started = posix_spawnp(&child, python, &quiet, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return started && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<void> view(const View& asked) {
  for (const char* python : {"python3", "python"}) {
    if (!has_forebay(python)) continue;
    std::vector<std::string> texts = {
        python, "-c",
        std::string{only_installed} + "from forebay._view.command import main; sys.exit(main(sys.argv[1:]))"};
    for (const std::string& each : asked.vocabulary) texts.push_back("--vocabulary=" + each);
    texts.emplace_back("--");
    texts.push_back(asked.document);
    const Arguments arguments{std::move(texts)};
    execvp(python, arguments.data());
  }
  return Error{Code::config, Detail::not_found,
               "view: the page is served by Python, and no python3 on the PATH has the package forebay; "
               "`pip install forebay` gets it, in an environment that is then activated"};
}

}  // namespace

void add_view(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<View>();
  CLI::App* verb = app.add_subcommand("view", "Shows rows, plan and health on a local page (needs the Python package)");
  verb->add_option("DOC", asked->document, "Loader or pipeline document (JSON), or a TFRecord file")->required();
  verb->add_option("--vocabulary", asked->vocabulary, "TENSOR=FILE: text for the ids of a tensor, a word in each line");
  set_command(verb, asked, view, command, "Print errors as JSON");
}

}  // namespace forebay::cli
