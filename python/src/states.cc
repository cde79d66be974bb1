// SPDX-License-Identifier: Apache-2.0
// The states of sequences that a batch knows.
#include <algorithm>

#include <nanobind/stl/string.h>

#include "arrays.h"
#include "batches.h"

namespace forebay::python {

std::string PyBatch::state_name(nb::handle name) const {
  need("states");
  std::vector<std::string> known = batch_.state_names();
  if (nb::isinstance<nb::str>(name) && std::ranges::find(known, from_str(name)) != known.end()) return from_str(name);
  const nb::object message = nb::module_::import_("forebay.values").attr("unknown_name")(name, state_names(), "state");
  PyErr_SetObject(PyExc_KeyError, message.ptr());
  throw nb::python_error();
}

nb::list PyBatch::state_names() const {
  nb::list out;
  if (sent_) return out;
  for (const std::string& name : batch_.state_names()) out.append(to_str(name));
  return out;
}

nb::object PyBatch::state(nb::handle name) const {
  const Tensor values = value_of(batch_.state(state_name(name)));
  if (values.dtype != DType::bfloat16) return to_array(values);
  return to_array(values, nb::module_::import_("forebay.values").attr("bfloat16_type")());
}

void PyBatch::save_state(nb::handle name, nb::handle values) const {
  const std::string known = state_name(name);
  nb::object owner;
  Tensor tensor = to_tensor(values, "state '" + known + "'", owner);
  auto saved = batch_.save_state(known, tensor);
  if (!saved.ok() && tensor.dtype == DType::uint16) {  // `state` gives the bits of bfloat16 without NumPy's type
    tensor.dtype = DType::bfloat16;
    if (batch_.save_state(known, tensor).ok()) return;
  }
  value_of(std::move(saved));
}

void bind_states(nb::class_<PyBatch>& batch) {
  batch
      .def("state", &PyBatch::state, nb::arg("name"), nb::sig("def state(self, name: str) -> typing.Any"),
           "The state of the sequence of each row, an ndarray [rows, …] of its own: the initial value where a sequence "
           "begins and for empty rows, else what `save_state` of the batch before has saved.\n\n"
           "Gathered now, so a batch that was read ahead may be asked later. Raises StateError, which names the "
           "sequences, when a state was not saved yet, and KeyError for a name that `stateful` does not declare.")
      .def("save_state", &PyBatch::save_state, nb::arg("name"), nb::arg("values"),
           nb::sig("def save_state(self, name: str, values: typing.Any) -> None"),
           "Saves a copy of the states after this batch: an array [rows, …] of the declared dtype and shape, on the "
           "CPU.\n\n"
           "The values of empty rows, and of sequences that end with this batch, are left out. `state_dict` stands "
           "after the last batch of which every state was saved.")
      .def_prop_ro("state_names", &PyBatch::state_names, nb::sig("def state_names(self) -> list[str]"),
                   "The states that `stateful` declares.");
}

}  // namespace forebay::python
