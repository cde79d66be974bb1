// SPDX-License-Identifier: Apache-2.0
// Images of all formats: any bytes are decoded or refused. The first byte chooses the options. A row that is decoded
// alone and one that is decoded after another have the same pixels, and a refused one is blank. With random regions the
// two rows may have different verdicts: what lies below a region is not read.
#include <forebay/plugin.h>

#include <algorithm>
#include <cstring>

#include "fuzz/check.h"

namespace {

using forebay::fuzz::check;
using forebay::fuzz::Faults;

forebay::Json options_of(std::uint8_t choice) {
  std::string text = R"({"tensor": "x", "max_image_pixels": 65536, "channels": )";
  text += (choice & 1) != 0 ? "1" : "3";
  if ((choice & 2) != 0) text += R"(, "resize": [9, 7])";
  if ((choice & 4) != 0) text += R"(, "region": {"random_resized": {}})";
  if ((choice & 8) != 0) text += R"(, "flip": "random", "layout": "chw")";
  if ((choice & 16) != 0) text += R"(, "dtype": "float32", "decoder_scale": false)";
  if ((choice & 32) != 0) text += R"(, "frames": "all", "max_frames": 20)";
  return *forebay::parse_json(text + "}");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> image{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  const auto& types = forebay::Registry::global().steps();
  const auto type = std::ranges::find(types, "decode_image", [](const auto& each) { return each.description.name; });
  forebay::Schema in;
  const forebay::ColumnId id = in.put({.name = "x", .dtype = forebay::DType::string, .shape = forebay::Shape{}});
  auto bound = type->bind(options_of(data[0]), in);
  check(bound.ok(), "the options are good");
  const auto memory = bound->op->memory();
  forebay::ColumnBlock block;
  block.rows = 2;
  for (std::size_t i = 0; i < bound->out.size(); ++i) {
    block.columns.emplace_back(bound->out[static_cast<forebay::ColumnId>(i)]);
    if (i > 0 && block.columns.back().fixed()) block.columns.back().set_rows(2);
  }
  for (int row = 0; row < 2; ++row) block[id].push_string(image);
  block[id].rows = 2;
  Faults faults;
  check(bound->op->apply(block, {.faults = &faults}, memory.get()).ok(), "corrupt rows are no error");
  const forebay::Column& out = block.columns.back();
  check(out.rows == 2, "every row is there");
  const bool random_region = (data[0] & 4) != 0;
  check(faults.bad.empty() || random_region || faults.bad == std::vector<std::int64_t>{0, 1},
        "equal bytes have the same verdict");
  const std::size_t half = out.values.size() / 2;
  const bool draws = (data[0] & (4 | 8)) != 0;
  if (!draws && half > 0)
    check(std::memcmp(out.values.data(), out.values.data() + half, half) == 0, "equal bytes, equal pixels");
  const auto zero = [](std::byte value) { return value == std::byte{0}; };
  for (const std::int64_t row : faults.bad) {
    check(row == 0 || row == 1, "a fault names a row");
    if (!out.fixed()) continue;
    const std::byte* const begin = out.values.data() + static_cast<std::size_t>(row) * half;
    check(std::all_of(begin, begin + half, zero), "a refused row is blank");
  }
  if (faults.bad.size() == 2)
    check(std::all_of(out.values.data(), out.values.data() + out.values.size(), zero), "refused rows have no pixels");
  return 0;
}
