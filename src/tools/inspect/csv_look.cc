// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/csv_look.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace forebay::tools {

namespace {

constexpr std::size_t rows_of_form = 100;
constexpr std::size_t max_columns = 4096;

/// The records in the beginning of a file; the last one only if it is the first, because it may be cut.
std::vector<std::string_view> first_records(std::string_view head, const CsvForm& form) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::vector<std::string_view> out;
  while (!head.empty() && out.size() < rows_of_form) {
    const auto end = end_of_record(std::as_bytes(std::span{head}), form.rules);
    std::string_view record = head.substr(0, end.at);
    if (end.at >= head.size() && !out.empty()) break;
    head.remove_prefix(std::min(end.at + 1, head.size()));
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (!record.empty()) out.push_back(record);
  }
  return out;
}

/// The delimiter that divides every one of the first records into the same number of fields, the largest one.
char find_delimiter(std::string_view head, CsvForm form) {
  char best = ',';
  std::size_t most = 1;
  for (const char delimiter : {',', '\t', ';', '|'}) {
    form.rules.delimiter = delimiter;
    std::vector<std::string> fields;
    std::set<std::size_t> sizes;
    for (const std::string_view record : first_records(head, form)) {
      split_fields(record, form.rules, max_columns, fields);
      sizes.insert(fields.size());
    }
    if (sizes.size() != 1 || *sizes.begin() <= most) continue;
    most = *sizes.begin();
    best = delimiter;
  }
  return best;
}

bool is_number(const std::string& text) {
  NumberTexts numbers;
  numbers.add(text);
  return numbers.floats > 0;
}

/// A first record without a number, whose fields are all different, is a header: above a column of numbers in any case,
/// and above texts when each field looks like a name.
bool looks_like_header(const std::vector<std::string>& first, const std::vector<std::string_view>& records,
                       const CsvForm& form) {
  if (std::any_of(first.begin(), first.end(), is_number)) return false;
  const std::set<std::string> different{first.begin(), first.end()};
  if (different.size() != first.size() || different.contains("")) return false;
  std::vector<std::string> fields;
  for (const std::string_view record : std::span{records}.subspan(1)) {
    split_fields(record, form.rules, max_columns, fields);
    if (std::any_of(fields.begin(), fields.end(), is_number)) return true;
  }
  return std::all_of(first.begin(), first.end(), [](const std::string& name) {
    return name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
             return std::isalnum(letter) != 0 || letter == '_' || letter == '.' || letter == '-' || letter == '/' ||
                    letter >= 0x80;
           });
  });
}

void name_columns(const std::vector<std::string>& first, CsvForm& form) {
  const std::set<std::string> different{first.begin(), first.end()};
  form.own_names = !form.header || different.size() != first.size() || different.contains("");
  form.names = first;
  if (!form.own_names) return;
  for (std::size_t i = 0; i < form.names.size(); ++i) form.names[i] = fmt::format("column_{}", i);
}

Result<void> look_at_fields(const CsvForm& form, std::vector<std::string>& fields, std::string_view record,
                            RecordLook& look) {
  split_fields(record, form.rules, max_columns, fields);
  if (fields.size() != form.names.size())
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("the record has {} fields, the first one of the data has {}; field_delim, "
                             "skip_header_lines and skip_blank_lines may help",
                             fields.size(), form.names.size())};
  look.columns.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].empty()) continue;  // counts as missing
    FeatureStats& stats = look.columns[i];
    ++stats.records;
    stats.lengths.add(1);
    ++stats.kinds[static_cast<std::size_t>(ValueKind::strings)];
    stats.strings.add(fields[i]);
    stats.strings.numbers.add(fields[i]);
    const double number = number_of(fields[i]);
    stats.floats.add(std::span{&number, 1});
  }
  return {};
}

const char* dtype_of_texts(const NumberTexts& numbers) {
  if (numbers.texts == 0) return "string";
  if (numbers.integers == numbers.texts) return "int64";
  if (numbers.floats == numbers.texts) return numbers.wide ? "float64" : "float32";
  return numbers.bools == numbers.texts ? "bool" : "string";
}

