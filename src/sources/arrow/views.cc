// SPDX-License-Identifier: Apache-2.0
#include "sources/arrow/views.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::arrow {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 40;  // a byte each would be a terabyte
constexpr std::int64_t short_string = 12;                     // bytes that a view holds itself
constexpr std::int64_t view_bytes = 16;

std::int64_t buffers_of(const ValueType& type) {
  return type.layout == Layout::text32 || type.layout == Layout::text64 || type.layout == Layout::views ? 3 : 2;
}

/// Whether all bits from `first` on are set.
bool all_set(const std::byte* bits, std::int64_t first, std::int64_t count) {
  std::int64_t i = first;
  const std::int64_t end = first + count;
  for (; i < end && i % 8 != 0; ++i) {
    if (!bit_at(bits, i)) return false;
  }
  for (; i + 8 <= end; i += 8) {
    if (bits[i >> 3] != std::byte{0xFF}) return false;
  }
  for (; i < end; ++i) {
    if (!bit_at(bits, i)) return false;
  }
  return true;
}

}  // namespace

Error bad_array(const std::string& what) {
  return Error{Code::data, Detail::data_loss, "the array is corrupt: " + what};
}

Result<View> view_of(const ArrowArray* array, std::int64_t first, std::int64_t count, std::int64_t buffers,
                     std::int64_t children) {
  if (array == nullptr) return bad_array("it is missing");
  if (array->length < 0 || array->offset < 0 || array->length > max_elements || array->offset > max_elements)
    return bad_array(fmt::format("{} elements from {} on", array->length, array->offset));
  if (first < 0 || count < 0 || first > array->length || count > array->length - first)
    return bad_array(fmt::format("elements {} to {} are used, and it has {}", first, first + count, array->length));
  if (array->n_buffers < buffers || array->n_children != children || (buffers > 0 && array->buffers == nullptr) ||
      (children > 0 && array->children == nullptr)) {
    return bad_array(fmt::format("{} buffers and {} children, expected {} and {}", array->n_buffers, array->n_children,
                                 buffers, children));
  }
  return View{.array = array, .first = first, .count = count};
}

Result<View> values_view(const ArrowArray* array, std::int64_t first, std::int64_t count, const ValueType& type) {
  FOREBAY_TRY(const View view, view_of(array, first, count, buffers_of(type), 0));
  if (type.width > 0 && view.at() + count > INT64_MAX / type.width) return bad_array("it has more than 2^63 bytes");
  if (count > 0 && view.buffer(1) == nullptr && !(type.layout == Layout::fixed_bytes && type.width == 0))
    return bad_array("it has elements but no memory");
  return view;
}

void take_out_nulls(const View& view, Valid& valid) {
  if (view.array->null_count == 0 || view.array->n_buffers == 0 || view.buffer(0) == nullptr || view.count == 0) return;
  const std::byte* const bits = view.buffer(0);
  if (all_set(bits, view.at(), view.count)) return;
  if (valid.empty()) valid.assign(static_cast<std::size_t>(view.count), 1);
  for (std::int64_t i = 0; i < view.count; ++i) {
    if (!bit_at(bits, view.at() + i)) valid[static_cast<std::size_t>(i)] = 0;
  }
}

Result<void> read_offsets(const std::byte* offsets, bool large, std::int64_t place, std::int64_t count,
                          std::int64_t* out) {
  const auto bad = [](std::int64_t i, std::int64_t from, std::int64_t to) {
    return bad_array(fmt::format("element {} lies from {} to {}", i, from, to));
  };
  std::int64_t last = 0;
  for (std::int64_t i = 0; i <= count; ++i) {
    const std::int64_t next =
        large ? number_at<std::int64_t>(offsets, place + i) : number_at<std::int32_t>(offsets, place + i);
    if (next < last) return bad(i - 1, last, next);
    out[i] = last = next;
  }
  return {};
}

Result<Strings> Strings::make(const ValueType& type, const View& view) {
  Strings out{view, type.layout};
  if (type.layout == Layout::views) {
    FOREBAY_DO(out.check_views());
    return out;
  }
  out.splits_ = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(view.count) + 1);
  if (type.layout == Layout::fixed_bytes) {
    out.bytes_ = view.buffer(1);
    for (std::int64_t i = 0; i <= view.count; ++i)
      out.splits_[static_cast<std::size_t>(i)] = (view.at() + i) * type.width;
    return out;
  }
  out.splits_[0] = 0;
  out.bytes_ = view.buffer(2);
  if (view.count == 0) return out;
  FOREBAY_DO(read_offsets(view.buffer(1), type.layout == Layout::text64, view.at(), view.count, out.splits_.get()));
  if (out.splits_[static_cast<std::size_t>(view.count)] > out.splits_[0] && out.bytes_ == nullptr)
    return bad_array("its strings have no bytes");
  return out;
}

/// The last buffer has the sizes of those between it and the views.
Result<void> Strings::check_views() const {
  const std::int64_t data = view_.array->n_buffers - 3;
  const std::byte* const sizes = view_.buffer(static_cast<std::size_t>(view_.array->n_buffers - 1));
  if (data > 0 && sizes == nullptr) return bad_array("the sizes of its buffers are missing");
  const std::byte* const valid = view_.array->null_count == 0 ? nullptr : view_.buffer(0);
  for (std::int64_t i = 0; i < view_.count; ++i) {
    if (valid != nullptr && !bit_at(valid, view_.at() + i)) continue;  // a null may have any place
    const std::byte* const view = view_.buffer(1) + (view_.at() + i) * view_bytes;
    const std::int64_t size = number_at<std::int32_t>(view, 0);
    if (size < 0) return bad_array(fmt::format("string {} has {} bytes", i, size));
    if (size <= short_string) continue;
    const std::int64_t number = number_at<std::int32_t>(view, 2);
    const std::int64_t from = number_at<std::int32_t>(view, 3);
    if (number < 0 || number >= data || from < 0 || from + size > number_at<std::int64_t>(sizes, number))
      return bad_array(fmt::format("string {} lies from {} to {} of buffer {}", i, from, from + size, number));
  }
  return {};
}

std::string_view Strings::operator[](std::int64_t i) const {
  if (layout_ != Layout::views) {
    const std::int64_t from = splits_[static_cast<std::size_t>(i)];
    return {reinterpret_cast<const char*>(bytes_) + from,
            static_cast<std::size_t>(splits_[static_cast<std::size_t>(i) + 1] - from)};
  }
  const std::byte* const view = view_.buffer(1) + (view_.at() + i) * view_bytes;
  const std::int64_t size = number_at<std::int32_t>(view, 0);
  const std::byte* const text = size <= short_string
                                    ? view + 4
                                    : view_.buffer(static_cast<std::size_t>(2 + number_at<std::int32_t>(view, 2))) +
                                          number_at<std::int32_t>(view, 3);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

}  // namespace forebay::arrow
