// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include <algorithm>

#include <forebay/state.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"

namespace forebay::python {
namespace {

nb::list names_of(const std::vector<std::string>& names) {
  nb::list out;
  for (const std::string& name : names) out.append(to_str(name));
  return out;
}

}  // namespace

ValueTypes::ValueTypes(const std::vector<ColumnSpec>& columns) : bfloat16{nb::none()} {
  const nb::module_ values = nb::module_::import_("forebay.values");
  ragged = values.attr("Ragged");
  sparse = values.attr("Sparse");
  const auto is_bfloat16 = [](const ColumnSpec& column) { return column.dtype == DType::bfloat16; };
  if (std::ranges::any_of(columns, is_bfloat16)) bfloat16 = values.attr("bfloat16_type")();
}

nb::object ValueTypes::make(const Value& value) const {
  if (value.kind == Value::Kind::dense) return to_array(value.values, bfloat16);
  nb::object values = to_array(value.values, bfloat16);
  if (value.kind == Value::Kind::sparse) {
    return sparse(to_array(value.indices), values, nb::tuple(nb::cast(value.dense_shape.dims())));
  }
  nb::list splits;
  for (const Tensor& level : value.row_splits) splits.append(to_array(level));
  return ragged(values, splits);
}

Layout::Layout(const Plan& plan)
    : inputs{names_of(plan.inputs())}, targets{names_of(plan.targets())}, types{plan.outputs()} {
  std::size_t place = 0;
  for (const ColumnSpec& column : plan.outputs()) {
    nb::object name = to_str(column.name);
    PyObject* shared = name.release().ptr();
    PyUnicode_InternInPlace(&shared);
    places[nb::steal(shared)] = nb::int_(place++);
  }
  const nb::module_ values = nb::module_::import_("forebay.values");
  origin = values.attr("Origin");
  span = values.attr("Span");
}

Layout::Layout(const nb::list& names, nb::list in, nb::list out)
    : inputs{std::move(in)}, targets{std::move(out)}, origin{nb::none()}, span{nb::none()} {
  std::size_t place = 0;
  for (const nb::handle name : names) places[name] = nb::int_(place++);
}

PyBatch::PyBatch(SentBatch sent, std::shared_ptr<const Layout> layout, const nb::list& values, nb::dict lengths)
    : sent_{std::move(sent)}, layout_{std::move(layout)}, lengths_{std::move(lengths)} {
  for (const nb::handle value : values) made_.push_back(nb::borrow(value));
}

nb::handle PyBatch::place_of(nb::handle name) const {
  PyObject* place = PyDict_GetItemWithError(layout_->places.ptr(), name.ptr());
  if (place == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return place;
}

void PyBatch::unknown(nb::handle name) const {
  const nb::object message =
      nb::module_::import_("forebay.values").attr("unknown_name")(name, nb::list(layout_->places.keys()));
  PyErr_SetObject(PyExc_KeyError, message.ptr());
  throw nb::python_error();
}

nb::object PyBatch::at(std::size_t place) {
  if (made_.empty()) made_.resize(batch_.names().size());
  if (!made_[place].is_valid()) {
    const Value* value = batch_.find(batch_.names()[place]);
    made_[place] = layout_->types.make(*value);
  }
  return made_[place];
}

nb::object PyBatch::item(nb::handle name) {
  const nb::handle place = place_of(name);
  if (!place.is_valid()) unknown(name);
  return at(PyLong_AsSize_t(place.ptr()));
}

nb::object PyBatch::get(nb::handle name, nb::handle default_value) {
  const nb::handle place = place_of(name);
  return place.is_valid() ? at(PyLong_AsSize_t(place.ptr())) : nb::borrow(default_value);
}

bool PyBatch::contains(nb::handle name) const { return place_of(name).is_valid(); }

nb::object PyBatch::raw(nb::handle name) const {
  const nb::handle place = place_of(name);
  if (!place.is_valid()) unknown(name);
  need("raw bytes");
  const Tensor& values = batch_.find(batch_.names()[PyLong_AsSize_t(place.ptr())])->values;
  if (values.dtype != DType::string) {
    throw nb::type_error(
        ("raw() is for strings; this tensor has dtype " + std::string{to_string(values.dtype)}).c_str());
  }
  return to_raw(values);
}

nb::dict PyBatch::lengths() {
  known("lengths");
  if (!lengths_.is_valid()) {
    nb::dict out;
    for (const auto& [name, place] : layout_->places) {
      const Tensor* sizes = batch_.lengths(batch_.names()[PyLong_AsSize_t(place.ptr())]);
      if (sizes != nullptr) out[name] = to_array(*sizes);
    }
    lengths_ = out;
  }
  return nb::borrow<nb::dict>(lengths_);
}

nb::dict PyBatch::group(const nb::list& names) {
  known("inputs and targets");
  nb::dict out;
  for (const nb::handle name : names) out[name] = item(name);
  return out;
}

nb::object PyBatch::origin_of(const Origin& origin, std::int64_t row) const {
  return layout_->origin(to_str(origin.file), origin.record, origin.offset, origin.window, origin.start, row);
}

nb::object PyBatch::spans() const {
  need("spans");
  if (!batch_.has_spans()) return nb::none();
  nb::list rows;
  for (std::int64_t row = 0; row < batch_.rows(); ++row) {
    nb::list spans;
    for (const BatchSpan& span : batch_.spans(row))
      spans.append(layout_->span(origin_of(span.origin, row), span.origin.start, span.length, span.at));
    rows.append(spans);
  }
  return rows;
}

nb::list PyBatch::origins() const {
  need("origins");
  nb::list out;
  for (std::int64_t row = 0; batch_.has_spans() && row < batch_.rows(); ++row) {
    for (const Origin& origin : batch_.origins(row)) out.append(origin_of(origin, row));
  }
  if (batch_.has_spans()) return out;
  for (std::int64_t row = 0; row < batch_.valid_rows(); ++row) {
    if (batch_.side_by_side()) {
      nb::list all;
      for (const Origin& origin : batch_.origins(row))
        all.append(nb::make_tuple(to_str(origin.file), origin.record, origin.offset));
      out.append(nb::tuple(all));
      continue;
    }
    const Origin origin = batch_.origin(row);
    out.append(nb::make_tuple(to_str(origin.file), origin.record, origin.offset));
  }
  return out;
}

nb::list PyBatch::skipped() const {
  need("skipped rows");
  nb::list out;
  for (const SkippedOrigin& row : batch_.skipped()) {
    const Origin& at = row.origin;
    out.append(nb::make_tuple(nb::make_tuple(to_str(at.file), at.record, at.offset), to_str(row.error.text())));
  }
  return out;
}

nb::list PyBatch::branches() const {
  need("branches");
  nb::list out;
  for (std::int64_t row = 0; row < batch_.valid_rows(); ++row) out.append(batch_.branch(row));
  return out;
}

nb::list PyBatch::record_keys() {
  need("record keys");
  if (!record_keys_.is_valid()) {
    nb::list out;
    for (std::int64_t row = 0; batch_.has_spans() && row < batch_.rows(); ++row) {
      for (const Origin& origin : batch_.origins(row)) out.append(to_str(batch_.key(origin)));
    }
    for (std::int64_t row = 0; !batch_.has_spans() && row < batch_.valid_rows(); ++row)
      out.append(to_str(batch_.key(row)));
    record_keys_ = out;
  }
  return nb::borrow<nb::list>(record_keys_);
}

nb::object PyBatch::identities() const {
  need("identities of rows");
  std::vector<std::int64_t> values;
  for (std::int64_t row = 0; row < batch_.rows(); ++row) {
    const RowIdentity at = batch_.identity(row);
    values.insert(values.end(), {at.epoch, at.part, at.record, at.occurrence, at.window, at.branch});
  }
  return copy_array(values).attr("reshape")(batch_.rows(), 6);
}

nb::object PyBatch::text() {
  if (sent_ && sent_->values_only)
    return to_str("Batch(" + from_str(nb::str(", ").attr("join")(layout_->places)) + ")");
  const SentBatch all = facts("number");
  std::string out = "Batch(number=" + std::to_string(all.number) + ", rows=" + std::to_string(all.rows);
  if (sent_) {
    for (const auto& [name, place] : layout_->places) out += ", " + from_str(name);
    return to_str(out + ")");
  }
  for (const std::string& name : batch_.names()) {
    const Value& value = *batch_.find(name);
    out += ", " + name + ": ";
    if (value.kind == Value::Kind::ragged) out += "ragged ";
    if (value.kind == Value::Kind::sparse) out += "sparse ";
    out += std::string{to_string(value.values.dtype)} + value.values.shape.text();
  }
  return to_str(out + ")");
}

namespace {

nb::object mapping_view(const char* name, nb::handle self) {
  return nb::module_::import_("collections.abc").attr(name)(self);
}

void bind_mapping(nb::class_<PyBatch>& batch) {
  batch
      .def(
          "__getitem__", [](PyBatch& self, nb::handle name) { return self.item(name); }, nb::arg("name"),
          nb::sig("def __getitem__(self, name: str) -> typing.Any"),
          "The tensor of that name. The same object every time.\n\n"
          "Fixed shape or padded: an ndarray [rows, …]; strings: an object ndarray of bytes; else Ragged or Sparse.\n"
          "Raises KeyError, which names the nearest tensor there is.")
      .def("get", &PyBatch::get, nb::arg("name"), nb::arg("default") = nb::none(),
           nb::sig("def get(self, name: str, default: typing.Any = None) -> typing.Any"),
           "The tensor of that name, or `default`.")
      .def("__contains__", &PyBatch::contains, nb::arg("name"), nb::sig("def __contains__(self, name: object) -> bool"))
      .def(
          "__iter__", [](PyBatch& self) { return nb::iter(self.layout().places); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("__len__", [](const PyBatch& self) { return nb::len(self.layout().places); })
      .def(
          "items", [](nb::handle self) { return mapping_view("ItemsView", self); },
          nb::sig("def items(self) -> collections.abc.ItemsView[str, typing.Any]"), "(name, tensor) in schema order.")
      .def(
          "values", [](nb::handle self) { return mapping_view("ValuesView", self); },
          nb::sig("def values(self) -> collections.abc.ValuesView[typing.Any]"), "The tensors in schema order.")
      .def(
          "keys", [](nb::handle self) { return mapping_view("KeysView", self); },
          nb::sig("def keys(self) -> collections.abc.KeysView[str]"), "The names of the tensors in schema order.")
      .def(
          "_ipython_key_completions_", [](PyBatch& self) { return nb::list(self.layout().places); },
          nb::sig("def _ipython_key_completions_(self) -> list[str]"), "What a notebook offers after `batch[`.");
}

}  // namespace

void bind_batches(nb::module_& module) {
  nb::class_<PyBatch> batch{
      module, "Batch", nb::sig("class Batch(collections.abc.Mapping[str, typing.Any])"),
      "One batch: a mapping from the names of tensors to arrays, in schema order.\n\n"
      "Arrays share the batch's memory, may be written to, and stay valid when batch and loader are gone."};
  bind_mapping(batch);
  bind_states(batch);
  bind_sequences(batch);
  bind_rebuilt(batch);
  bind_batch_to_arrow(batch);
  batch
      .def("raw", &PyBatch::raw, nb::arg("name"), nb::sig("def raw(self, name: str) -> tuple[typing.Any, typing.Any]"),
           "(offsets, bytes) of a string tensor without a copy: int64 [elements + 1] and uint8, both read-only.\n\n"
           "Element i, in row-major order, is bytes[offsets[i]:offsets[i + 1]]. Raises TypeError for other dtypes.")
      .def_prop_ro(
          "inputs", [](PyBatch& self) { return self.group(self.layout().inputs); },
          nb::sig("def inputs(self) -> dict[str, typing.Any]"), "The document's inputs by name.")
      .def_prop_ro(
          "targets", [](PyBatch& self) { return self.group(self.layout().targets); },
          nb::sig("def targets(self) -> dict[str, typing.Any]"), "The document's targets by name.")
      .def_prop_ro("lengths", &PyBatch::lengths, nb::sig("def lengths(self) -> dict[str, typing.Any]"),
                   "True sizes before padding, of the tensors that vary: int64 [rows], or [rows, unknown dims].")
      .def_prop_ro(
          "origins", &PyBatch::origins, nb::sig("def origins(self) -> list[tuple[typing.Any, ...]]"),
          "(file, ordinal of the record, byte offset) of each valid row; of rows of `zip` a tuple of these, one "
          "for each branch.\n\n"
          "Where rows are made of spans, one Origin for each span: such a tuple, with `window`, `start` and `row`.")
      .def_prop_ro(
          "spans", &PyBatch::spans, nb::sig("def spans(self) -> list[list[typing.Any]] | None"),
          "The spans of each row, as Span(origin, start, length, at); an empty row has none. None where rows are "
          "whole records.")
      .def_prop_ro("skipped", &PyBatch::skipped, nb::sig("def skipped(self) -> list[tuple[tuple[str, int, int], str]]"),
                   "Origin and error of each row that `on_corrupt: skip_row` took out; as many rows at the end of the "
                   "batch are padding.")
      .def_prop_ro("branch", &PyBatch::branches, nb::sig("def branch(self) -> list[int]"),
                   "The branch of a combination that gave each valid row; 0 with one source, and of `zip`.")
      .def_prop_ro(
          "record_keys", &PyBatch::record_keys, nb::sig("def record_keys(self) -> list[str]"),
          "The key of each origin's record: \"path:offset\", or as its format says (lines: \"path:line\"). The "
          "same list every time.")
      .def("_identities", &PyBatch::identities, nb::sig("def _identities(self) -> typing.Any"),
           "What tells each row from all others of the run: epoch, part, record, occurrence, window and branch, int64 "
           "[rows, 6].")
      .def("__repr__", &PyBatch::text, nb::sig("def __repr__(self) -> str"));
  bind_sent(module);
  module.def(
      "position_of", [](const PyBatch& self) { return self.position().text(); }, nb::arg("batch"),
      "The position after a batch, as JSON text.");
}

}  // namespace forebay::python
