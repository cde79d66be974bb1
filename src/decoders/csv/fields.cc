// SPDX-License-Identifier: Apache-2.0
// The exact rules of fields, one byte after the other, and the portable kernel.
#include "decoders/csv/fields.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/cpu.h"
#include "decoders/csv/digits.h"

namespace forebay::decoders {

CsvPlace read_fields_avx2(std::string_view record, CsvPlace from, std::span<const CsvTarget> targets, std::size_t row,
                          const CsvSyntax& syntax);

namespace {

bool line_end(char each) { return each == '\r' || each == '\n'; }

CsvField read_plain(std::string_view record, std::size_t at, const CsvSyntax& syntax) {
  std::size_t end = at;
  for (; end < record.size() && record[end] != syntax.delimiter; ++end) {
    if (line_end(record[end]) || (syntax.quotes && record[end] == '"')) return {.fault = CsvFault::stray};
  }
  return {.text = record.substr(at, end - at), .next = end + 1};
}

/// `at` is after the quote that begins the field.
CsvField read_quoted(std::string_view record, std::size_t at, const CsvSyntax& syntax, std::string& scratch) {
  scratch.clear();
  std::size_t piece = at;
  for (std::size_t from = at;;) {
    const std::size_t quote = record.find('"', from);
    if (quote == std::string_view::npos) return {.fault = CsvFault::unclosed};
    const bool last = quote + 1 == record.size();
    if (last || record[quote + 1] == syntax.delimiter) {
      const std::string_view rest = record.substr(piece, quote - piece);
      if (piece == at) return {.text = rest, .next = quote + 2};
      scratch.append(rest);
      return {.text = scratch, .next = quote + 2};
    }
    if (record[quote + 1] != '"') return {.fault = CsvFault::escape};
    scratch.append(record.substr(piece, quote + 1 - piece));
    piece = from = quote + 2;
  }
}

/// Reads a field as the kernels do: one in quotes has no quote inside.
CsvField read_usual(std::string_view record, std::size_t at, const CsvSyntax& syntax) {
  if (!syntax.quotes || record[at] != '"') return read_plain(record, at, syntax);
  const std::size_t quote = record.find('"', at + 1);
  if (quote == std::string_view::npos) return {.fault = CsvFault::unclosed};
  if (quote + 1 < record.size() && record[quote + 1] != syntax.delimiter) return {.fault = CsvFault::escape};
  return {.text = record.substr(at + 1, quote - at - 1), .next = quote + 2};
}

/// Reads an integer or a decimal fraction. False: the text has another form.
bool read_digits(std::string_view text, bool fraction, Digits& out) {
  out = {};
  out.negative = text.starts_with('-');
  if (out.negative) text.remove_prefix(1);
  if (text.empty() || text.size() > max_digits) return false;
  bool point = false;
  for (const char each : text) {
    if (each == '.' && fraction && !point) {
      point = true;
    } else if (each >= '0' && each <= '9') {
      out.value = out.value * 10 + static_cast<unsigned>(each - '0');
      out.decimals += point ? 1 : 0;
    } else {
      return false;
    }
  }
  return !point || text.size() > 1;
}

CsvPlace read_fields_portable(std::string_view record, CsvPlace from, std::span<const CsvTarget> targets,
                              std::size_t row, const CsvSyntax& syntax) {
  while (from.field < targets.size() && from.at < record.size()) {
    const CsvTarget& target = targets[from.field];
    if (target.kernel == CsvKernel::none || line_end(record[from.at])) return from;
    const CsvField field = read_usual(record, from.at, syntax);
    if (field.fault != CsvFault::none || field.text.size() > syntax.max_field) return from;
    Digits digits;
    if (target.kernel != CsvKernel::skip &&
        (!read_digits(field.text, has_fraction(target.kernel), digits) || !write_digits(digits, target, row)))
      return from;
    from = {field.next, from.field + 1};
  }
  return from;
}

}  // namespace

CsvField read_field(std::string_view record, std::size_t at, const CsvSyntax& syntax, std::string& scratch) {
  const bool quoted = syntax.quotes && record[at] == '"';
  CsvField field = quoted ? read_quoted(record, at + 1, syntax, scratch) : read_plain(record, at, syntax);
  if (field.fault == CsvFault::none && field.text.size() > syntax.max_field) field.fault = CsvFault::too_long;
  return field;
}

std::size_t skip_line_ends(std::string_view record, std::size_t at) {
  while (at < record.size() && line_end(record[at])) ++at;
  return at;
}

std::string_view without_line_end(std::string_view record) {
  if (!record.ends_with('\n')) return record;
  record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

ReadFields read_fields() {
  static const ReadFields best = read_fields_twins().back();
  return best;
}

std::span<const ReadFields> read_fields_twins() {
#if defined(__x86_64__)
  static constexpr std::array<ReadFields, 2> all{read_fields_portable, read_fields_avx2};
  return std::span{all}.first(isa() == Isa::scalar ? 1 : 2);
#else
  static constexpr std::array<ReadFields, 1> all{read_fields_portable};
  return all;
#endif
}

}  // namespace forebay::decoders
