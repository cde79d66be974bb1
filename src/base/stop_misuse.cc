// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include <forebay/error.h>

namespace forebay {

// The only place of src/ that ends the process (tools/check_layout.py): the program is wrong, not its input.
void stop_misuse(const Error* found) noexcept {
  const std::string text = found != nullptr ? "the value of a failed Result was used; its error: " + found->text()
                                            : "error() of a Result that has a value";
  std::fputs(("forebay: " + text + "\n").c_str(), stderr);
  std::terminate();
}

}  // namespace forebay
