// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace forebay::python {
namespace {

nb::object or_none(std::string_view text) { return text.empty() ? nb::none() : to_str(text); }

nb::object or_none(std::int64_t number, std::int64_t least) {
  return number < least ? nb::none() : nb::object{nb::int_(number)};
}

/// forebay.errors.make(code, detail, message, file, record, offset, feature, pointer, line, column, faults)
nb::object exception_of(const Error& error, nb::handle make) {
  nb::list faults;
  for (const Error& fault : error.faults()) faults.append(exception_of(fault, make));
  const Place& place = error.place();
  return make(to_str(to_string(error.code())), to_str(to_string(error.detail())), to_str(error.text()),
              or_none(place.file), or_none(place.record, 0), or_none(place.offset, 0), or_none(place.feature),
              or_none(place.pointer), or_none(place.line, 1), or_none(place.column, 1), faults);
}

}  // namespace

void raise(const Error& error) {
  if (error.code() == Code::cancelled && PyErr_Occurred() != nullptr)
    throw nb::python_error();  // of a signal's handler
  const nb::object exception = exception_of(error, nb::module_::import_("forebay.errors").attr("make"));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

nb::object to_str(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

std::string from_str(nb::handle text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

std::vector<std::string> from_strs(const nb::list& texts) {
  std::vector<std::string> out;
  for (const nb::handle text : texts) out.push_back(from_str(text));
  return out;
}

}  // namespace forebay::python
