// SPDX-License-Identifier: Apache-2.0
// The options of the decoder: which field becomes which tensor.
#include <forebay/decoders/csv.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "columns/scalar.h"
#include "decoders/csv/csv_decoder.h"

namespace forebay {

const Fields<CsvColumn>& FieldsOf<CsvColumn>::get() {
  static const Fields<CsvColumn> fields =
      Fields<CsvColumn>{}
          .required("dtype", &CsvColumn::dtype, "Any integer type, float32, float64, bool or string.")
          .field("default", &CsvColumn::default_value, "Value of an empty field; without it that is an error.")
          .field("timestamp", &CsvColumn::timestamp,
                 "The text is a date, with or without a time, and the int64 counts these units since 1970-01-01 UTC.");
  return fields;
}

namespace decoders {
namespace {

constexpr std::size_t max_columns = 100'000;
constexpr std::int64_t usual_field_bytes = std::int64_t{16} << 20;

Error refused(std::string message, Field field) {
  return Error{Code::config, Detail::invalid_argument, std::move(message)}.at(field);
}

bool is_read(DType dtype) {
  return dtype == DType::boolean || dtype == DType::string || is_integer(dtype) || dtype == DType::float32 ||
         dtype == DType::float64;
}

/// Binds the options; collects all faults.
class CsvBinder {
 public:
  CsvBinder(const CsvFields& options, const std::vector<std::string>& wanted) : options_{options}, wanted_{wanted} {}

  Result<Bound<Decoder>> run() {
    read_syntax();
    read_columns();
    place_columns();
    if (!faults_.empty()) return Error::all(std::move(faults_));
    plan_.columns = options_.columns.size();
    return Bound<Decoder>{.op = std::make_unique<CsvDecoder>(std::move(plan_)), .out = std::move(out_)};
  }

 private:
  void complain(std::string message, Field field) { faults_.push_back(refused(std::move(message), std::move(field))); }

  void read_syntax() {
    const std::string delimiter = options_.field_delim.value_or(",");
    if (delimiter.size() != 1) {
      complain(fmt::format("has 1 character, found {}: {}", delimiter.size(), quote(delimiter)), Field{"field_delim"});
    } else {
      plan_.syntax.delimiter = delimiter.front();
    }
    plan_.syntax.quotes = options_.use_quote_delim.value_or(true);
    plan_.syntax.max_field = static_cast<std::size_t>(options_.max_field_bytes.value_or(usual_field_bytes));
    plan_.na_value = options_.na_value.value_or("");
  }

  void read_columns() {
    if (options_.columns.empty()) complain("names no column", Field{"columns"});
    if (options_.columns.size() > max_columns)
      complain(fmt::format("has at most {} columns, found {}", max_columns, options_.columns.size()), Field{"columns"});
    for (const auto& [name, column] : options_.columns) {
      CsvFieldPlan field{.column = std::ssize(columns_), .name = name, .type = {column.dtype, column.timestamp}};
      if (!is_read(column.dtype))
        complain(fmt::format("a field becomes an integer, float32, float64, bool or string, not {}",
                             to_string(column.dtype)),
                 Field{"columns", name, "dtype"});
      if (column.timestamp && column.dtype != DType::int64)
        complain("a timestamp is an int64", Field{"columns", name, "timestamp"});
      read_default(name, column, field);
      field.wanted = wanted_.empty() || std::ranges::find(wanted_, name) != wanted_.end();
      field.id = out_.put({.name = name, .dtype = column.dtype, .shape = {}});
      columns_.push_back(std::move(field));
    }
  }

  void read_default(const std::string& name, const CsvColumn& column, CsvFieldPlan& field) {
    if (std::holds_alternative<std::monostate>(column.default_value)) return;
    auto bytes = columns::element_from(JsonCodec<Scalar>::write(column.default_value), column.dtype);
    if (bytes.ok()) {
      field.default_value = *std::move(bytes);
    } else {
      faults_.push_back(bytes.error().at(Field{"columns", name, "default"}));
    }
  }

  void place_columns() {
    if (options_.names && options_.select_cols) {
      complain("the columns are found by their names; leave it out", Field{"select_cols"});
    } else if (options_.names) {
      place_by_name(*options_.names);
    } else if (options_.select_cols) {
      place_by_number(*options_.select_cols);
    } else {
      plan_.fields = std::move(columns_);
    }
  }

