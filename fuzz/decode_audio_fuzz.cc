// SPDX-License-Identifier: Apache-2.0
// Audio of all formats: any bytes are decoded or refused. The first byte chooses the options. Equal bytes in two rows
// have the same verdict and the same samples, and a refused row is silent.
#include <forebay/plugin.h>

#include <algorithm>
#include <cstring>

#include "fuzz/check.h"

namespace forebay::steps {
StepType decode_audio();
}

namespace {

using forebay::fuzz::check;
using forebay::fuzz::Faults;

forebay::Json audio_options(std::uint8_t choice) {
  std::string text = R"({"tensor": "x", "rate_out": "rate", "max_samples": 65536)";
  if ((choice & 1) != 0) text += R"(, "mono": true)";
  if ((choice & 2) != 0) text += R"(, "sample_rate": 8000, "quality": "quick")";
  if ((choice & 4) != 0) text += R"(, "start": 3)";
  if ((choice & 8) != 0) text += R"(, "length": 50)";
  if ((choice & 26) == 24) text += R"(, "pad": true)";  // not with another rate: it needs seconds
  if ((choice & 32) != 0) text += R"(, "dtype": "int16")";
  return *forebay::parse_json(text + "}");
}

}  // namespace

// libsndfile 1.2 does not free the header of a Vorbis stream that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:vorbis_info_init\n"; }  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> file{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  static const forebay::StepType type = forebay::steps::decode_audio();
  forebay::Schema in;
  const forebay::ColumnId id = in.put({.name = "x", .dtype = forebay::DType::string, .shape = forebay::Shape{}});
  auto bound = type.bind(audio_options(data[0]), in);
  check(bound.ok(), "the options are good");
  const auto memory = bound->op->memory();
  forebay::ColumnBlock block;
  block.rows = 2;
  for (std::size_t i = 0; i < bound->out.size(); ++i) {
    block.columns.emplace_back(bound->out[static_cast<forebay::ColumnId>(i)]);
    if (i > 0 && block.columns.back().fixed()) block.columns.back().set_rows(2);
  }
  for (int row = 0; row < 2; ++row) block[id].push_string(file);
  block[id].rows = 2;
  Faults faults;
  check(bound->op->apply(block, {.faults = &faults}, memory.get()).ok(), "corrupt rows are no error");
  check(faults.bad.empty() || faults.bad == std::vector<std::int64_t>{0, 1}, "equal bytes have the same verdict");
  const forebay::Column& out = block.columns[1];
  check(out.rows == 2, "every row is there");
  const std::size_t half = out.values.size() / 2;
  check(half <= 65536 * 8 * sizeof(float), "no more samples than are allowed");
  if (half > 0)
    check(std::memcmp(out.values.data(), out.values.data() + half, half) == 0, "equal bytes, equal samples");
  const auto zero = [](std::byte value) { return value == std::byte{0}; };
  if (!faults.bad.empty())
    check(std::all_of(out.values.data(), out.values.data() + out.values.size(), zero), "refused rows are silent");
  return 0;
}
