// SPDX-License-Identifier: Apache-2.0
#include "documents.h"

#include <algorithm>
#include <string>
#include <utility>

#include <forebay/messages.h>
#include <forebay/run_options.h>
#include <nanobind/stl/string.h>

namespace forebay::python {
namespace {

constexpr int max_depth = 64;

[[noreturn]] void refuse(const std::string& what, const std::string& pointer) {
  raise(Error{Code::config, Detail::invalid_argument, what, Place{.pointer = pointer}});
}

std::string python_type(nb::handle value) { return nb::cast<std::string>(nb::type_name(value.type())); }

[[noreturn]] void refuse_type(nb::handle value, const std::string& pointer) {
  refuse("a document holds dict, list, str, int, float, bool, None, paths and bytes; found " + python_type(value),
         pointer);
}

Json convert(nb::handle value, std::string pointer, int depth);

Json convert_dict(nb::dict value, const std::string& pointer, int depth) {
  Json out = Json::object();
  for (const auto& [key, item] : value) {
    if (!PyUnicode_Check(key.ptr())) refuse("a key must be a str, found " + python_type(key), pointer);
    std::string name = from_str(key);
    Json converted = convert(item, pointer + "/" + pointer_token(name), depth + 1);
    out.members().emplace_back(std::move(name), std::move(converted));
  }
  return out;
}

Json convert_list(nb::handle value, const std::string& pointer, int depth) {
  Json out = Json::array();
  out.items().reserve(static_cast<std::size_t>(std::max<Py_ssize_t>(0, PySequence_Size(value.ptr()))));
  std::size_t index = 0;
  for (const nb::handle item : value)
    out.items().push_back(convert(item, pointer + "/" + std::to_string(index++), depth + 1));
  return out;
}

Json convert_integer(nb::handle value, const std::string& pointer) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) return Json{static_cast<std::int64_t>(integer)};
  const double wide = PyLong_AsDouble(number.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse("an integer that no number holds", pointer);
  }
  return Json{wide};
}

Json convert_float(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  return Json{number};
}

/// Any bytes: those that are no UTF-8 are written as "\udc80" to "\udcff" where the document is text.
Json convert_bytes(nb::handle value) {
  const auto bytes = nb::steal<nb::bytes>(PyBytes_FromObject(value.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  return Json{std::string{bytes.c_str(), bytes.size()}};
}

Json convert_path(nb::handle value, const std::string& pointer, int depth) {
  const nb::object path = nb::steal(PyOS_FSPath(value.ptr()));
  if (!path.is_valid()) throw nb::python_error();
  return convert(path, pointer, depth + 1);
}

Json convert_plain(nb::handle value, const std::string& pointer, int depth) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return Json{value.ptr() == Py_True};
  if (PyUnicode_Check(value.ptr())) return Json{from_str(value)};
  if (PyFloat_Check(value.ptr())) return convert_float(value);
  if (PyDict_Check(value.ptr())) return convert_dict(nb::borrow<nb::dict>(value), pointer, depth);
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return convert_list(value, pointer, depth);
  if (PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr())) return convert_bytes(value);
  if (PyType_Check(value.ptr())) refuse_type(value, pointer);
  if (nb::hasattr(value, "__fspath__")) return convert_path(value, pointer, depth);
  if (nb::hasattr(value, "tolist")) return convert(value.attr("tolist")(), pointer, depth + 1);
  if (PyIndex_Check(value.ptr())) return convert_integer(value, pointer);
  refuse_type(value, pointer);
}

Json convert(nb::handle value, std::string pointer, int depth) {
  if (depth > max_depth) refuse("nested deeper than 64", pointer.substr(0, 256));
  Json out = convert_plain(value, pointer, depth);
  out.mark(Place{.pointer = std::move(pointer)});
  return out;
}

}  // namespace

Json to_json(nb::handle value, const std::string& pointer) { return convert(value, pointer, 0); }

std::int64_t cache_size_of(nb::handle size) {
  const auto bytes = parse_memory(to_json(size).mark({}));
  if (bytes.ok()) return *bytes;
  return value_of(Result<std::int64_t>{
      Error{Code::config, Detail::invalid_argument,
            "cache: its size must be a number of bytes, or text such as 200GB; found " + from_str(nb::str(size))}});
}

std::int64_t memory_of(nb::handle memory) {
  const Json json = to_json(memory).mark({});
  return value_of(parse_memory(json).at("memory"));
}

Shard shard_of(nb::handle shard) {
  const Json json = to_json(shard, "/shard").mark({});
  auto chosen = parse_shard(json);
  if (chosen.ok()) return *std::move(chosen);
  const Error& error = chosen.error();
  std::vector<Error> faults = error.faults().empty() ? std::vector{error} : error.faults();
  for (Error& fault : faults) {  // one of a member has its place, "/shard/by"
    if (fault.place().pointer.empty()) fault = fault.at("shard");
  }
  raise(Error::all(std::move(faults)));
}

}  // namespace forebay::python
