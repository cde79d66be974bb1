// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/join_table.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "base/csv_record.h"
#include "columns/scalar.h"
#include "steps/output.h"
#include "steps/rules.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

constexpr std::size_t max_names = 100'000;

std::string_view without_dot_slash(std::string_view key) { return key.substr(key.starts_with("./") ? 2 : 0); }

std::string_view stem_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  const std::size_t dot = path.rfind('.');
  return dot == 0 ? path : path.substr(0, dot);
}

/// The decoder of a table whose header has `names`.
Result<Bound<Decoder>> bind_table(const JoinTable& options, const std::vector<std::string>& names) {
  auto columns = options.columns;
  const auto is_key = [&](const auto& column) { return column.first == options.key; };
  if (std::ranges::none_of(columns, is_key)) columns.emplace_back(options.key, CsvColumn{.dtype = DType::string});
  Json decoder = Json::object();
  decoder.set("columns", JsonCodec<decltype(columns)>::write(columns));
  decoder.set("names", JsonCodec<std::vector<std::string>>::write(names));
  decoder.set("field_delim", Json{options.field_delim});
  return bind_decoder({.name = "csv", .options = std::move(decoder)});
}

/// The rows of a table by their keys. The step shares it with the planner, which fills it before the step runs.
class Table {
 public:
  explicit Table(JoinTable options) : options_{std::move(options)} {}

  /// Reads the file. Fails with Code::config or Code::data, at the line.
  Result<void> read(std::string_view content, const std::string& path) {
    text_.assign(content.substr(content.starts_with("\xef\xbb\xbf") ? 3 : 0));
    size_ = text_.size();
    text_.append(Storage::slack, '\0');  // the decoder may read on after a record
    FOREBAY_DO(find_records(path));
    if (records_.empty()) return Error{Code::config, Detail::invalid_argument, quote(path) + " has no header row"};
    std::vector<std::string> names;
    split_fields(text_of(records_.front()), rules(), max_names, names);
    records_.erase(records_.begin());
    lines_.erase(lines_.begin());
    FOREBAY_DO(check_header(names, path));
    FOREBAY_TRY(const Bound<Decoder> decoder, bind_table(options_, names));
    FOREBAY_DO(decode(decoder, path));
    return add_keys(decoder.out, path);
  }

