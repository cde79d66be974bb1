// SPDX-License-Identifier: Apache-2.0
// Tar archives: records lie inside the bytes, windows of any size find the same ones, and the decoder takes any bytes.
#include <forebay/plugin.h>

#include "fuzz/windows.h"

using forebay::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  static const auto source = fuzz::named(Registry::global().sources(), "tar")
                                 .bind(*parse_json(R"({"files": ["a"], "max_record_bytes": 100000})"), BindContext{});
  static const auto decoder =
      fuzz::named(Registry::global().decoders(), "tar").bind(*parse_json(R"({"columns": {"x": "a;b.c"}})"), {});
  if (size == 0) return 0;
  const std::string_view file = fuzz::text_of(data + 1, size - 1);
  const tests::WindowScan whole = fuzz::scan_file(*source->format, file, file.size(), std::size_t{1} << 30);
  check(fuzz::scan_file(*source->format, file, 1 + data[0] * std::size_t{7}, 1 + data[0]) == whole,
        "windows do not change what is found");
  const auto memory = decoder->op->memory();
  for (const std::string& record : whole.records) {
    ColumnBlock block;
    for (const ColumnId id : decoder->out.visible()) block.columns.emplace_back(decoder->out[id]);
    const Record bytes = std::as_bytes(std::span{record});
    const auto done = decoder->op->decode({&bytes, 1}, 0, block, *memory);
    check(!done.ok() || block.columns[0].string(0).size() <= record.size(), "a member lies inside its record");
  }
  return 0;
}
