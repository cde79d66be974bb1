// SPDX-License-Identifier: Apache-2.0
#include "decoders/csv/csv_decoder.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "columns/take/column_rows.h"

namespace forebay::decoders {
namespace {

CsvKernel kernel_of(const CsvFieldPlan& field) {
  if (!field.wanted) return CsvKernel::skip;
  if (field.type.timestamp) return CsvKernel::none;
  switch (field.type.dtype) {
    case DType::float32:
      return CsvKernel::float32;
    case DType::float64:
      return CsvKernel::float64;
    case DType::int32:
      return CsvKernel::int32;
    case DType::int64:
      return CsvKernel::int64;
    default:
      return CsvKernel::none;
  }
}

/// Whether the kernels may look for this delimiter: it is no part of a number, no quote and no line end.
bool is_usual(char delimiter) {
  constexpr std::string_view others = "-+.\"\r\n";
  return others.find(delimiter) == std::string_view::npos && (delimiter < '0' || delimiter > '9');
}

/// Whether a kernel might take the text for a number. It asks for no text that stands for a missing value.
bool begins_as_number(std::string_view text) {
  return !text.empty() && (text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
}

std::string_view text_of(Record record) { return {reinterpret_cast<const char*>(record.data()), record.size()}; }

Error refused(std::string message, std::string feature = {}) {
  return {Code::data, Detail::invalid_argument, std::move(message), Place{.feature = std::move(feature)}};
}

std::string_view words(CsvFault fault) {
  switch (fault) {
    case CsvFault::stray:
      return "a field that does not begin with a quote has a quote, a CR or an LF in it; put the field in quotes, and "
             "write each quote in it twice; if the lines of the file end with CR alone, convert them, for example with "
             "tr "
             "'\\r' '\\n'";
    case CsvFault::escape:
      return "a quote in a quoted field is not followed by another quote, a delimiter or the end of the record; write "
             "it twice";
    case CsvFault::unclosed:
      return "a quoted field has no quote at its end, followed by a delimiter or the end of the record";
    default:
      return "";
  }
}

}  // namespace

class CsvDecoder::Memory final : public DecoderMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override {
    std::size_t all = scratch.capacity();
    for (const std::string& text : texts) all += text.capacity();
    return static_cast<std::int64_t>(all);
  }

  std::vector<CsvTarget> targets;
  std::string scratch;
  std::vector<std::string> texts;  // of the columns of one record, by the exact rules
  std::size_t found = 0;           // fields of it
  std::size_t columns = 0;         // fields of it that have a column
};

CsvDecoder::CsvDecoder(CsvPlan plan, ReadFields kernel) : plan_{std::move(plan)}, kernel_{kernel} {
  const bool usual = is_usual(plan_.syntax.delimiter) && !begins_as_number(plan_.na_value);
  for (const CsvFieldPlan& field : plan_.fields) {
    kernels_.push_back(usual ? kernel_of(field) : CsvKernel::none);
    if (field.wanted && field.type.dtype == DType::string) appended_.push_back(field.id);
  }
}

std::unique_ptr<DecoderMemory> CsvDecoder::memory() const { return std::make_unique<Memory>(); }

Result<void> CsvDecoder::decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                DecoderMemory& memory) const {
  auto& own = static_cast<Memory&>(memory);
  own.targets.resize(plan_.fields.size());
  for (std::size_t i = 0; i < plan_.fields.size(); ++i) {
    const CsvFieldPlan& field = plan_.fields[i];
    own.targets[i] = {kernels_[i], field.wanted ? block[field.id].values.data() : nullptr};
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string_view record = without_line_end(text_of(records[i]));
    const std::size_t row = static_cast<std::size_t>(first_row) + i;
    const std::int64_t before = appended_.empty() ? 0 : block[appended_.front()].rows;
    if (plan_.syntax.delimiter != '"' && quick(record, row, block, own)) [[likely]]
      continue;
    for (const ColumnId id : appended_) columns::truncate(block[id], before);
    FOREBAY_DO(exact(record, row, block, own).at(Place{.row = static_cast<std::int64_t>(i)}));
  }
  return {};
}

/// Decodes a record without a fault. False: it has one; columns that are appended to may then have another row.
bool CsvDecoder::quick(std::string_view record, std::size_t row, ColumnBlock& block, Memory& memory) const {
  CsvPlace place;
  while (true) {
    place = kernel_(record, place, memory.targets, row, plan_.syntax);
    if (place.field == plan_.fields.size()) return !plan_.whole || ends(record, place.at);
    const CsvFieldPlan& field = plan_.fields[place.field];
    const std::size_t at = skip_line_ends(record, place.at);
    std::string_view text;
    if (at < record.size()) {
      const CsvField found = read_field(record, at, plan_.syntax, memory.scratch);
      if (found.fault != CsvFault::none) return false;
      text = found.text;
      place.at = found.next;
    } else if (at == record.size() && at > 0 && record.back() == plan_.syntax.delimiter) {
      place.at = record.size() + 1;  // the record ends with an empty field
    } else {
      return false;
    }
    if (field.wanted && !put(field, text, row, block)) return false;
    ++place.field;
  }
}

