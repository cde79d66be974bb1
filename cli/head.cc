// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include <fmt/core.h>
#include <forebay/inspect.h>
#include <forebay/messages.h>
#include <forebay/printable.h>
#include <forebay/records.h>

#include "arguments.h"
#include "cells.h"
#include "interrupt.h"
#include "pump.h"
#include "python_package.h"
#include "report.h"
#include "run_flags.h"
#include "source_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Head {
  RunFlags flags;
  SourceFlags source;
  std::int64_t rows = 3;
  bool json = false;

  [[nodiscard]] std::int64_t max_elements() const { return json ? std::numeric_limits<std::int64_t>::max() : 12; }
};

struct Column {
  std::string name, type;
  Json value;
};
struct Row {
  std::string origin;
  std::vector<Column> columns;
};

/// Strings as long as a line shows them.
void shorten(Json& value) {
  constexpr std::size_t longest = 400;
  for (Json& item : value.items()) shorten(item);
  for (auto& member : value.members()) shorten(member.second);
  if (!value.is(Json::Kind::string) || value.string().size() <= longest) return;
  std::size_t cut = longest;
  while (cut > 0 && (static_cast<unsigned char>(value.string()[cut]) & 0xc0) == 0x80) --cut;
  value = Json{value.string().substr(0, cut) + "…"};
}

