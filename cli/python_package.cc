// SPDX-License-Identifier: Apache-2.0
#include "python_package.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

extern char** environ;

namespace forebay::cli {

namespace {

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

// Finds the module and the compiled core of this version of Python. Importing the package would take as long as the
// verb's own start.
constexpr const char* look_for = R"(
import importlib.machinery as machinery, importlib.util as util
def there(name):
    first, *rest = name.split('.')
    spec = util.find_spec(first)
    for part in rest:
        spec = spec and machinery.PathFinder.find_spec(part, spec.submodule_search_locations)
    return spec is not None
sys.exit(not all(map(there, sys.argv[1:])))
)";

bool has_module(const char* python, const std::string& module) {
  const Arguments arguments{{python, "-c", std::string{only_installed} + look_for, module, "forebay._core"}};
  pid_t child = 0;
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
  const bool started = posix_spawnp(&child, python, &quiet, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return started && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<void> run_python(const std::string& module, const std::vector<std::string>& arguments, const std::string& why) {
  const char* const own = std::getenv("FOREBAY_PYTHON");  // set by the package's console script
  const bool known = own != nullptr && *own != '\0';
  for (const char* python : known ? std::vector{own} : std::vector{"python3", "python"}) {
    if (!known && !has_module(python, module)) continue;
    std::vector<std::string> texts = {
        python, "-c", std::string{only_installed} + "from " + module + " import main; sys.exit(main(sys.argv[1:]))"};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    const Arguments all{std::move(texts)};
    execvp(python, all.data());
  }
  return Error{Code::config, Detail::not_found,
               why +
                   ", and no python3 on the PATH has the package forebay; `pip install forebay` gets it, in an "
                   "environment that is then activated"};
}

}  // namespace forebay::cli