Json default_of(std::string_view dtype) {
  if (dtype == "string") return Json{""};
  if (dtype == "bool") return Json{false};
  return dtype == "int64" ? Json{0} : Json{0.0};
}

}  // namespace

Result<CsvForm> csv_form(std::string_view head, const std::string& path, const Json& options) {
  CsvForm form;
  const Json* const quotes = options.find("use_quote_delim");
  if (quotes != nullptr) form.rules.quotes = quotes->boolean();
  const Json* const lines = options.find("skip_header_lines");
  for (std::int64_t i = 0; lines != nullptr && i < lines->integer(); ++i)
    head.remove_prefix(std::min(head.find('\n'), head.size() - 1) + 1);
  const Json* const delimiter = options.find("field_delim");
  form.rules.delimiter =
      delimiter != nullptr && !delimiter->string().empty() ? delimiter->string()[0] : find_delimiter(head, form);
  const std::vector<std::string_view> records = first_records(head, form);
  if (records.empty())
    return Error{Code::data, Detail::invalid_argument, "the file has no records", Place{.file = path}};
  std::vector<std::string> first;
  split_fields(records.front(), form.rules, max_columns, first);
  if (first.size() > max_columns)
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("the first record has more than {} fields", max_columns), Place{.file = path}};
  const Json* const header = options.find("header");
  form.header = header != nullptr ? header->boolean() : looks_like_header(first, records, form);
  name_columns(first, form);
  if (const Json* const names = options.find("names")) {
    form.names.clear();
    for (const Json& name : names->items()) form.names.push_back(name.string());
    form.header = form.own_names = false;
  }
  return form;
}

void set_csv_options(const CsvForm& form, Json& options) {
  const auto give = [&options](const char* name, Json value) {
    if (options.find(name) == nullptr) options.set(name, std::move(value));
  };
  if (form.rules.delimiter != ',') give("field_delim", std::string(1, form.rules.delimiter));
  if (form.header && !form.own_names) give("header", true);
  if (form.header && form.own_names) {
    give("skip_header_lines", 1);
    options.set("header", false);
  }
  if (form.own_names) give("names", Json::array({form.names.begin(), form.names.end()}));
}

MakeLook csv_look(const CsvForm& form) {
  return [&form]() -> LookAtRecord {
    const auto fields = std::make_shared<std::vector<std::string>>();
    return [&form, fields](std::string_view record, RecordLook& look) {
      return look_at_fields(form, *fields, record, look);
    };
  };
}

void propose_csv(const CsvForm& form, const RecordLook& look, Inspected& out) {
  out.what = "CSV";
  Json columns = Json::object();
  for (std::size_t i = 0; i < form.names.size(); ++i) {
    InspectedFeature feature{.name = form.names[i], .kind = "field"};
    if (i < look.columns.size()) feature.stats = look.columns[i];
    FeatureStats& stats = feature.stats;
    feature.dtype = dtype_of_texts(stats.strings.numbers);
    const std::int64_t empty = look.records - stats.records;
    if (feature.dtype == "string" || feature.dtype == "bool") {
      stats.floats = {};
    } else {
      stats.strings = {};
    }
    Json column = Json::object();
    column.set("dtype", feature.dtype);
    // A sample may have no empty field by chance, and the rest many.
    if (empty > 0 || out.sample || feature.dtype == "string") column.set("default", default_of(feature.dtype));
    if (empty > 0)
      feature.note = fmt::format("empty in {} of {} records, where it is {}", empty, look.records,
                                 default_of(feature.dtype).text());
    columns.set(feature.name, std::move(column));
    out.features.push_back(std::move(feature));
  }
  out.proposal.decoder = "csv";
  out.proposal.decode.set("columns", std::move(columns));
  if (form.header && out.proposal.source.find("header") != nullptr)
    out.notes.emplace_back("the first record is taken for a header; header=false says that it is data");
}

}  // namespace forebay::tools