  /// The row of that key, or of a part of it (MatchKey).
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view key) const {
    key = without_dot_slash(key);
    if (options_.match == MatchKey::stem) return find_exact(stem_of(key));
    while (true) {
      const auto found = find_exact(key);
      const std::size_t slash = key.find('/');
      if (found || options_.match == MatchKey::exact || slash == std::string_view::npos) return found;
      key.remove_prefix(slash + 1);
    }
  }
  /// Column i of the options.
  [[nodiscard]] const Column& column(std::size_t i) const { return block_.columns[i]; }

 private:
  [[nodiscard]] CsvRules rules() const { return {.delimiter = options_.field_delim.front()}; }
  static std::string_view text_of(Record record) {
    return {reinterpret_cast<const char*>(record.data()), record.size()};
  }

  Error fault(std::string message, const std::string& path, std::int64_t line) const {
    return {Code::config, Detail::invalid_argument, std::move(message),
            Place{.file = path, .line = static_cast<std::int32_t>(line), .column = 1}};
  }

  /// Empty lines are left out.
  Result<void> find_records(const std::string& path) {
    const auto all = std::as_bytes(std::span{text_}.first(size_));
    std::int64_t line = 1;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const RecordEnd end = end_of_record(all.subspan(at), rules());
      Record record = all.subspan(at, end.at);
      if (end.quote) return fault("the file ends in a quoted field of this line", path, line);
      if (text_of(record).ends_with('\r')) record = record.first(record.size() - 1);
      if (!record.empty()) {
        records_.push_back(record);
        lines_.push_back(line);
      }
      line += std::ranges::count(text_of(record), '\n') + 1;
      at += end.at;
    }
    return {};
  }

  Result<void> check_header(const std::vector<std::string>& names, const std::string& path) const {
    const auto check = [&](const std::string& name, const Field& option) -> Result<void> {
      const auto times = std::ranges::count(names, name);
      if (times == 1) return {};
      const std::string place = fmt::format("the header row of {}", quote(path));
      return refusal(times > 1 ? fmt::format("{} has {} twice", place, quote(name))
                               : fmt::format("{} has no column {}{}", place, quote(name), among(name, names, "it has")))
          .at(option);
    };
    FOREBAY_DO(check(options_.key, Field{"key"}));
    for (const auto& [name, column] : options_.columns) FOREBAY_DO(check(name, Field{"columns", name}));
    return {};
  }

  Result<void> decode(const Bound<Decoder>& decoder, const std::string& path) {
    block_.rows = std::ssize(records_);
    for (std::size_t id = 0; id < decoder.out.size(); ++id) {
      Column& column = block_.columns.emplace_back(decoder.out[static_cast<ColumnId>(id)]);
      column.clear();
      if (column.dtype != DType::string) column.set_rows(block_.rows);  // the decoder appends strings
    }
    const auto memory = decoder.op->memory();
    const auto done = decoder.op->decode(records_, 0, block_, *memory);
    if (done.ok()) return {};
    const Place& place = done.error().place();
    const std::string column = place.feature.empty() ? "" : fmt::format("column {}: ", quote(place.feature));
    return fault(column + done.error().message(), path,
                 lines_[static_cast<std::size_t>(std::max<std::int64_t>(place.row, 0))]);
  }

  Result<void> add_keys(const Schema& schema, const std::string& path) {
    FOREBAY_TRY(const ColumnId key, schema.find(options_.key));
    const Column& keys = block_[key];
    for (std::int64_t row = 0; row < block_.rows; ++row) {
      const auto [at, added] = rows_.emplace(without_dot_slash(text_at(keys, row)), row);
      if (added) continue;
      return fault(fmt::format("the key {} stands in line {}, too; every key has one line", quote(at->first),
                               lines_[static_cast<std::size_t>(at->second)]),
                   path, lines_[static_cast<std::size_t>(row)]);
    }
    return {};
  }

  [[nodiscard]] std::optional<std::int64_t> find_exact(std::string_view key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::nullopt : std::optional{found->second};
  }

  const JoinTable options_;
  std::string text_;
  std::size_t size_ = 0;  // of the content in it
  std::vector<Record> records_;
  std::vector<std::int64_t> lines_;  // where the records begin, from 1
  ColumnBlock block_;
  std::unordered_map<std::string_view, std::int64_t> rows_;  // by key, in block_
};

/// Copies values of the table's rows. The plan owns the step. It is immutable once the table is read: any number of
/// workers call it at once.
class TableJoin final : public Step {
 public:
  TableJoin(JoinTable options, ColumnId from, std::vector<ColumnId> to, std::shared_ptr<const Table> table)
      : options_{std::move(options)}, from_{from}, to_{std::move(to)}, table_{std::move(table)} {
    for (const auto& [name, column] : options_.columns) {
      auto bytes = columns::element_from(JsonCodec<Scalar>::write(column.default_value), column.dtype);
      defaults_.push_back(bytes.ok() ? *std::move(bytes) : std::vector<std::byte>{});
    }
  }

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const std::int64_t rows = block[from_].rows;
    for (const ColumnId to : to_)
      FOREBAY_DO(begin_output(block[to], block[to].shape, rows).at(Place{.feature = options_.tensor}));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::string_view key = text_at(block[from_], row);
      const auto found = table_->find(key);
      for (std::size_t i = 0; i < to_.size(); ++i) put(block[to_[i]], row, i, found);
      if (found || options_.missing == MissingKey::defaults) continue;
      const Error fault = data_fault(options_.tensor, row, missing(key));
      if (context.faults == nullptr) return fault;
      context.faults->add(row, fault);
    }
    return {};
  }

 private:
  void put(Column& out, std::int64_t row, std::size_t i, std::optional<std::int64_t> found) const {
    const Column& in = table_->column(i);
    if (out.dtype == DType::string) return out.push_string(found ? in.string(*found) : std::span{defaults_[i]});
    const std::size_t size = out.row_bytes();
    const std::byte* const from =
        found ? in.values.data() + static_cast<std::size_t>(*found) * size : defaults_[i].data();
    std::memcpy(out.values.data() + static_cast<std::size_t>(row) * size, from, size);
  }

  [[nodiscard]] std::string missing(std::string_view key) const {
    return fmt::format("{} has no line with the key {}{}", options_.file ? quote(*options_.file) : "the table",
                       quote(key),
                       options_.match == MatchKey::exact && key.find('/') != std::string_view::npos
                           ? "; match=\"path\" compares ends of paths, match=\"stem\" names without folder and ending"
                           : "");
  }

  const JoinTable options_;
  const ColumnId from_;
  const std::vector<ColumnId> to_;
  const std::shared_ptr<const Table> table_;
  std::vector<std::vector<std::byte>> defaults_;
};

