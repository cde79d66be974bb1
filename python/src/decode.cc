// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include <string>
#include <string_view>
#include <vector>

#include <forebay/decode.h>
#include <forebay/records.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "batches.h"
#include "documents.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

DecodeFunction bind(const std::string& kind, nb::handle options, nb::handle memory) {
  return value_of(DecodeFunction::bind({.name = kind, .options = to_json(options)}, memory_of(memory)));
}

/// The values by name. Nobody else may have the list: its bytes are read while other threads run.
nb::dict decode(const DecodeFunction& function, const nb::list& records) {
  std::vector<std::string_view> views;
  views.reserve(records.size());
  for (const nb::handle record : records) {
    if (!PyBytes_Check(record.ptr())) throw nb::type_error("expected bytes");
    views.emplace_back(PyBytes_AsString(record.ptr()), static_cast<std::size_t>(PyBytes_Size(record.ptr())));
  }
  auto tensors = value_of([&] {
    const Unlocked decoding;
    return function.decode(views);
  }());
  nb::dict values;
  const ValueTypes types{function.columns()};
  for (const DecodedTensor& tensor : tensors) values[to_str(tensor.name)] = types.make(tensor.value);
  return values;
}

nb::bytes json_example(const nb::bytes& text) {
  const std::string message = value_of(decode_json_example({text.c_str(), text.size()}));
  return nb::bytes(message.data(), message.size());
}

}  // namespace

void bind_decode(nb::module_& module) {
  nb::class_<DecodeFunction>(module, "DecodeFunction", "A decoder that was bound to its options.")
      .def("__call__", &decode, nb::arg("records"),
           nb::sig("def __call__(self, records: list[bytes]) -> dict[str, typing.Any]"));
  module.def(
      "decode_function", &bind, nb::arg("kind"), nb::arg("options"), nb::arg("memory"),
      nb::sig("def decode_function(kind: str, options: dict[str, typing.Any], memory: int | str) -> DecodeFunction"));
  module.def("decode_json_example", &json_example, nb::arg("text"),
             nb::sig("def decode_json_example(text: bytes) -> bytes"));
}

}  // namespace forebay::python
