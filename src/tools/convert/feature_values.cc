// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/feature_values.h"

#include <algorithm>

#include <fmt/format.h>
#include <forebay/convert.h>

#include "columns/cast.h"

namespace forebay::tools {

Result<void> FeatureValues::take_numbers() {
  const DType dtype = tensor_->dtype;
  const auto count = static_cast<std::size_t>(tensor_->count());
  if (dtype == DType::float32) {
    floats_ = tensor_->as<float>().data();
  } else if (dtype == DType::float16 || dtype == DType::bfloat16) {
    own_floats_.resize(count);
    columns::cast(tensor_->data, dtype, std::as_writable_bytes(std::span{own_floats_}).data(), DType::float32, count);
    floats_ = own_floats_.data();
  } else if (dtype == DType::float64 || dtype == DType::complex64 || dtype == DType::complex128) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("it is {}, and an Example has float32 only; {}", to_string(dtype),
                             dtype == DType::float64 ? "`cast` it, or convert with `narrow`" : "leave it out")};
  } else if (dtype == DType::int64) {
    integers_ = tensor_->as<std::int64_t>().data();
  } else {
    own_integers_.resize(count);
    if (count > 0) convert(*tensor_, 0, own_integers_);
    integers_ = own_integers_.data();
    const auto negative = std::ranges::find_if(own_integers_, [](std::int64_t value) { return value < 0; });
    if (dtype == DType::uint64 && negative != own_integers_.end())
      return Error{Code::data, Detail::invalid_argument,
                   fmt::format("{} is more than the int64 of an Example holds", static_cast<std::uint64_t>(*negative))};
  }
  field_ = floats_ != nullptr ? 2 : 3;
  return {};
}

Result<FeatureValues> FeatureValues::make(const Tensor& values) {
  FeatureValues out{values};
  if (values.dtype != DType::string) FOREBAY_DO(out.take_numbers());
  return out;
}

std::size_t FeatureValues::size(std::size_t first, std::size_t end) const {
  if (field_ == 2) return (end - first) * sizeof(float);
  std::size_t size = 0;
  for (std::size_t i = first; field_ == 3 && i < end; ++i)
    size += varint_size(static_cast<std::uint64_t>(integers_[i]));
  for (std::size_t i = first; field_ == 1 && i < end; ++i)
    size += field_size(tensor_->string(static_cast<std::int64_t>(i)).size());
  return size;
}

void FeatureValues::write(std::size_t first, std::size_t end, std::size_t values, WireOut& out) const {
  if (values == 0) return;
  if (field_ != 1) out.begin(1, values);
  if (field_ == 2) return out.bytes(floats_ + first, values);
  for (std::size_t i = first; i < end; ++i) {
    if (field_ == 3) {
      out.varint(static_cast<std::uint64_t>(integers_[i]));
    } else {
      const std::string_view text = tensor_->string(static_cast<std::int64_t>(i));
      out.begin(1, text.size());
      out.bytes(text.data(), text.size());
    }
  }
}

}  // namespace forebay::tools
