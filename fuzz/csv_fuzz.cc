// SPDX-License-Identifier: Apache-2.0
// Comma-separated values: windows of any size and all kernels find the records that the plain rules find, and every
// kernel of fields gives the same values and faults as the exact rules.
#include "decoders/csv/csv_decoder.h"
#include "fuzz/windows.h"
#include "tests/sources/plain_csv.h"

#include <forebay/plugin.h>

namespace forebay::sources {
SourceType csv();
}

using forebay::fuzz::check;

namespace {

constexpr std::size_t cut = std::size_t{1} << 20;

/// The values of a record, or its fault.
std::string decoded(const forebay::decoders::CsvDecoder& decoder, const std::string& text) {
  using forebay::DType;
  const auto bytes = forebay::fuzz::with_slack(std::as_bytes(std::span{text}));
  const forebay::Record record = std::span{bytes}.first(text.size());
  forebay::ColumnBlock block;
  for (const DType dtype : {DType::float32, DType::int64, DType::string})
    block.columns.emplace_back(forebay::ColumnSpec{.name = "x", .dtype = dtype, .shape = {}});
  block[0].set_rows(1);
  block[1].set_rows(1);
  const auto done = decoder.decode({&record, 1}, 0, block, *decoder.memory());
  if (!done.ok()) return done.error().text();
  const auto all = [](std::span<const std::byte> some) {
    return std::string{reinterpret_cast<const char*>(some.data()), some.size()};
  };
  return all({block[0].values.data(), 4}) + all({block[1].values.data(), 8}) + all(block[2].string(0));
}

forebay::decoders::CsvDecoder decoder_with(forebay::decoders::ReadFields kernel) {
  using forebay::DType;
  forebay::decoders::CsvPlan plan{.na_value = "NA", .columns = 3};
  std::int64_t column = 0;
  for (const DType dtype : {DType::float32, DType::int64, DType::string}) {
    plan.fields.push_back({.column = column,
                           .id = static_cast<forebay::ColumnId>(column),
                           .wanted = true,
                           .name = "x",
                           .type = {dtype, {}},
                           .default_value = std::vector<std::byte>(forebay::size_of(dtype))});
    ++column;
  }
  return forebay::decoders::CsvDecoder{std::move(plan), kernel};
}

/// A kernel that reads nothing, so that only the exact rules do.
forebay::decoders::CsvPlace reads_nothing(std::string_view, forebay::decoders::CsvPlace from,
                                          std::span<const forebay::decoders::CsvTarget>, std::size_t,
                                          const forebay::decoders::CsvSyntax&) {
  return from;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > cut) return 0;
  const std::size_t window = std::size_t{1} + data[0];
  const std::string_view text = forebay::fuzz::text_of(data + 1, size - 1);
  static const auto source = forebay::sources::csv().bind(*forebay::parse_json(R"({"files": ["a"]})"), {});
  const auto whole = forebay::fuzz::scan_file(*source->format, text, text.size(), text.size());
  check(whole == forebay::fuzz::scan_file(*source->format, text, window, window),
        "windows of any size find the same records");
  const bool plain = !text.starts_with("\xef\xbb\xbf") && (whole.error.empty() || !whole.records.empty());
  check(!plain || whole == forebay::tests::plain_csv(text), "the records are those of the plain rules");
  static const auto exact = decoder_with(reads_nothing);
  for (const auto& twin : forebay::decoders::read_fields_twins()) {
    const auto decoder = decoder_with(twin);
    for (const std::string& record : whole.records)
      check(decoded(decoder, record) == decoded(exact, record), "a kernel reads what the exact rules read");
  }
  return 0;
}
