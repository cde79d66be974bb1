// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <nanobind/nanobind.h>

namespace forebay::python {

/// The longest time between two checks for Ctrl-C.
inline constexpr std::chrono::milliseconds timeout{50};

/// Releases the interpreter lock during its lifetime, so that other Python threads run.
///
/// A daemon thread that takes the lock back after the interpreter has ended blocks here for ever, as in CPython 3.14,
/// and the process exits. Earlier versions of CPython unwind such a thread, which aborts the process in a destructor.
class Unlocked {
 public:
  Unlocked() noexcept : state_{PyEval_SaveThread()} {}
  ~Unlocked() { lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// Runs `task` with the lock and returns its result.
  template <class Task>
  auto locked(Task task) {
    struct Again {
      ~Again() { of.state_ = PyEval_SaveThread(); }
      Unlocked& of;
    };
    lock();
    const Again again{*this};
    return task();
  }

  /// False: a signal handler has raised; the exception is set.
  [[nodiscard]] bool no_signal() {
    return locked([] { return PyErr_CheckSignals() == 0; });
  }

 private:
  void lock() noexcept;
  PyThreadState* state_;
};

/// A repeating timer of `timeout`.
class Timeout {
 public:
  [[nodiscard]] bool over() {
    const auto now = std::chrono::steady_clock::now();
    if (now - since_ < timeout) return false;
    since_ = now;
    return true;
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace forebay::python
