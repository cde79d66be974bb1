// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <nanobind/nanobind.h>

namespace forebay::python {

/// How long Ctrl-C may go unnoticed.
inline constexpr std::chrono::milliseconds timeout{50};

/// The interpreter's lock is given back while one of these lives, so that other threads of Python run.
///
/// When the interpreter ends meanwhile, a thread that wants the lock again (a daemon thread) gets it no more: it stays
/// here for ever, as CPython 3.14 has it, and the process ends around it. CPython before that unwinds such a thread,
/// which ends the process with an abort where it meets a destructor.
class Unlocked {
 public:
  Unlocked() noexcept : state_{PyEval_SaveThread()} {}
  ~Unlocked() { lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// What `task` returns, which has the lock.
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

  /// False when a signal's handler raised; the exception is then set.
  [[nodiscard]] bool no_signal() {
    return locked([] { return PyErr_CheckSignals() == 0; });
  }

 private:
  void lock() noexcept;
  PyThreadState* state_;
};

/// Says when `timeout` is over, again and again.
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