  void place_by_number(const std::vector<std::int64_t>& numbers) {
    if (numbers.size() != columns_.size()) {
      complain(
          fmt::format("names one field for each column: {} columns, found {} fields", columns_.size(), numbers.size()),
          Field{"select_cols"});
      return;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= 0 && numbers[i] < static_cast<std::int64_t>(max_columns) &&
          (i == 0 || numbers[i] > numbers[i - 1]))
        continue;
      complain(fmt::format("the numbers rise and are 0 … {}, found {}", max_columns - 1, numbers[i]),
               Field{"select_cols", std::to_string(i)});
      return;
    }
    if (numbers.empty()) return;
    plan_.fields.resize(static_cast<std::size_t>(numbers.back()) + 1);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      plan_.fields[static_cast<std::size_t>(numbers[i])] = std::move(columns_[i]);
    plan_.whole = false;
  }

  void place_by_name(const std::vector<std::string>& names) {
    if (names.size() > max_columns)
      complain(fmt::format("has at most {} names, found {}", max_columns, names.size()), Field{"names"});
    std::unordered_map<std::string_view, std::size_t> places;
    std::unordered_map<std::string_view, std::size_t> again;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!places.emplace(names[i], i).second) again.emplace(names[i], i);
    }
    plan_.fields.resize(names.size());
    for (CsvFieldPlan& column : columns_) {
      const auto found = places.find(column.name);
      if (found == places.end()) {
        complain(
            fmt::format("the records have no field {}{}", quote(column.name), among(column.name, names, "they have")),
            Field{"columns", column.name});
      } else if (again.contains(column.name)) {
        complain(
            fmt::format("two fields have the name {}: 'names' of the source gives them others", quote(column.name)),
            Field{"columns", column.name});
      } else {
        plan_.fields[found->second] = std::move(column);
      }
    }
  }

  const CsvFields& options_;
  const std::vector<std::string>& wanted_;
  CsvPlan plan_;
  std::vector<CsvFieldPlan> columns_;
  Schema out_;
  std::vector<Error> faults_;
};

Result<Bound<Decoder>> bind_csv(const CsvFields& options, const std::vector<std::string>& wanted) {
  return CsvBinder{options, wanted}.run();
}

}  // namespace

DecoderType csv() {
  return describe<DecoderType, CsvFields>("csv", "Decodes comma-separated values, one scalar tensor for each column.",
                                          bind_csv)
      .required("columns", &CsvFields::columns,
                "The tensors by name, each with dtype, default and timestamp. Without names and select_cols, they are "
                "all fields of a record, in this order.")
      .field("field_delim", &CsvFields::field_delim,
             "One character between fields; comma when left out. Given by the source `csv`.")
      .field("use_quote_delim", &CsvFields::use_quote_delim,
             "Fields may be in quotes; true when left out. Given by the source `csv`.")
      .field("na_value", &CsvFields::na_value, "A field of this text is an empty one. Given by the source `csv`.")
      .field("select_cols", &CsvFields::select_cols,
             "Numbers of the fields of the columns, from 0, rising. Fields after the last one are not looked at. Given "
             "by the source `csv`.",
             {.min = 0})
      .field("names", &CsvFields::names,
             "Names of all fields of a record; the columns are found by them. Given by the source `csv`.")
      .field("max_field_bytes", &CsvFields::max_field_bytes,
             "A longer field is an error; 16 MiB when left out. Given by the source `csv`.", {.min = 1})
      .example(
          {.options = R"({"columns": {"x": {"dtype": "float32", "default": 1}, "n": {"dtype": "int64", "default": 0},
                               "s": {"dtype": "string", "default": "a"}}})",
           .in = R"([",1,", "0.25,3,\"b \"\"c\"\"\"", "3,,"])",
           .out = R"({"x": [1.0, 0.25, 3.0], "n": [1, 3, 0], "s": ["a", "b \"c\"", "a"]})"})
      .example({.options = R"({"columns": {"when": {"dtype": "int64", "timestamp": "s"}, "ok": {"dtype": "bool"}},
                               "field_delim": ";", "select_cols": [0, 2]})",
                .in = R"(["1970-01-02;x;true", "1970-01-01 00:01:00+00:00;;0;y"])",
                .out = R"({"when": [86400, 60], "ok": [true, false]})"});
}

}  // namespace decoders
}  // namespace forebay
