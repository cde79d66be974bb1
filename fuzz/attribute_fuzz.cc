// SPDX-License-Identifier: Apache-2.0
// Stored attributes: any bytes are refused, or every record has a value.
#include "engine/index/attribute_column.h"
#include "fuzz/check.h"

using forebay::engine::AttributeBuilder;
using forebay::engine::AttributeColumn;
using forebay::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = forebay::fuzz::bytes_of(data, size);
  const auto column = AttributeColumn::parse(nullptr, image);
  if (!column) return 0;
  AttributeBuilder again;
  for (std::int64_t record = 0; record < column->size(); ++record) again.add(column->at(record));
  const AttributeColumn narrow = again.finish();
  check(narrow.size() == column->size(), "the builder has every value");
  check(narrow.image().size() <= image.size(), "the builder takes no more bytes");
  for (std::int64_t record = 0; record < column->size(); ++record)
    check(narrow.at(record) == column->at(record), "the builder has the same values");
  return 0;
}