Result<void> check_table(const JoinTable& options) {
  if (options.file.has_value() == options.text.has_value())
    return refusal("give either a file or the text of the table").at(Field{"file"});
  if (options.field_delim.size() != 1)
    return refusal(fmt::format("has 1 character, found {}", quote(options.field_delim))).at(Field{"field_delim"});
  if (options.columns.empty()) return refusal("names no column of the table").at(Field{"columns"});
  std::vector<std::string> names{options.key};
  for (const auto& [name, column] : options.columns) {
    if (name == options.key)
      return refusal("is the column of keys, which the rows have already").at(Field{"columns", name});
    if (options.missing == MissingKey::defaults && std::holds_alternative<std::monostate>(column.default_value)) {
      return refusal("has no default; with missing=\"default\" every column has one")
          .at(Field{"columns", name, "default"});
    }
    names.push_back(name);
  }
  const auto bound = bind_table(options, names);
  if (!bound.ok()) return bound.error();
  return {};
}

Result<Bound<Step>> bind_join(const JoinTable& options, const Schema& in) {
  FOREBAY_DO(check_table(options));
  Schema out = in;
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  if (in[from].dtype != DType::string || in[from].shape.rank() != 0) {
    return refusal(fmt::format("keys are one string a row; {} is {}{}", quote(options.tensor),
                               to_string(in[from].dtype), in[from].shape.text()))
        .at(Field{"tensor"});
  }
  std::vector<ColumnId> to;
  for (const auto& [name, column] : options.columns) {
    FOREBAY_DO(check_new_name(name, out).at(Field{"columns", name}));
    to.push_back(out.put({.name = name, .dtype = column.dtype, .shape = {}}));
  }
  const auto table = std::make_shared<Table>(options);
  Bound<Step> bound{
      .op = std::make_unique<TableJoin>(options, from, std::move(to), table), .out = std::move(out), .reads = {from}};
  if (options.text) FOREBAY_DO(table->read(*options.text, "the table").at(Field{"text"}));
  const auto read = [table](std::string_view content, const std::string& path) { return table->read(content, path); };
  if (options.file) bound.files.push_back({.path = *options.file, .option = {"file"}, .read = read});
  return bound;
}

}  // namespace

StepType join_table() {
  return describe<StepType, JoinTable>(
             "join_table",
             "Adds columns of a table, a CSV file with a header row: those of the line with the row's key.", bind_join)
      .required("tensor", &JoinTable::tensor, "The keys, one string a row; of files: record_key of the source.")
      .field("file", &JoinTable::file, "The table: CSV with a header row, at most 64 MiB.")
      .field("text", &JoinTable::text, "The text of the table, instead of a file.")
      .required("key", &JoinTable::key, "The column of keys in the table.")
      .required("columns", &JoinTable::columns,
                "The new tensors by their names in the header, each with dtype, default and timestamp.")
      .field(
          "match", &JoinTable::match,
          "exact; path: the string, or what follows one of its slashes, is the key; stem: its name without folders and "
          "ending is.")
      .field("missing", &JoinTable::missing, "What a row gets whose key is not in the table: error or default.")
      .field("field_delim", &JoinTable::field_delim, "One character between fields.")
      .example({.options = R"({"tensor": "path", "text": "file,label\ncat/1.png,0\ndog/1.png,1\n", "key": "file",
                               "columns": {"label": {"dtype": "int64"}}, "match": "path"})",
                .in = R"({"path": ["data/dog/1.png", "cat/1.png"]})",
                .out = R"({"path": ["data/dog/1.png", "cat/1.png"], "label": [1, 0]})"});
}

}  // namespace forebay::steps
