// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <cstring>
#include <utility>

#include <forebay/function.h>
#include <nanobind/stl/string.h>

#include "interpreter.h"

namespace forebay::python {
namespace {

Function::Integers integers_of(const nb::list& values) {
  Function::Integers out;
  out.reserve(values.size());
  for (const nb::handle value : values) out.push_back(nb::cast<std::int64_t>(value));
  return out;
}

/// Waits for a short time only. None: try again.
nb::object next(const Function& function) {
  auto question = value_of([&] {
    const Unlocked waiting;
    return function.next(timeout);
  }());
  if (!question) return nb::none();
  nb::list out;
  for (const std::int64_t value : *question) out.append(value);
  return out;
}

/// Without the interpreter's lock, because a run that is woken may hold locks of its own.
void answer(const Function& function, const nb::list& question, const nb::bytes& values) {
  const Function::Integers asked = integers_of(question);
  Function::Integers given(values.size() / sizeof(std::int64_t));
  if (!given.empty()) std::memcpy(given.data(), values.c_str(), given.size() * sizeof(std::int64_t));
  const Unlocked waking;
  function.answer(asked, std::move(given));
}

void fail(const Function& function, const nb::list& question, const std::string& what) {
  const Function::Integers asked = integers_of(question);
  const Unlocked waking;
  function.fail(asked, Error{Code::data, Detail::failed_precondition, what});
}

}  // namespace

void bind_functions(nb::module_& module) {
  nb::class_<Function>(module, "Function", "A function of the program, which runs ask.")
      .def(nb::init<>())
      .def("next", &next, nb::sig("def next(self) -> list[int] | None"),
           "The next question. None: there was none for a short time. Raises Cancelled after close.")
      .def("answer", &answer, nb::arg("question"), nb::arg("values"),
           nb::sig("def answer(self, question: list[int], values: bytes) -> None"),
           "The values as the bytes of 64-bit integers.")
      .def("fail", &fail, nb::arg("question"), nb::arg("what"),
           nb::sig("def fail(self, question: list[int], what: str) -> None"))
      .def("close", &Function::close);
}

}  // namespace forebay::python