void show(const Row& row) {
  std::size_t name_width = 0, type_width = 0;
  for (const Column& column : row.columns) {
    name_width = std::max(name_width, printable(column.name).size());
    type_width = std::max(type_width, column.type.size());
  }
  print_line(printable(row.origin, 400));
  constexpr std::size_t most = 200;
  for (const Column& column : std::span{row.columns}.first(std::min(row.columns.size(), most))) {
    Json value = column.value;
    shorten(value);
    std::string text = visible_json(value.text());
    constexpr std::size_t longest = 400;
    if (text.size() > longest) {
      std::size_t cut = longest;
      while ((static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
      text = text.substr(0, cut) + "…";
    }
    print_line(fmt::format("  {:<{}}  {:<{}}  {}", printable(column.name), name_width, column.type, type_width, text));
  }
  if (row.columns.size() > most)
    print_line(fmt::format("  … and {} more; --json shows all", row.columns.size() - most));
}

Json to_json(const std::vector<Row>& rows) {
  std::vector<Json> items;
  for (const Row& row : rows) {
    Json values = Json::object();
    for (const Column& column : row.columns) values.set(column.name, column.value);
    Json item = Json::object();
    item.set("origin", row.origin);
    item.set("values", std::move(values));
    items.push_back(std::move(item));
  }
  return Json::array(std::move(items));
}

std::vector<Row> rows_of(const Batch& batch, const Head& asked) {
  std::vector<Row> out;
  for (std::int64_t i = 0; i < batch.rows() && std::ssize(out) < asked.rows; ++i) {
    if (batch.origins(i).empty()) continue;  // an empty row
    Row row{.origin = batch.key(i), .columns = {}};
    for (const std::string& name : batch.names()) {
      const Value& value = *batch.find(name);
      row.columns.push_back({name, type_text(value), row_json(value, i, asked.max_elements())});
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json feature_json(const FeatureValue& value, std::size_t most) {
  std::vector<Json> items;
  const auto take = [&](const auto& list, const auto& convert) {
    for (std::size_t i = 0; i < std::min(list.size(), most); ++i) items.push_back(convert(list[i]));
    if (list.size() > most) items.emplace_back("…");
  };
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    take(*integers, [](std::int64_t x) { return Json{x}; });
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    take(*floats, [](float x) {
      Tensor one{.dtype = DType::float32, .shape = {}, .data = reinterpret_cast<std::byte*>(&x), .owner = nullptr};
      return element_json(one, 0);
    });
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    take(*strings, [](const std::string& x) { return Json{x}; });
  }
  return Json::array(std::move(items));
}

std::string feature_type(const FeatureValue& value) {
  constexpr std::string_view kinds[] = {"int64", "float32", "string"};
  if (std::holds_alternative<std::monostate>(value)) return "none";
  const std::size_t size = value.index() == 0   ? std::get<0>(value).size()
                           : value.index() == 1 ? std::get<1>(value).size()
                                                : std::get<2>(value).size();
  return fmt::format("{}[{}]", kinds[value.index()], size);
}

/// The features of a list, one for each step.
Column list_column(const std::string& name, const std::vector<FeatureValue>& steps, std::size_t most) {
  std::vector<Json> items;
  for (const FeatureValue& step : steps) {
    if (items.size() == most) {
      items.emplace_back("…");
      break;
    }
    items.push_back(feature_json(step, most));
  }
  const std::string type = steps.empty() ? "none" : feature_type(steps.front());
  return {name, fmt::format("{} steps of {}", steps.size(), type), Json::array(std::move(items))};
}

/// A record that is an Example or a SequenceExample shows its features, any other its bytes.
Row record_row(const std::string& file, const RecordView& record, const Head& asked) {
  const std::string_view bytes = record.bytes;
  Row row{.origin = fmt::format("{}:{}", file, record.offset), .columns = {}};
  const auto most = static_cast<std::size_t>(asked.max_elements());
  const auto sequence = decode_sequence_example(bytes);
  if (!sequence.ok() || (sequence->context.empty() && sequence->lists.empty())) {
    row.columns.push_back({"record", fmt::format("{} bytes", bytes.size()), Json{quote(bytes)}});
    return row;
  }
  const std::string suffix = has_feature_lists(bytes) ? " (context)" : "";
  for (const auto& [name, value] : sequence->context)
    row.columns.push_back({name, feature_type(value) + suffix, feature_json(value, most)});
  for (const auto& [name, steps] : sequence->lists) row.columns.push_back(list_column(name, steps, most));
  return row;
}

void print_rows(const std::vector<Row>& rows, const Head& asked) {
  if (asked.json) return print_line(visible_json(to_json(rows).pretty()));
  for (const Row& row : rows) show(row);
  if (rows.empty()) print_line("no rows");
}

Result<void> head_of_records(const std::vector<std::string>& files, const Head& asked, std::vector<Row>& rows) {
  for (const std::string& file : files) {
    const auto show_record = [&](const RecordView& record) {
      rows.push_back(record_row(file, record, asked));
      return static_cast<std::int64_t>(rows.size()) < asked.rows;
    };
    FOREBAY_DO(each_record(file, show_record, {.go_on = [] { return !interrupted(); }}));
    if (static_cast<std::int64_t>(rows.size()) >= asked.rows) break;
  }
  return {};
}

Result<void> head_of_run(Loader loader, const Head& asked, std::vector<Row>& rows) {
  Progress progress{Progress::Wanted::no};
  const auto done = pump(loader, {.batches = 1}, progress, [&](const Batch& batch) {
    asked.flags.announce(loader, &batch);
    rows = rows_of(batch, asked);
  });
  loader.close();
  return done.ok() ? Result<void>{} : done.error();
}

Result<void> head_of_files(const Head& asked, std::vector<Row>& rows) {
  constexpr std::int64_t records_to_see_the_form = 100;
  const SourceFlags& source = asked.source;
  FOREBAY_TRY(const FoundSource found, find_source(source.paths, source.source));
  if (found.name == "tfrecord" && source.source_options.empty()) return head_of_records(found.files, asked, rows);
  if (found.name == "parquet" || found.name == "arrow_file") {
    std::vector<std::string> arguments{"head", "--rows=" + std::to_string(asked.rows)};
    if (asked.json) arguments.emplace_back("--json");
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), source.paths.begin(), source.paths.end());
    return run_python("forebay._inspect.command", arguments, "head: Parquet and Arrow files are read by Python");
  }
  FOREBAY_TRY(InspectOptions options, source.options());
  options.records = std::max(asked.rows, records_to_see_the_form);
  FOREBAY_TRY(const Json document, document_for(source.paths, asked.rows, options));
  FOREBAY_TRY(Plan plan, Plan::make(document, ""));
  FOREBAY_TRY(Loader loader, Loader::start(std::move(plan), {.threads = asked.flags.threads}));
  return head_of_run(std::move(loader), asked, rows);
}

Result<void> head_of_document(const Head& asked, std::vector<Row>& rows) {
  FOREBAY_TRY(Loader loader, asked.flags.start());
  return head_of_run(std::move(loader), asked, rows);
}

Result<void> head(const Head& given) {
  Head asked = given;
  asked.source.paths = {asked.flags.document};
  FOREBAY_TRY(const bool document, asked.source.names_document());
  std::vector<Row> rows;  // those before a fault are shown, too
  const auto done = document ? head_of_document(asked, rows) : head_of_files(asked, rows);
  if (done.ok() || (!asked.json && !rows.empty())) print_rows(rows, asked);
  return done;
}

}  // namespace

void add_head(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Head>();
  CLI::App* verb =
      app.add_subcommand("head", "Shows the first rows of a document's first batch, or of files of any kind");
  asked->flags.add_to(*verb);
  verb->get_option("DOC")->description(
      "Loader or pipeline document (JSON; -: standard input), or a file, folder or pattern");
  asked->source.add_options_to(*verb);
  verb->add_option("-n,--rows", asked->rows, "Rows to show")->capture_default_str()->check(whole_number(1, 1'000'000));
  set_command(verb, asked, head, command, "Print JSON, every element");
}

}  // namespace forebay::cli
