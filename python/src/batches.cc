// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include <nanobind/stl/vector.h>

#include "arrays.h"

namespace forebay::python {
namespace {

nb::list names_of(const std::vector<std::string>& names) {
  nb::list out;
  for (const std::string& name : names) out.append(to_str(name));
  return out;
}

bool has_bfloat16(const Plan& plan) {
  for (const ColumnSpec& column : plan.outputs()) {
    if (column.dtype == DType::bfloat16) return true;
  }
  return false;
}

}  // namespace

Layout::Layout(const Plan& plan)
    : inputs{names_of(plan.inputs())}, targets{names_of(plan.targets())}, bfloat16{nb::none()} {
  std::size_t place = 0;
  for (const ColumnSpec& column : plan.outputs()) {
    nb::object name = to_str(column.name);
    PyObject* shared = name.release().ptr();
    PyUnicode_InternInPlace(&shared);
    places[nb::steal(shared)] = nb::int_(place++);
  }
  const nb::module_ values = nb::module_::import_("forebay.values");
  ragged = values.attr("Ragged");
  sparse = values.attr("Sparse");
  if (has_bfloat16(plan)) bfloat16 = values.attr("bfloat16_type")();
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

nb::object PyBatch::make(const Value& value) const {
  if (value.kind == Value::Kind::dense) return to_array(value.values, layout_->bfloat16);
  nb::object values = to_array(value.values, layout_->bfloat16);
  if (value.kind == Value::Kind::sparse) {
    return layout_->sparse(to_array(value.indices), values, nb::tuple(nb::cast(value.dense_shape.dims())));
  }
  nb::list splits;
  for (const Tensor& level : value.row_splits) splits.append(to_array(level));
  return layout_->ragged(values, splits);
}

nb::object PyBatch::at(std::size_t place) {
  if (made_.empty()) made_.resize(batch_.names().size());
  if (!made_[place].is_valid()) {
    const Value* value = batch_.find(batch_.names()[place]);
    made_[place] = make(*value);
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
  const Tensor& values = batch_.find(batch_.names()[PyLong_AsSize_t(place.ptr())])->values;
  if (values.dtype != DType::string) {
    throw nb::type_error(
        ("raw() is for strings; this tensor has dtype " + std::string{to_string(values.dtype)}).c_str());
  }
  return to_raw(values);
}

nb::dict PyBatch::lengths() {
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
  nb::dict out;
  for (const nb::handle name : names) out[name] = item(name);
  return out;
}

nb::list PyBatch::origins() const {
  nb::list out;
  for (std::int64_t row = 0; row < batch_.valid_rows(); ++row) {
    const Origin origin = batch_.origin(row);
    out.append(nb::make_tuple(to_str(origin.file), origin.record, origin.offset));
  }
  return out;
}

nb::list PyBatch::record_keys() {
  if (!record_keys_.is_valid()) {
    nb::list out;
    for (std::int64_t row = 0; row < batch_.valid_rows(); ++row) out.append(to_str(batch_.key(row)));
    record_keys_ = out;
  }
  return nb::borrow<nb::list>(record_keys_);
}

nb::object PyBatch::text() {
  std::string out = "Batch(number=" + std::to_string(batch_.number()) + ", rows=" + std::to_string(batch_.rows());
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
      .def("__len__", [](const PyBatch& self) { return self.batch().names().size(); })
      .def(
          "items", [](nb::handle self) { return mapping_view("ItemsView", self); },
          nb::sig("def items(self) -> collections.abc.ItemsView[str, typing.Any]"), "(name, tensor) in schema order.")
      .def(
          "values", [](nb::handle self) { return mapping_view("ValuesView", self); },
          nb::sig("def values(self) -> collections.abc.ValuesView[typing.Any]"), "The tensors in schema order.")
      .def(
          "keys", [](nb::handle self) { return mapping_view("KeysView", self); },
          nb::sig("def keys(self) -> collections.abc.KeysView[str]"), "The names of the tensors in schema order.");
}

}  // namespace

void bind_batches(nb::module_& module) {
  nb::class_<PyBatch> batch{
      module, "Batch", nb::sig("class Batch(collections.abc.Mapping[str, typing.Any])"),
      "One batch: a mapping from the names of tensors to arrays, in schema order.\n\n"
      "Arrays share the batch's memory, may be written to, and stay valid when batch and loader are gone."};
  bind_mapping(batch);
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
      .def_prop_ro("origins", &PyBatch::origins, nb::sig("def origins(self) -> list[tuple[str, int, int]]"),
                   "(file, ordinal of the record, byte offset) of each valid row.")
      .def_prop_ro(
          "record_keys", &PyBatch::record_keys, nb::sig("def record_keys(self) -> list[str]"),
          "The key of each valid row's record: \"path:offset\", or as its format says (lines: \"path:line\"). The "
          "same list every time.")
      .def_prop_ro(
          "rows", [](const PyBatch& self) { return self.batch().rows(); }, "Length of the batch axis.")
      .def_prop_ro(
          "valid_rows", [](const PyBatch& self) { return self.batch().valid_rows(); },
          "Rows that came from records; the others fill up a last batch.")
      .def_prop_ro(
          "epoch", [](const PyBatch& self) { return self.batch().epoch(); }, "Pass in which the batch began, from 0.")
      .def_prop_ro(
          "number", [](const PyBatch& self) { return self.batch().number(); },
          "Ordinal of the batch in the run, from 0.")
      .def("__repr__", &PyBatch::text, nb::sig("def __repr__(self) -> str"));
}

}  // namespace forebay::python
