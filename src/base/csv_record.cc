// SPDX-License-Identifier: Apache-2.0
#include "base/csv_record.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace forebay {

RecordEnd end_of_record(std::span<const std::byte> bytes, const CsvRules& rules) {
  const auto* const all = reinterpret_cast<const char*>(bytes.data());
  const std::size_t size = bytes.size();
  bool field_begins = true;
  for (std::size_t at = 0; at < size; ++at) {
    const char each = all[at];
    if (each == '\n') return {.at = at};
    if (rules.quotes && field_begins && each == '"') {
      const std::size_t quote = at;
      do {
        const void* const next = at + 1 < size ? std::memchr(all + at + 1, '"', size - at - 1) : nullptr;
        if (next == nullptr) return {.at = size, .quote = quote};
        at = static_cast<std::size_t>(static_cast<const char*>(next) - all) + 1;
      } while (at < size && all[at] == '"');
      --at;  // the quote that closes
      field_begins = false;
    } else {
      field_begins = each == rules.delimiter || (field_begins && each == '\r');
    }
  }
  return {.at = size};
}

void split_fields(std::string_view record, const CsvRules& rules, std::size_t most, std::vector<std::string>& fields) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  fields.clear();
  for (bool more = true; more && fields.size() <= most;) {
    std::string field;
    while (record.starts_with('\r') || record.starts_with('\n')) record.remove_prefix(1);
    if (rules.quotes && record.starts_with('"')) {
      record.remove_prefix(1);
      while (!record.empty()) {
        const std::size_t quote = std::min(record.find('"'), record.size());
        field += record.substr(0, quote);
        record.remove_prefix(std::min(quote + 1, record.size()));
        if (!record.starts_with('"')) break;
        field += '"';
        record.remove_prefix(1);
      }
    }
    const std::size_t end = record.find(rules.delimiter);
    more = end != std::string_view::npos;
    field += record.substr(0, end);
    record.remove_prefix(more ? end + 1 : record.size());
    fields.push_back(std::move(field));
  }
}

}  // namespace forebay
