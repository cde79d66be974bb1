// SPDX-License-Identifier: Apache-2.0
#include "plans.h"

#include <cstdint>
#include <string>

#include <forebay/plan.h>
#include <forebay/plugins.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "counts.h"
#include "documents.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

nb::object dims_of(const Shape& shape) {
  nb::list out;
  for (const std::int64_t dim : shape.dims()) out.append(dim == unknown_dim ? nb::none() : nb::object{nb::int_(dim)});
  return nb::tuple(out);
}

nb::tuple categories_of(const ColumnSpec& column) {
  nb::list out;
  if (column.categories) {
    for (const std::string& value : *column.categories)
      out.append(nb::steal(PyBytes_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()))));
  }
  return nb::tuple(out);
}

nb::list columns_of(const Plan& plan) {
  nb::list out;
  for (const ColumnSpec& column : plan.outputs()) {
    out.append(nb::make_tuple(to_str(column.name), to_str(to_string(column.dtype)), dims_of(column.shape),
                              to_str(EnumNames<Delivery>::names[static_cast<std::size_t>(column.delivery)]),
                              to_str(column.logical), categories_of(column)));
  }
  return out;
}

nb::object refuse_to_pickle(const Plan&) {
  throw nb::type_error(
      "a Plan cannot be pickled or copied; send its document, Plan.lowered, and make the plan of that in the worker "
      "process");
}

nb::list stages_of(const Plan& plan) {
  nb::list out;
  for (const PlanStage& stage : plan.stages()) {
    nb::dict each;
    each["where"] = to_str(stage.where);
    each["plugin"] = stage.plugin.empty() ? nb::none() : nb::object{to_str(stage.plugin)};
    each["text"] = to_str(stage.text);
    each["branch"] = nb::cast(stage.branch);
    each["step"] = nb::cast(stage.step);
    out.append(each);
  }
  return out;
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan", "The checked, immutable description of a run; printable.")
      .def_prop_ro(
          "batches", [](const Plan& plan) { return count(plan, {.shard = plan.shard()}); },
          "Number of batches of the whole run, from the indexes of its files, which are made if they are missing. None "
          "of an endless run, and where counting needs decoding: `count` does that.")
      .def_prop_ro(
          "steps_per_epoch", [](const Plan& plan) { return count(plan, {.epochs = 1, .shard = plan.shard()}); },
          "The same of the first epoch, also of an endless run.")
      .def("count", &count_all, nb::arg("per_epoch") = false, nb::arg("threads") = 0,
           "Number of batches of the whole run, or of the first epoch. Decodes what it must, on several threads; what "
           "is stored about the files is used, and stored for the next time. An endless run has no number: TypeError.")
      .def_prop_ro(
          "epochs", [](const Plan& plan) { return plan.epochs(); }, "Passes over the data; None: for ever.")
      .def_prop_ro(
          "hash", [](const Plan& plan) { return plan.hash(); },
          "Hash of everything that decides the stream's content and order.")
      .def_prop_ro(
          "stream", [](const Plan& plan) { return plan.stream(); },
          "The same without the paths of the data: equal in processes that share a stream, wherever their files lie.")
      .def_prop_ro(
          "lowered", [](const Plan& plan) { return to_str(plan.lowered().pretty()); },
          nb::sig("def lowered(self) -> str"), "The pipeline document it stands for, as JSON text, paths resolved.")
      .def_prop_ro("columns", &columns_of,
                   nb::sig("def columns(self) -> list[tuple[str, str, tuple[int | None, ...], str, str, "
                           "tuple[bytes, ...]]]"),
                   "(name, dtype, shape of a row, delivery, logical type, categories) of every tensor.")
      .def_prop_ro(
          "stages", &stages_of, nb::sig("def stages(self) -> list[dict[str, str | int | None]]"),
          "What the text of the plan says, a dict for each line: where (the first word of the line), plugin (None: the "
          "engine does it), text, branch (the number of the branch of the innermost combination around it, or None), "
          "and "
          "step (its place in Stats.steps, or None).")
      .def("__reduce__", &refuse_to_pickle, nb::sig("def __reduce__(self) -> typing.NoReturn"))
      .def(
          "__str__", [](const Plan& plan) { return to_str(plan.text()); }, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const Plan& plan) { return to_str(plan.text()); }, nb::sig("def __repr__(self) -> str"));
}

}  // namespace forebay::python
