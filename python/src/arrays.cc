// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
// NumPy's header takes part in the module's set-up, so only this file has it.
#include <numpy/arrayobject.h>

#include <cstring>
#include <memory>

#include <nanobind/stl/string.h>

#include "arrays.h"

namespace forebay::python {
namespace {

static_assert(sizeof(npy_intp) == sizeof(std::int64_t));

int numpy_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return NPY_BOOL;
    case DType::int8:
      return NPY_INT8;
    case DType::int16:
      return NPY_INT16;
    case DType::int32:
      return NPY_INT32;
    case DType::int64:
      return NPY_INT64;
    case DType::uint8:
      return NPY_UINT8;
    case DType::uint16:
    case DType::bfloat16:
      return NPY_UINT16;
    case DType::uint32:
      return NPY_UINT32;
    case DType::uint64:
      return NPY_UINT64;
    case DType::float16:
      return NPY_FLOAT16;
    case DType::float32:
      return NPY_FLOAT32;
    case DType::float64:
      return NPY_FLOAT64;
    case DType::complex64:
      return NPY_COMPLEX64;
    case DType::complex128:
      return NPY_COMPLEX128;
    case DType::string:
      return NPY_OBJECT;
  }
  return NPY_OBJECT;
}

PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

/// An array over foreign memory, which `owner` keeps alive.
nb::object view(PyArray_Descr* type, const std::vector<std::int64_t>& dims, const void* data,
                const std::shared_ptr<void>& owner, int flags) {
  std::vector<npy_intp> sizes(dims.begin(), dims.end());
  nb::object array =
      checked(PyArray_NewFromDescr(&PyArray_Type, type, static_cast<int>(sizes.size()), sizes.data(), nullptr,
                                   const_cast<void*>(data), data == nullptr ? 0 : flags, nullptr));
  if (data == nullptr) return array;
  auto kept = std::make_unique<std::shared_ptr<void>>(owner);
  nb::capsule base{kept.get(), [](void* pointer) noexcept {
                     std::default_delete<std::shared_ptr<void>>{}(static_cast<std::shared_ptr<void>*>(pointer));
                   }};
  static_cast<void>(kept.release());
  if (PyArray_SetBaseObject(as_array(array.ptr()), base.release().ptr()) != 0) throw nb::python_error();
  return array;
}

nb::object string_array(const Tensor& tensor) {
  std::vector<npy_intp> sizes(tensor.shape.dims().begin(), tensor.shape.dims().end());
  nb::object array = checked(PyArray_SimpleNew(static_cast<int>(sizes.size()), sizes.data(), NPY_OBJECT));
  auto** cells = static_cast<PyObject**>(PyArray_DATA(as_array(array.ptr())));
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const std::string_view text = tensor.string(i);
    PyObject* old = cells[i];
    cells[i] = checked(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()))).release().ptr();
    Py_XDECREF(old);
  }
  return array;
}

template <class T>
nb::object copied(const std::vector<T>& values, int type) {
  npy_intp size = static_cast<npy_intp>(values.size());
  nb::object array = checked(PyArray_SimpleNew(1, &size, type));
  if (size != 0) std::memcpy(PyArray_DATA(as_array(array.ptr())), values.data(), values.size() * sizeof(T));
  return array;
}

template <class T>
std::optional<std::vector<T>> values_of(nb::handle object, int type) {
  if (!PyArray_Check(object.ptr())) return std::nullopt;
  PyArrayObject* array = as_array(object.ptr());
  if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != 1 || !PyArray_ISCARRAY_RO(array)) return std::nullopt;
  const T* data = static_cast<const T*>(PyArray_DATA(array));
  return std::vector<T>(data, data + PyArray_SIZE(array));
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

nb::object to_array(const Tensor& tensor, nb::handle bfloat16) {
  if (tensor.dtype == DType::string) return string_array(tensor);
  PyArray_Descr* type = nullptr;
  if (tensor.dtype == DType::bfloat16 && bfloat16.is_valid() && !bfloat16.is_none()) {
    type = reinterpret_cast<PyArray_Descr*>(bfloat16.inc_ref().ptr());
  } else {
    type = PyArray_DescrFromType(numpy_type(tensor.dtype));
  }
  return view(type, tensor.shape.dims(), tensor.data, tensor.owner, NPY_ARRAY_CARRAY);
}

Tensor to_tensor(nb::handle array, const std::string& what, nb::object& owner) {
  owner = checked(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED));
  PyArrayObject* const values = as_array(owner.ptr());
  const nb::object type = owner.attr("dtype").attr("name");
  const auto dtype = dtype_from(nb::cast<std::string>(type));
  if (!dtype || *dtype == DType::string)
    throw nb::type_error((what + ": an array of numbers is wanted, found one of " + from_str(type)).c_str());
  std::vector<std::int64_t> sizes{PyArray_DIMS(values), PyArray_DIMS(values) + PyArray_NDIM(values)};
  return {
      .dtype = *dtype, .shape = Shape{std::move(sizes)}, .data = reinterpret_cast<std::byte*>(PyArray_BYTES(values))};
}

const void* data_of(nb::handle object) {
  return PyArray_Check(object.ptr()) ? PyArray_DATA(as_array(object.ptr())) : nullptr;
}

nb::object to_raw(const Tensor& tensor) {
  const std::int64_t count = tensor.count();
  const std::int64_t size = tensor.byte_splits == nullptr ? 0 : tensor.byte_splits[count];
  if (tensor.byte_splits == nullptr)
    return nb::make_tuple(copy_array(std::vector<std::int64_t>{0}),
                          view(PyArray_DescrFromType(NPY_UINT8), {0}, nullptr, {}, 0));
  return nb::make_tuple(
      view(PyArray_DescrFromType(NPY_INT64), {count + 1}, tensor.byte_splits, tensor.owner, NPY_ARRAY_CARRAY_RO),
      view(PyArray_DescrFromType(NPY_UINT8), {size}, tensor.bytes, tensor.owner, NPY_ARRAY_CARRAY_RO));
}

nb::object copy_array(const std::vector<std::int64_t>& values) { return copied(values, NPY_INT64); }
nb::object copy_array(const std::vector<float>& values) { return copied(values, NPY_FLOAT32); }
nb::object copy_flags(const std::vector<std::uint8_t>& flags) { return copied(flags, NPY_BOOL); }
std::optional<std::vector<std::int64_t>> int64_values(nb::handle array) {
  return values_of<std::int64_t>(array, NPY_INT64);
}
std::optional<std::vector<float>> float32_values(nb::handle array) { return values_of<float>(array, NPY_FLOAT32); }

}  // namespace forebay::python
