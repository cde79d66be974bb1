// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <forebay/convert.h>

#include "columns/cast.h"
#include "tools/convert/value_rows.h"

namespace forebay {

namespace {

/// Appends protobuf's wire format to memory that is large enough.
struct WireOut {
  char* at;

  void byte(unsigned value) { *at++ = static_cast<char>(value); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<unsigned>(value & 0x7f) | 0x80U);
    byte(static_cast<unsigned>(value));
  }
  void bytes(const void* from, std::size_t size) {
    if (size != 0) std::memcpy(at, from, size);
    at += size;
  }
  /// Tag and length of a field of bytes.
  void begin(unsigned field, std::size_t size) {
    byte(field << 3 | 2U);
    varint(size);
  }
};

constexpr std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}
constexpr std::size_t field_size(std::size_t size) { return 1 + varint_size(size) + size; }

/// One feature of the Examples of a batch.
class FeatureRows {
 public:
  static Result<FeatureRows> make(std::string name, const Value& value, std::int64_t rows);

  /// The size of the map entry of a row; 0: the row has no values. `write` of the same row comes next.
  std::size_t measure(std::int64_t row) {
    first_ = rows_.begin(row);
    end_ = rows_.begin(row + 1);
    if (first_ == end_) return 0;
    values_ = values_size();
    list_ = field_ == 1 ? values_ : field_size(values_);
    entry_ = field_size(name_.size()) + field_size(field_size(list_));
    return field_size(entry_);
  }
  void write(WireOut& out) const;

 private:
  FeatureRows(std::string name, const Tensor& values, tools::ValueRows rows)
      : name_{std::move(name)}, tensor_{values}, rows_{std::move(rows)} {}

  [[nodiscard]] std::size_t values_size() const;
  Result<void> take_numbers();

  std::string name_;
  const Tensor& tensor_;
  tools::ValueRows rows_;
  unsigned field_ = 1;  // of the Feature: 1 bytes, 2 floats, 3 integers
  const std::int64_t* integers_ = nullptr;
  const float* floats_ = nullptr;
  std::vector<std::int64_t> own_integers_;  // of tensors of other types
  std::vector<float> own_floats_;
  std::size_t first_ = 0, end_ = 0, values_ = 0, list_ = 0, entry_ = 0;  // of the row that was measured
};

Result<void> FeatureRows::take_numbers() {
  const DType dtype = tensor_.dtype;
  const auto count = static_cast<std::size_t>(tensor_.count());
  if (dtype == DType::float32) {
    floats_ = tensor_.as<float>().data();
  } else if (dtype == DType::float16 || dtype == DType::bfloat16) {
    own_floats_.resize(count);
    columns::cast(tensor_.data, dtype, std::as_writable_bytes(std::span{own_floats_}).data(), DType::float32, count);
    floats_ = own_floats_.data();
  } else if (dtype == DType::float64 || dtype == DType::complex64 || dtype == DType::complex128) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("it is {}, and an Example has float32 only; {}", to_string(dtype),
                             dtype == DType::float64 ? "`cast` it, or convert with `narrow`" : "leave it out")};
  } else if (dtype == DType::int64) {
    integers_ = tensor_.as<std::int64_t>().data();
  } else {
    own_integers_.resize(count);
    if (count > 0) convert(tensor_, 0, own_integers_);
    integers_ = own_integers_.data();
    const auto negative = std::ranges::find_if(own_integers_, [](std::int64_t value) { return value < 0; });
    if (dtype == DType::uint64 && negative != own_integers_.end())
      return Error{Code::data, Detail::invalid_argument,
                   fmt::format("{} is more than the int64 of an Example holds", static_cast<std::uint64_t>(*negative))};
  }
  field_ = floats_ != nullptr ? 2 : 3;
  return {};
}

Result<FeatureRows> FeatureRows::make(std::string name, const Value& value, std::int64_t rows) {
  if (value.row_splits.size() > 1)
    return Error{Code::data, Detail::invalid_argument, "its rows have lists in lists, and an Example has one list"};
  FOREBAY_TRY(tools::ValueRows places, tools::ValueRows::make(value, rows));
  FeatureRows out{std::move(name), value.values, std::move(places)};
  if (value.values.dtype != DType::string) FOREBAY_DO(out.take_numbers());
  return out;
}

std::size_t FeatureRows::values_size() const {
  if (field_ == 2) return (end_ - first_) * sizeof(float);
  std::size_t size = 0;
  for (std::size_t i = first_; field_ == 3 && i < end_; ++i)
    size += varint_size(static_cast<std::uint64_t>(integers_[i]));
  for (std::size_t i = first_; field_ == 1 && i < end_; ++i)
    size += field_size(tensor_.string(static_cast<std::int64_t>(i)).size());
  return size;
}

void FeatureRows::write(WireOut& out) const {
  if (first_ == end_) return;
  out.begin(1, entry_);
  out.begin(1, name_.size());
  out.bytes(name_.data(), name_.size());
  out.begin(2, field_size(list_));
  out.begin(field_, list_);
  if (field_ != 1) out.begin(1, values_);
  if (field_ == 2) return out.bytes(floats_ + first_, values_);
  for (std::size_t i = first_; i < end_; ++i) {
    if (field_ == 3) {
      out.varint(static_cast<std::uint64_t>(integers_[i]));
    } else {
      const std::string_view text = tensor_.string(static_cast<std::int64_t>(i));
      out.begin(1, text.size());
      out.bytes(text.data(), text.size());
    }
  }
}

}  // namespace

Result<void> write_examples(const Batch& batch, RecordWriter& writer) {
  std::vector<std::string> names = batch.names();
  std::ranges::sort(names);
  std::vector<FeatureRows> features;
  for (const std::string& name : names) {
    auto feature = FeatureRows::make(name, *batch.find(name), batch.rows());
    if (!feature.ok()) return feature.error().at(Place{.feature = name});
    features.push_back(*std::move(feature));
  }
  std::string record;
  for (std::int64_t row = 0; row < batch.valid_rows(); ++row) {
    std::size_t size = 0;
    for (FeatureRows& feature : features) size += feature.measure(row);
    record.resize(field_size(size));
    WireOut out{record.data()};
    out.begin(1, size);
    for (const FeatureRows& feature : features) feature.write(out);
    FOREBAY_DO(writer.write(std::as_bytes(std::span{record})));
  }
  return {};
}

}  // namespace forebay
