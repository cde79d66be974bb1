// SPDX-License-Identifier: Apache-2.0
#include "lent.h"

#include <memory>
#include <optional>
#include <utility>

#include "arrays.h"

namespace forebay::python {
namespace {

/// An array that a tensor shares. The tensor may end on any thread, so the release takes the interpreter's lock;
/// after the interpreter has ended the memory stays.
class SharedArray {
 public:
  explicit SharedArray(nb::object array) : array_{std::move(array)} {}
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() {
    if (Py_IsInitialized() == 0) {
      static_cast<void>(array_.release());
      return;
    }
    const nb::gil_scoped_acquire locked;
    array_.reset();
  }

 private:
  nb::object array_;
};

}  // namespace

Tensor Lent::tensor(nb::handle value, DType wanted, const std::string& what) {
  if (nb::isinstance<nb::tuple>(value)) return texts(nb::borrow<nb::tuple>(value));
  owners_.emplace_back();
  Tensor out = to_tensor(value, what, owners_.back());
  // Without NumPy's type of that name, bfloat16 is its bits.
  if (wanted == DType::bfloat16 && out.dtype == DType::uint16) out.dtype = DType::bfloat16;
  if (share_) out.owner = std::make_shared<SharedArray>(owners_.back());
  return out;
}

Tensor Lent::texts(nb::tuple value) {
  const nb::object bytes = value[0];
  auto splits = int64_values(value[1]);
  if (!splits || splits->empty() || PyBytes_Check(bytes.ptr()) == 0)
    throw nb::type_error("strings are (bytes, int64 byte splits, shape)");
  std::vector<std::int64_t> sizes;
  for (const nb::handle size : nb::cast<nb::tuple>(value[2])) sizes.push_back(nb::cast<std::int64_t>(size));
  Tensor out{.dtype = DType::string, .shape = Shape{std::move(sizes)}};
  if (out.shape.count() + 1 != std::ssize(*splits) || splits->back() > PyBytes_Size(bytes.ptr()))
    throw nb::value_error("byte splits do not fit the shape and the bytes");
  owners_.push_back(bytes);
  splits_.push_back(*std::move(splits));
  out.byte_splits = splits_.back().data();
  out.bytes = reinterpret_cast<const std::byte*>(PyBytes_AsString(bytes.ptr()));
  return out;
}

nb::object array_of(const Tensor& tensor) {
  if (tensor.dtype != DType::bfloat16) return to_array(tensor);
  return to_array(tensor, nb::module_::import_("forebay.values").attr("bfloat16_type")());
}

}  // namespace forebay::python