/// Whether no field begins at `at`, which is after a field.
bool CsvDecoder::ends(std::string_view record, std::size_t at) const {
  if (at > record.size()) return true;
  return skip_line_ends(record, at) == record.size() && record.back() != plan_.syntax.delimiter;
}

/// Writes the value of a field, or its default. False: it is none, or it is missing and required.
bool CsvDecoder::put(const CsvFieldPlan& field, std::string_view text, std::size_t row, ColumnBlock& block) const {
  Column& column = block[field.id];
  const bool takes_default = missing(text);
  if (takes_default && !field.default_value) return false;
  if (field.type.dtype == DType::string) {
    column.push_string(takes_default ? std::span<const std::byte>{*field.default_value}
                                     : std::as_bytes(std::span{text}));
    ++column.rows;
    return true;
  }
  const std::size_t size = size_of(field.type.dtype);
  std::byte* const out = column.values.data() + row * size;
  if (!takes_default) return parse_value(text, field.type, out);
  std::memcpy(out, field.default_value->data(), size);
  return true;
}

/// Finds the texts of the columns, and no more fields when no column follows.
Result<void> CsvDecoder::split(std::string_view record, Memory& memory) const {
  memory.texts.resize(plan_.columns);
  memory.found = memory.columns = 0;
  const auto add = [&](std::string_view text) {
    const std::size_t number = memory.found++;
    if (number >= plan_.fields.size() || plan_.fields[number].column == CsvFieldPlan::no_column) return;
    ++memory.columns;
    memory.texts[static_cast<std::size_t>(plan_.fields[number].column)] = text;
  };
  const auto name = [&] {
    const bool known = memory.found < plan_.fields.size() && plan_.fields[memory.found].wanted;
    return known ? plan_.fields[memory.found].name : std::string{};
  };
  const auto enough = [&] { return !plan_.whole && memory.found == plan_.fields.size(); };
  for (std::size_t at = skip_line_ends(record, 0); at < record.size() && !enough(); at = skip_line_ends(record, at)) {
    const CsvField field = read_field(record, at, plan_.syntax, memory.scratch);
    if (field.fault == CsvFault::too_long)
      return refused(fmt::format("field {} has {} bytes, more than max_field_bytes, {}", memory.found,
                                 field.text.size(), plan_.syntax.max_field),
                     name());
    if (field.fault != CsvFault::none)
      return refused(fmt::format("field {}: {}", memory.found, words(field.fault)), name());
    add(field.text);
    at = field.next;
  }
  if (!enough() && !record.empty() && record.back() == plan_.syntax.delimiter) add({});
  return {};
}

Error CsvDecoder::wrong_number(const Memory& memory) const {
  if (!plan_.whole)
    return refused(fmt::format("expected {} fields of select_cols, found {}: the record ends after field {}",
                               plan_.columns, memory.columns, memory.found));
  const std::string_view blank =
      memory.found == 0 ? "; skip_blank_lines of the source `csv` leaves out records without a byte" : "";
  return refused(fmt::format("expected {} fields, found {}{}", plan_.fields.size(), memory.found, blank));
}

Error CsvDecoder::not_a_value(const CsvFieldPlan& field, std::string_view text) const {
  if (missing(text))
    return refused(fmt::format("field {} is required but missing; give the column a default", field.column),
                   field.name);
  const std::string type =
      field.type.timestamp
          ? fmt::format("timestamp in {}", EnumNames<TimeUnit>::names[static_cast<std::size_t>(*field.type.timestamp)])
          : std::string{to_string(field.type.dtype)};
  return refused(fmt::format("field {} is not a valid {}: {}", field.column, type, quote(text)), field.name);
}

/// Decodes a record by the rules alone, and finds the fault that comes first: of the fields' form, of their number, of
/// their values.
Result<void> CsvDecoder::exact(std::string_view record, std::size_t row, ColumnBlock& block, Memory& memory) const {
  FOREBAY_DO(split(record, memory));
  if (memory.found != plan_.fields.size()) return wrong_number(memory);
  for (const CsvFieldPlan& field : plan_.fields) {
    if (!field.wanted) continue;
    const std::string_view text = memory.texts[static_cast<std::size_t>(field.column)];
    if (!put(field, text, row, block)) return not_a_value(field, text);
  }
  return {};
}

}  // namespace forebay::decoders
