// SPDX-License-Identifier: Apache-2.0
#include "inspect.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/inspect.h>
#include <forebay/printable.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "batches.h"
#include "documents.h"
#include "errors.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

Inspection inspect_files(const nb::list& paths, const std::string& source, const nb::dict& options,
                         std::optional<std::int64_t> records, std::int64_t threads) {
  const std::vector<std::string> names = from_strs(paths);
  InspectOptions wanted{.source = source, .options = to_json(options), .records = records, .threads = threads};
  auto found = [&] {
    Unlocked inspecting;
    wanted.go_on = [&] { return inspecting.no_signal(); };
    return forebay::inspect(names, wanted);
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return value_of(std::move(found));
}

std::int64_t add_batch(BatchInspector& inspector, const PyBatch& batch, std::int64_t rows) {
  const Batch* const own = batch.own();
  return own == nullptr ? 0 : inspector.add(*own, rows);
}

nb::tuple find(const nb::list& paths, const std::string& source) {
  const FoundSource found = value_of([names = from_strs(paths), &source] {
    const Unlocked looking;
    return find_source(names, source);
  }());
  nb::list files;
  for (const std::string& file : found.files) files.append(to_str(file));
  return nb::make_tuple(to_str(found.name), files);
}

}  // namespace

void bind_inspect(nb::module_& module) {
  nb::class_<Inspection>(module, "Inspection", "What was found in files, or in the batches of a plan.")
      .def_prop_ro(
          "report", [](const Inspection& found) { return to_str(found.report.text()); },
          nb::sig("def report(self) -> str"), "JSON text.")
      .def_prop_ro(
          "document", [](const Inspection& found) { return to_str(visible_json(found.document.pretty())); },
          nb::sig("def document(self) -> str"), "JSON text; null for a plan.")
      .def_prop_ro(
          "python", [](const Inspection& found) { return to_str(found.python); }, nb::sig("def python(self) -> str"))
      .def(
          "text", [](const Inspection& found, bool stats) { return to_str(found.text(stats)); }, nb::arg("stats"),
          nb::sig("def text(self, stats: bool) -> str"))
      .def(
          "markdown", [](const Inspection& found, bool stats) { return to_str(found.markdown(stats)); },
          nb::arg("stats"), nb::sig("def markdown(self, stats: bool) -> str"));
  module.def("inspect", &inspect_files, nb::arg("paths"), nb::arg("source"), nb::arg("options"),
             nb::arg("records").none(), nb::arg("threads"),
             nb::sig("def inspect(paths: list[str], source: str, options: dict[str, typing.Any], records: int | None, "
                     "threads: int) -> Inspection"));
  nb::class_<BatchInspector>(module, "BatchInspector", "Counts the values of batches.")
      .def(nb::init<const Plan&>(), nb::arg("plan"))
      .def("add", &add_batch, nb::arg("batch"), nb::arg("rows"),
           nb::sig("def add(self, batch: Batch, rows: int) -> int"), "Returns the number of rows that were added.")
      .def("result", &BatchInspector::result, nb::arg("what"), nb::arg("sample"),
           nb::sig("def result(self, what: str, sample: bool) -> Inspection"));
  module.def("inspect_schema", &inspect_schema, nb::arg("plan"),
             nb::sig("def inspect_schema(plan: Plan) -> Inspection"));
  module.def("find_source", &find, nb::arg("paths"), nb::arg("source"),
             nb::sig("def find_source(paths: list[str], source: str) -> tuple[str, list[str]]"));
}

}  // namespace forebay::python
