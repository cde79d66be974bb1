// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/raw.h>

#include <algorithm>
#include <utility>

#include <forebay/plugin.h>

#include "decoders/raw/raw_numbers.h"

namespace forebay::decoders {
namespace {

class NoRawMemory final : public DecoderMemory {};

/// Copies the bytes of each record into a column of numbers. The plan owns the decoder; any number of workers call it
/// at once. Fails for a record whose bytes do not fill elements of the shape.
class RawDecoder final : public Decoder {
 public:
  explicit RawDecoder(Output output) : output_{std::move(output)} {}
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<NoRawMemory>(); }
  bool copies_only() const override { return true; }

  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory&) const override {
    Column& out = block[output_.column];
    const std::int64_t unit = std::max<std::int64_t>(output_.count, 1);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto count = raw_count(output_, records[i].size());
      if (!count.ok()) return count.error().at(Place{.feature = output_.name, .row = row});
      const std::size_t bytes = static_cast<std::size_t>(*count) * size_of(output_.dtype);
      std::byte* const to = output_.variable ? out.values.extend(bytes)
                                             : out.values.data() + static_cast<std::size_t>(first_row + row) * bytes;
      const auto* const from = reinterpret_cast<const std::uint8_t*>(records[i].data());
      copy_raw(output_, {from, from + records[i].size()}, *count, to);
      const std::int64_t size = *count / unit;
      if (output_.variable) out.end_row({&size, 1});
    }
    return {};
  }

 private:
  const Output output_;
};

/// The fault of a feature as a fault of this decoder's option of the same name.
Error of_option(const Error& fault) {
  Place place = fault.place();
  if (place.field.size() > 2) place.field.erase(place.field.begin(), place.field.begin() + 2);
  return {fault.code(), fault.detail(), fault.message(), std::move(place)};
}

/// The shape of a record: with a fixed length, a size of -1 is known. Sizes that do not fit stay, for their fault.
Shape known_shape(const RawRecords& options) {
  if (!options.fixed_length || options.as || options.shape.unknown() != 1) return options.shape;
  auto item = static_cast<std::int64_t>(size_of(options.dtype));
  std::vector<std::int64_t> dims = options.shape.dims();
  for (const std::int64_t dim : dims) {
    if (dim != unknown_dim && (dim < 1 || dim > *options.fixed_length)) return options.shape;
    if (dim != unknown_dim && __builtin_mul_overflow(item, dim, &item)) return options.shape;
  }
  if (item == 0 || *options.fixed_length % item != 0) return options.shape;
  *std::ranges::find(dims, unknown_dim) = *options.fixed_length / item;
  return Shape{std::move(dims)};
}

// A record is read like a feature of kind `raw` with one byte string, so the options have the same rules.
Result<Bound<Decoder>> bind(const RawRecords& options, const std::vector<std::string>&) {
  RawFeature feature{.dtype = options.dtype,
                     .shape = known_shape(options),
                     .endian = options.endian,
                     .fixed_length = options.fixed_length,
                     .as = options.as};
  if (!feature.endian && size_of(options.dtype) == 1) feature.endian = Endian::little;
  FeatureMap features;
  features.emplace_back(options.name, ExampleFeature{std::move(feature)});
  std::vector<Error> faults;
  Schema out;
  FeaturePlan plan = plan_features(features, Role::example, {}, out, faults);
  for (Error& fault : faults) fault = of_option(fault);
  if (!faults.empty()) return Error::all(std::move(faults));
  return Bound<Decoder>{.op = std::make_unique<RawDecoder>(std::move(plan.outputs.front())), .out = std::move(out)};
}

}  // namespace

DecoderType raw() {
  return describe<DecoderType, RawRecords>("raw", "Takes the bytes of each record for numbers: one tensor.", bind)
      .field("name", &RawRecords::name, "Name of the tensor.")
      .required("dtype", &RawRecords::dtype, "Type of the numbers.")
      .field("shape", &RawRecords::shape, "Shape of a record; one size may be -1.")
      .field("endian", &RawRecords::endian, "Byte order; must be given for numbers of several bytes.")
      .field("fixed_length", &RawRecords::fixed_length, "Cut or zero-fill every record to so many bytes.", {.min = 1})
      .field("as", &RawRecords::as,
             "How a size of -1 is handed over: equal (rows of a batch must agree), padded or ragged.")
      .example({.options = R"({"dtype": "int16", "endian": "little"})",
                .in = R"(["ab", "cd"])",
                .out = R"({"values": [[25185], [25699]]})"})
      .example({.options = R"({"dtype": "uint8", "name": "bytes", "shape": [2, -1], "fixed_length": 4})",
                .in = R"(["abcdef", "a"])",
                .out = R"({"bytes": [[[97, 98], [99, 100]], [[97, 0], [0, 0]]]})"});
}

}  // namespace forebay::decoders
