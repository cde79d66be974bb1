// SPDX-License-Identifier: Apache-2.0
// Batches as record batches of Arrow, by the PyCapsule interface.
#include <memory>
#include <string>
#include <vector>

#include <forebay/arrow.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "batches.h"

namespace forebay::python {
namespace {

/// Frees what a capsule still has: a consumer sets `release` to null when it takes the struct over.
template <class T>
void destroy(PyObject* capsule) {
  const std::unique_ptr<T> held{static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)))};
  if (held && held->release != nullptr) held->release(held.get());
}

template <class T>
nb::object capsule_of(std::unique_ptr<T> held, const char* name) {
  PyObject* const capsule = PyCapsule_New(held.get(), name, &destroy<T>);
  if (capsule == nullptr) {
    held->release(held.get());
    throw nb::python_error();
  }
  static_cast<void>(held.release());
  return nb::steal(capsule);
}

struct Exported {
  std::unique_ptr<ArrowSchema> schema = std::make_unique<ArrowSchema>();
  std::unique_ptr<ArrowArray> array = std::make_unique<ArrowArray>();
};

Exported exported(const PyBatch& batch, const BatchToArrow& options = {}) {
  Exported out;
  value_of(export_batch(batch.made_by_run("columns of Arrow"), *out.schema, *out.array, options));
  return out;
}

nb::tuple capsules_of(Exported out) {
  nb::object schema = capsule_of(std::move(out.schema), "arrow_schema");
  return nb::make_tuple(schema, capsule_of(std::move(out.array), "arrow_array"));
}

nb::object stream_of(const PyBatch& batch) {
  const Exported out = exported(batch);
  auto stream = std::make_unique<ArrowArrayStream>();
  export_stream(*out.schema, *out.array, *stream);
  return capsule_of(std::move(stream), "arrow_array_stream");
}

nb::object record_batch(const PyBatch& batch, std::vector<std::string> utf8) {
  nb::object make = nb::module_::import_("forebay._arrow_batches").attr("record_batch");
  const nb::tuple capsules = capsules_of(exported(batch, {.utf8 = std::move(utf8)}));
  return make(capsules[0], capsules[1]);
}

}  // namespace

void bind_batch_to_arrow(nb::class_<PyBatch>& batch) {
  batch
      .def("to_arrow", &record_batch, nb::arg("utf8") = std::vector<std::string>{},
           nb::sig("def to_arrow(self, utf8: collections.abc.Sequence[str] = ()) -> typing.Any"),
           "The batch as a pyarrow.RecordBatch, without a copy of numbers and strings; needs pyarrow.\n\n"
           "utf8: string tensors that become text; the others are binary. Other libraries take the batch itself, by "
           "__arrow_c_array__ and __arrow_c_stream__. Raises ConfigError for types that Arrow does not have.")
      .def(
          "__arrow_c_schema__",
          [](const PyBatch& self) { return capsule_of(std::move(exported(self).schema), "arrow_schema"); },
          nb::sig("def __arrow_c_schema__(self) -> object"))
      .def(
          "__arrow_c_array__", [](const PyBatch& self, nb::handle) { return capsules_of(exported(self)); },
          nb::arg("requested_schema") = nb::none(),
          nb::sig("def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]"),
          "Capsules of schema and array. The schema is the batch's own, also where another one is requested.")
      .def(
          "__arrow_c_stream__", [](const PyBatch& self, nb::handle) { return stream_of(self); },
          nb::arg("requested_schema") = nb::none(),
          nb::sig("def __arrow_c_stream__(self, requested_schema: object = None) -> object"),
          "A capsule of a stream with one record batch.");
}

}  // namespace forebay::python
