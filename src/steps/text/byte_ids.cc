// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/byte_ids.h>

#include <algorithm>

#include <fmt/core.h>

#include "steps/output.h"
#include "steps/rules.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t max_id = std::int64_t{1} << 62;

/// Turns the bytes of strings into numbers. The plan owns the step. It is immutable: any number of workers call it at
/// once.
class ByteNumbering final : public Step {
 public:
  ByteNumbering(ByteIds options, TextColumns columns) : options_{std::move(options)}, columns_{columns} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[columns_.from];
    Column& out = block[columns_.to];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
    for (std::int64_t row = 0; row < in.rows; ++row) {
      StopCheck::look(context.stop);
      std::string_view text = text_at(in, row);
      if (options_.max_bytes) text = text.substr(0, static_cast<std::size_t>(*options_.max_bytes));
      const std::int64_t count = std::ssize(text) + (options_.start ? 1 : 0) + (options_.end ? 1 : 0);
      std::byte* const to = out.values.extend(static_cast<std::size_t>(count) * size_of(out.dtype));
      switch (out.dtype) {
        case DType::uint8:
          write(text, reinterpret_cast<std::uint8_t*>(to));
          break;
        case DType::int16:
          write(text, reinterpret_cast<std::int16_t*>(to));
          break;
        case DType::int32:
          write(text, reinterpret_cast<std::int32_t*>(to));
          break;
        default:
          write(text, reinterpret_cast<std::int64_t*>(to));
          break;
      }
      out.end_row({&count, 1});
    }
    return {};
  }

 private:
  template <class T>
  void write(std::string_view text, T* to) const {
    if (options_.start) *to++ = static_cast<T>(*options_.start);
    const auto offset = static_cast<T>(options_.offset);
    for (const char byte : text) *to++ = static_cast<T>(static_cast<std::uint8_t>(byte) + offset);
    if (options_.end) *to = static_cast<T>(*options_.end);
  }

  const ByteIds options_;
  const TextColumns columns_;
};

struct IdRange {
  std::int64_t min, max;
};

Result<IdRange> ids_of(DType dtype) {
  if (dtype == DType::uint8) return IdRange{0, UINT8_MAX};
  if (dtype == DType::int16) return IdRange{INT16_MIN, INT16_MAX};
  if (dtype == DType::int32) return IdRange{INT32_MIN, INT32_MAX};
  if (dtype == DType::int64) return IdRange{-max_id, max_id};
  return refusal(fmt::format("numbers of bytes are int64, int32, int16 or uint8, not {}", to_string(dtype)))
      .at(Field{"dtype"});
}

Result<void> check_ids(const ByteIds& options) {
  FOREBAY_TRY(const IdRange range, ids_of(options.dtype));
  const auto check = [&](const char* option, std::int64_t low, std::int64_t high) -> Result<void> {
    if (low >= range.min && high <= range.max) return {};
    return refusal(fmt::format("{} does not hold the numbers {} to {}", to_string(options.dtype), low, high))
        .at(Field{option});
  };
  if (options.offset > max_id || options.offset < -max_id)
    return refusal(fmt::format("must be from {} to {}", -max_id, max_id)).at(Field{"offset"});
  FOREBAY_DO(check("offset", options.offset, options.offset + 255));
  if (options.start) FOREBAY_DO(check("start", *options.start, *options.start));
  if (options.end) FOREBAY_DO(check("end", *options.end, *options.end));
  return {};
}

Result<Bound<Step>> bind_ids(const ByteIds& options, const Schema& in) {
  FOREBAY_DO(check_ids(options));
  Schema out = in;
  FOREBAY_TRY(
      const TextColumns columns,
      bind_text(options.tensor, options.out, 0,
                {.name = {}, .dtype = options.dtype, .shape = {unknown_dim}, .delivery = Delivery::ragged}, out));
  return Bound<Step>{
      .op = std::make_unique<ByteNumbering>(options, columns), .out = std::move(out), .reads = {columns.from}};
}

Result<void> check_ids_json(const Json& options) {
  std::vector<Error> none;  // faults of the types are already reported
  ByteIds read;
  const auto take = [&]<class T>(const char* name, T& member) {
    const Json* const value = options.find(name);
    if (value == nullptr) return;
    if (auto found = JsonCodec<T>::read(*value, none)) member = *std::move(found);
  };
  take("offset", read.offset);
  take("start", read.start);
  take("end", read.end);
  take("dtype", read.dtype);
  return check_ids(read);
}

}  // namespace

StepType byte_ids() {
  StepType type = describe<StepType, ByteIds>("byte_ids", "Turns strings into the numbers of their bytes.", bind_ids)
                      .required("tensor", &ByteIds::tensor, "Strings, one for each row.")
                      .field("out", &ByteIds::out, "Name of the numbers; null: they replace the tensor.")
                      .field("offset", &ByteIds::offset, "Added to each byte.")
                      .field("start", &ByteIds::start, "A number before the first byte; null: none.")
                      .field("end", &ByteIds::end, "A number after the last byte; null: none.")
                      .field("max_bytes", &ByteIds::max_bytes, "Bytes of a row at most; the rest is dropped.",
                             {.min = 0, .max = max_elements})
                      .field("dtype", &ByteIds::dtype, "int64, int32, int16 or uint8.")
                      .example({.options = R"({"tensor": "t", "offset": 3, "start": 1, "end": 2})",
                                .in = R"({"t": ["ab", ""]})",
                                .out = R"({"t": [[1, 100, 101, 2], [1, 2]]})"});
  return with_rules(std::move(type), check_ids_json);
}

}  // namespace forebay::steps
