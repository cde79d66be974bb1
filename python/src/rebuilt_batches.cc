// SPDX-License-Identifier: Apache-2.0
// Batches that no run of this process made: those that were pickled in another process, and those of values only, which
// frameworks make when they take a batch apart and put it together again.
#include <algorithm>

#include <forebay/state.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "batches.h"

namespace forebay::python {

PyBatch::PyBatch(nb::handle values) : sent_{SentBatch{.values_only = true}} {
  const nb::dict all{nb::borrow<nb::dict>(nb::handle{reinterpret_cast<PyObject*>(&PyDict_Type)}(values))};
  nb::list names;
  for (const auto& [name, value] : all) {
    if (!nb::isinstance<nb::str>(name)) throw nb::type_error("the name of a tensor must be a str");
    names.append(name);
    made_.push_back(nb::borrow(value));
  }
  layout_ = std::make_shared<const Layout>(names, nb::list{}, nb::list{});
}

SentBatch PyBatch::facts(const char* what) const {
  known(what);
  if (sent_) return *sent_;
  return {.rows = batch_.rows(),
          .valid_rows = batch_.valid_rows(),
          .epoch = batch_.epoch(),
          .number = batch_.number(),
          .ends_epoch = batch_.ends_epoch(),
          .position = {}};
}

void PyBatch::known(const char* what) const {
  if (!sent_ || !sent_->values_only) return;
  throw nb::attribute_error((std::string{"this Batch was made of values only; it knows no "} + what).c_str());
}

std::span<const Tensor> PyBatch::memory() const {
  return sent_ ? std::span<const Tensor>{sent_->memory} : std::span<const Tensor>{};
}

void PyBatch::own_memory(std::span<const ReceivedBytes* const> parts) {
  if (!sent_) throw nb::type_error("a batch of this process has its memory");
  for (const nb::object& value : made_) {
    const void* const data = data_of(value);
    const auto part = std::ranges::find_if(
        parts, [&](const ReceivedBytes* each) { return data != nullptr && each->tensor.data == data; });
    if (part != parts.end()) sent_->memory.push_back((*part)->tensor);
  }
}

nb::object PyBatch::mask() const {
  const SentBatch all = facts("mask");
  if (all.mask.is_valid()) return all.mask;
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(all.rows));
  for (std::int64_t row = 0; row < all.rows; ++row) {
    const bool valid = !sent_ && batch_.has_spans() ? !batch_.spans(row).empty() : row < all.valid_rows;
    flags[static_cast<std::size_t>(row)] = valid ? 1 : 0;
  }
  return copy_flags(flags);
}

Json PyBatch::position() const {
  known("position");
  return sent_ ? value_of(parse_state(sent_->position)) : batch_.position();
}

void PyBatch::need(const char* what) const {
  known(what);
  if (!sent_) return;
  raise(Error{Code::state, Detail::failed_precondition,
              std::string{"this batch was pickled in another process, and "} + what +
                  " do not travel with it; it has values, lengths, epoch, number, valid rows and position"});
}

const Batch& PyBatch::made_by_run(const char* what) const {
  need(what);
  return batch_;
}

nb::tuple PyBatch::reduce() {
  if (sent_ && sent_->values_only) {
    nb::dict all;
    for (const auto& [name, place] : layout_->places) all[name] = item(name);
    return nb::make_tuple(nb::type<PyBatch>(), nb::make_tuple(all));
  }
  nb::list values;
  for (std::size_t place = 0; place < nb::len(layout_->places); ++place) values.append(at(place));
  const SentBatch all = facts("position");
  const nb::object ends = all.ends_epoch ? nb::object{nb::bool_(*all.ends_epoch)} : nb::none();
  return nb::make_tuple(nb::module_::import_("forebay.values").attr("batch_of"),
                        nb::make_tuple(nb::list(layout_->places.keys()), values, lengths(), layout_->inputs,
                                       layout_->targets, all.rows, all.valid_rows, all.epoch, all.number, ends,
                                       position().text(), all.rows == all.valid_rows ? nb::none() : mask()));
}

namespace {

PyBatch batch_of(const nb::list& names, const nb::list& values, nb::dict lengths, nb::list inputs, nb::list targets,
                 std::int64_t rows, std::int64_t valid_rows, std::int64_t epoch, std::int64_t number,
                 std::optional<bool> ends_epoch, std::string position, nb::object mask) {
  auto layout = std::make_shared<const Layout>(names, std::move(inputs), std::move(targets));
  if (nb::len(layout->places) != nb::len(values)) throw nb::value_error("a batch needs a value for every name");
  SentBatch sent{.rows = rows,
                 .valid_rows = valid_rows,
                 .epoch = epoch,
                 .number = number,
                 .ends_epoch = ends_epoch,
                 .position = std::move(position),
                 .mask = mask.is_none() ? nb::object{} : std::move(mask)};
  return {std::move(sent), std::move(layout), values, std::move(lengths)};
}

}  // namespace

void bind_rebuilt(nb::class_<PyBatch>& batch) {
  batch
      .def(nb::init<nb::handle>(), nb::arg("values") = nb::make_tuple(),
           nb::sig("def __init__(self, values: collections.abc.Mapping[str, typing.Any] | "
                   "collections.abc.Iterable[tuple[str, typing.Any]] = ()) -> None"),
           "A batch of values only, of any kind: a mapping, or (name, value) pairs. `rows`, `epoch`, `lengths` and so "
           "on raise AttributeError.")
      .def_prop_ro(
          "rows", [](const PyBatch& self) { return self.facts("rows").rows; }, "Length of the batch axis.")
      .def_prop_ro(
          "valid_rows", [](const PyBatch& self) { return self.facts("valid_rows").valid_rows; },
          "Rows that came from records. The others fill up a last batch, or stand at the end for rows that skip_row "
          "took out; where rows are made of spans, they may be anywhere.")
      .def_prop_ro("mask", &PyBatch::mask, nb::sig("def mask(self) -> typing.Any"),
                   "Which rows came from records: bool [rows]. A loss or a metric leaves the others out.")
      .def_prop_ro(
          "epoch", [](const PyBatch& self) { return self.facts("epoch").epoch; },
          "Pass of the first row that is not empty, from 0.")
      .def_prop_ro(
          "number", [](const PyBatch& self) { return self.facts("number").number; },
          "Ordinal of the batch in the run, from 0.")
      .def_prop_ro(
          "ends_epoch", [](const PyBatch& self) { return self.facts("ends_epoch").ends_epoch; },
          "Whether it is the last batch of its epoch; None unless `epoch_boundary` is \"hard\".")
      .def("__reduce__", &PyBatch::reduce, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"),
           "A batch that comes back from `pickle` keeps values, lengths, epoch, number, valid rows and position.");
}

void bind_sent(nb::module_& module) {
  module.def("batch_of", &batch_of, nb::arg("names"), nb::arg("values"), nb::arg("lengths"), nb::arg("inputs"),
             nb::arg("targets"), nb::arg("rows"), nb::arg("valid_rows"), nb::arg("epoch"), nb::arg("number"),
             nb::arg("ends_epoch").none(), nb::arg("position"), nb::arg("mask") = nb::none(),
             nb::sig("def batch_of(names: list[str], values: list[typing.Any], lengths: dict[str, typing.Any], inputs: "
                     "list[str], targets: list[str], rows: int, valid_rows: int, epoch: int, number: int, ends_epoch: "
                     "bool | None, position: str, mask: typing.Any = None) -> Batch"),
             "A batch that was pickled, from its parts.");
}

}  // namespace forebay::python
