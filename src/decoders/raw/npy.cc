// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/npy.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <forebay/plugin.h>

#include "columns/npy/npy_array.h"

namespace forebay::decoders {
namespace {

class NoNpyMemory final : public DecoderMemory {};

Error not_as_said(const NpyRecords& options, const ArrayView& found) {
  std::string shape = Shape{found.shape}.text();
  return {Code::data, Detail::invalid_argument,
          fmt::format("expected an array of {}{} in the order of rows, little-endian, found {}{}{}{}",
                      to_string(options.dtype), options.shape.text(), to_string(found.dtype), shape,
                      found.strides.empty() ? "" : " in Fortran order", found.swapped ? ", big-endian" : "")};
}

/// Copies the numbers of each array into a column. The plan owns the decoder; any number of workers call it at once.
class NpyDecoder final : public Decoder {
 public:
  explicit NpyDecoder(NpyRecords options) : options_{std::move(options)} {}
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<NoNpyMemory>(); }

  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory&) const override {
    Column& out = block[0];
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto found = array_of(records[i]);
      if (!found.ok()) return found.error().at(Place{.feature = options_.name, .row = row});
      const std::size_t bytes = static_cast<std::size_t>(Shape{found->shape}.count()) * size_of(options_.dtype);
      std::byte* const to = options_.shape.known()
                                ? out.values.data() + static_cast<std::size_t>(first_row + row) * bytes
                                : out.values.extend(bytes);
      if (bytes > 0) std::memcpy(to, found->data, bytes);
      if (!options_.shape.known()) out.end_row({found->shape.data(), 1});
    }
    return {};
  }

 private:
  [[nodiscard]] Result<ArrayView> array_of(Record record) const {
    FOREBAY_TRY(const ArrayLayout layout, npy_layout(record, ""));
    FOREBAY_DO(layout.check_size(std::ssize(record)));
    ArrayView found = layout.view("", record.data() + layout.begin);
    const std::vector<std::int64_t>& dims = options_.shape.dims();
    const bool same = found.shape.size() == dims.size() &&
                      std::equal(dims.begin(), dims.end(), found.shape.begin(),
                                 [](std::int64_t want, std::int64_t is) { return want == unknown_dim || want == is; });
    const bool plain = found.strides.empty() || found.shape.size() == 1;
    if (!same || !plain || found.swapped || found.dtype != options_.dtype) return not_as_said(options_, found);
    return found;
  }

  const NpyRecords options_;
};

Result<Bound<Decoder>> bind(const NpyRecords& options, const std::vector<std::string>&) {
  if (options.dtype == DType::string || options.dtype == DType::bfloat16)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("numpy has no arrays of {} that can be read", to_string(options.dtype))}
        .at(Field{"dtype"});
  const std::vector<std::int64_t>& dims = options.shape.dims();
  const auto inner = dims.empty() ? dims.end() : dims.begin() + 1;
  if (std::any_of(inner, dims.end(), [](std::int64_t size) { return size == unknown_dim; }))
    return Error{Code::config, Detail::invalid_argument, "only the first size may be -1"}.at(Field{"shape"});
  Schema out;
  out.put({.name = options.name,
           .dtype = options.dtype,
           .shape = options.shape,
           .delivery = options.shape.known() ? Delivery::equal : Delivery::ragged});
  return Bound<Decoder>{.op = std::make_unique<NpyDecoder>(options), .out = std::move(out)};
}

}  // namespace

DecoderType npy() {
  // The example is an array of 97 and 98.
  return describe<DecoderType, NpyRecords>("npy",
                                           "Decodes npy files of numpy, such as members of archives: one tensor.", bind)
      .field("name", &NpyRecords::name, "Name of the tensor.")
      .required("dtype", &NpyRecords::dtype, "Type of the numbers; every array must have it.")
      .required("shape", &NpyRecords::shape,
                "Shape of every array; the first size may be -1, then the tensor is ragged.")
      .example(
          {.options = R"({"dtype": "uint8", "shape": [2]})",
           .in =
               R"(["base64:k05VTVBZAQBGAHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgIAphYg=="])",
           .out = R"({"values": [[97, 98]]})"});
}

}  // namespace forebay::decoders
