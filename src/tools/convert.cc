// SPDX-License-Identifier: Apache-2.0
#include <forebay/convert.h>

#include "columns/cast.h"

namespace forebay {
namespace {

template <class T>
void convert_to(DType dtype, const Tensor& tensor, std::int64_t first, std::span<T> out) {
  const std::byte* const in = tensor.data + static_cast<std::size_t>(first) * size_of(tensor.dtype);
  columns::cast(in, tensor.dtype, std::as_writable_bytes(out).data(), dtype, out.size());
}

}  // namespace

void convert(const Tensor& tensor, std::int64_t first, std::span<double> out) {
  convert_to(DType::float64, tensor, first, out);
}
void convert(const Tensor& tensor, std::int64_t first, std::span<std::int64_t> out) {
  convert_to(DType::int64, tensor, first, out);
}

}  // namespace forebay
