// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <forebay/column.h>

#include "errors.h"
#include "interpreter.h"

/// Calls that wait, without the interpreter's lock.
namespace forebay::python {

/// A signal handler has raised; the exception is set.
struct Raised {};

/// Lets signal handlers run during a wait.
class SignalCheck final : public StopCheck {
 public:
  explicit SignalCheck(Unlocked& unlocked) : unlocked_{unlocked} {}
  void look() const override {
    if (!unlocked_.no_signal()) throw Raised{};
  }

 private:
  Unlocked& unlocked_;
};

/// The value of `call(const StopCheck*)`, which runs without the interpreter's lock.
template <class Call>
auto waiting(Call call) {
  auto result = [&] {
    try {
      Unlocked unlocked;
      const SignalCheck check{unlocked};
      return std::optional{call(&check)};
    } catch (const Raised&) {
      return decltype(std::optional{call(nullptr)}){};
    }
  }();
  if (!result) throw nb::python_error();
  return value_of(*std::move(result));
}

[[noreturn]] inline void timed_out(const std::string& what) {
  PyErr_SetString(PyExc_TimeoutError, what.c_str());
  throw nb::python_error();
}

/// Below 0: for ever.
inline std::chrono::milliseconds wait_of(std::int64_t milliseconds) {
  return milliseconds < 0 ? std::chrono::milliseconds::max() : std::chrono::milliseconds{milliseconds};
}

}  // namespace forebay::python
