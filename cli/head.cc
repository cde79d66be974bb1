// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include <fmt/core.h>

#include "arguments.h"
#include "cells.h"
#include "config/utf8.h"
#include "io/file.h"
#include "pump.h"
#include "report.h"
#include "run_flags.h"
#include "sources/detect.h"
#include "tools/infer.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Head {
  RunFlags flags;
  std::int64_t rows = 3;
  bool json = false;

  [[nodiscard]] std::int64_t max_elements() const { return json ? std::numeric_limits<std::int64_t>::max() : 12; }
};

/// A document is text; a TFRecord file begins with a length, whose high bytes are zero.
Result<bool> is_record_file(const std::string& path) {
  FOREBAY_TRY(const io::File file, io::File::open(path));
  std::array<std::byte, 16> bytes{};
  FOREBAY_TRY(const std::size_t size, file.read(bytes, 0));
  const std::span<const std::byte> head = std::span{bytes}.first(size);
  if (head.empty()) return true;  // a file without records is one; no document is empty
  return std::ranges::find(head, std::byte{0}) != head.end() || sources::detect_tfrecord(head) != Compression::none;
}

struct Column {
  std::string name, type;
  Json value;
};
struct Row {
  std::string origin;
  std::vector<Column> columns;
};

void show(const Row& row) {
  std::size_t name_width = 0, type_width = 0;
  for (const Column& column : row.columns) {
    name_width = std::max(name_width, column.name.size());
    type_width = std::max(type_width, column.type.size());
  }
  print_line(row.origin);
  for (const Column& column : row.columns) {
    constexpr std::size_t longest = 400;
    std::string text = column.value.text();
    if (text.size() > longest) {
      std::size_t cut = longest;
      while ((static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
      text = text.substr(0, cut) + "…";
    }
    print_line(fmt::format("  {:<{}}  {:<{}}  {}", column.name, name_width, column.type, type_width, text));
  }
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
  for (std::int64_t i = 0; i < std::min(asked.rows, batch.valid_rows()); ++i) {
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

/// A record that is an Example shows its features, any other its bytes.
Row record_row(const Batch& batch, std::int64_t i, const Head& asked) {
  const std::string_view bytes = batch.tensor("record").string(i);
  Row row{.origin = batch.key(i), .columns = {}};
  const auto example = decode_example(bytes);
  if (!example.ok() || example->empty()) {
    row.columns.push_back({"record", fmt::format("{} bytes", bytes.size()), Json{config::quoted(bytes)}});
    return row;
  }
  const std::string suffix = plan::has_feature_lists(bytes) ? " (context)" : "";
  for (const auto& [name, value] : *example) {
    row.columns.push_back(
        {name, feature_type(value) + suffix, feature_json(value, static_cast<std::size_t>(asked.max_elements()))});
  }
  return row;
}

void print_rows(const std::vector<Row>& rows, const Head& asked) {
  if (asked.json) return print_line(to_json(rows).pretty());
  for (const Row& row : rows) show(row);
  if (rows.empty()) print_line("no rows");
}

Result<Loader> open_head(const Head& asked, bool records) {
  constexpr std::int64_t max_single = 1000;  // one by one, so that those before a fault are seen
  if (records) return plan::open_records(asked.flags.document, asked.rows, asked.rows <= max_single ? 1 : 100);
  return asked.flags.start();
}

Result<void> head(const Head& asked) {
  FOREBAY_TRY(const bool records, is_record_file(asked.flags.document));
  FOREBAY_TRY(Loader pipeline, open_head(asked, records));
  std::vector<Row> rows;
  Progress progress{Progress::Wanted::no};
  PumpLimits limits;
  if (!records) limits.batches = 1;
  const auto done = pump(pipeline, limits, progress, [&](const Batch& batch) {
    asked.flags.announce(pipeline, &batch);
    if (!records) rows = rows_of(batch, asked);
    for (std::int64_t i = 0; records && i < batch.valid_rows(); ++i) rows.push_back(record_row(batch, i, asked));
  });
  pipeline.close();
  if (done.ok()) return print_rows(rows, asked), Result<void>{};
  if (!asked.json && !rows.empty()) print_rows(rows, asked);
  return done.error();
}

}  // namespace

void add_head(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Head>();
  CLI::App* verb =
      app.add_subcommand("head", "Shows the first rows of a document's first batch, or of a TFRecord file");
  asked->flags.add_to(*verb);
  verb->get_option("DOC")->description("Loader or pipeline document (JSON), or a TFRecord file");
  verb->add_option("-n,--rows", asked->rows, "Rows to show")->capture_default_str()->check(whole_number(1, 1'000'000));
  set_command(verb, asked, head, command, "Print JSON, every element");
}

}  // namespace forebay::cli
