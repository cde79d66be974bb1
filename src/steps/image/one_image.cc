// SPDX-License-Identifier: Apache-2.0
#include <forebay/image.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "steps/image/formats/image_reader.h"

namespace forebay {

namespace steps {

StepType decode_image();

namespace {

constexpr const char* one_name = "image";

/// The file as a column of one row, decoded by the step.
Result<Column> decoded_column(std::span<const std::byte> file, const Bound<Step>& step, std::uint64_t seed) {
  ColumnBlock block;
  block.rows = 1;
  for (std::size_t i = 0; i < step.out.size(); ++i) block.columns.emplace_back(step.out[static_cast<ColumnId>(i)]);
  Column& in = block[step.reads.front()];
  in.push_string(file);
  in.rows = 1;
  Column& out = block.columns.back();
  if (out.fixed()) out.set_rows(1);
  const auto memory = step.op->memory();
  if (const auto done = step.op->apply(block, {.seed = seed}, memory.get()); !done.ok())
    return Error{done.error().code(), done.error().detail(), done.error().message()};  // its place has no meaning here
  return std::move(out);
}

}  // namespace
}  // namespace steps

Result<Tensor> decode_image(std::span<const std::byte> file, const Json& options, std::uint64_t seed) {
  Json all = options;
  all.set("tensor", Json{std::string{"file"}});
  all.set("out", Json{std::string{steps::one_name}});
  Schema schema;
  static_cast<void>(schema.put({.name = "file", .dtype = DType::string, .shape = Shape{}}));
  FOREBAY_TRY(const Bound<Step> step, steps::decode_image().bind(all, schema));
  FOREBAY_TRY(Column column, steps::decoded_column(file, step, seed));
  auto kept = std::make_shared<Column>(std::move(column));
  Tensor out{.dtype = kept->dtype, .shape = kept->row_shape(0), .data = kept->values.data()};
  out.owner = std::move(kept);
  return out;
}

Result<Tensor> decode_image(std::span<const std::byte> file, const DecodeImage& options, std::uint64_t seed) {
  return decode_image(file, steps::decode_image().description.write(&options), seed);
}

Result<std::string> image_format(std::span<const std::byte> file) {
  FOREBAY_TRY(const steps::ImageFormat format, steps::format_of(file));
  std::string out{steps::to_string(format)};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace forebay
