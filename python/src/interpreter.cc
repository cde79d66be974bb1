// SPDX-License-Identifier: Apache-2.0
#include "interpreter.h"

#include <unistd.h>

namespace forebay::python {

void Unlocked::lock() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // the interpreter ends, and CPython unwinds this thread: no C++ exception comes from there
    while (true) ::pause();
  }
}

}  // namespace forebay::python
