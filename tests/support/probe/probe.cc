// SPDX-License-Identifier: Apache-2.0
// Runs functions that Python does not expose. Reads one JSON object per line, and writes one per line.
#include <iostream>
#include <map>
#include <string>

#include <forebay/json.h>
#include <forebay/json_codec.h>

#include "columns/crc32c.h"
#include "config/document.h"
#include "plan/loader/manifest.h"
#include "steps/slice_text.h"
#include "tests/support/probe/windows.h"

namespace forebay {
namespace {

using Dictionary = std::vector<std::pair<std::string, Json>>;
using Reading = std::optional<Json> (*)(const Json&, std::vector<Error>&);

/// Reads the value by the rule of `T`, and gives it back as JSON.
template <class T>
std::optional<Json> reading(const Json& value, std::vector<Error>& faults) {
  const auto read = JsonCodec<T>::read(value, faults);
  if (!read) return std::nullopt;
  return JsonCodec<T>::write(*read);
}

/// There is no type for null alone: an optional value of any type accepts null.
std::optional<Json> reading_null(const Json& value, std::vector<Error>& faults) {
  if (value.is(Json::Kind::null)) return Json{};
  fault_type(value, "null", faults);
  return std::nullopt;
}

const std::map<std::string, Reading, std::less<>>& readings() {
  static const std::map<std::string, Reading, std::less<>> all{
      {"null", reading_null},
      {"boolean", reading<bool>},
      {"integer", reading<std::int64_t>},
      {"float", reading<double>},
      {"string", reading<std::string>},
      {"dictionary", reading<Dictionary>},
      {"list", reading<std::vector<Json>>},
      {"list of booleans", reading<std::vector<bool>>},
      {"list of integers", reading<std::vector<std::int64_t>>},
      {"list of floats", reading<std::vector<double>>},
      {"list of strings", reading<std::vector<std::string>>},
      {"list of dictionaries", reading<std::vector<Dictionary>>},
      {"list of lists", reading<std::vector<std::vector<Json>>>},
  };
  return all;
}

Json one(std::string key, Json value) {
  Json out = Json::object();
  out.set(std::move(key), std::move(value));
  return out;
}

const std::string& text_of(const Json& question, std::string_view key) {
  static const std::string none;
  const Json* value = question.find(key);
  return value == nullptr ? none : value->string();
}

Json bound(const std::optional<std::int64_t>& value) { return value ? Json{*value} : Json{}; }

Json item_of(const steps::SliceItem& item) {
  if (item.index) return one("index", bound(item.index));
  Json out = one("start", bound(item.start));
  out.set("stop", bound(item.stop));
  out.set("step", bound(item.step));
  return out;
}

Result<Json> parse_slice(const Json& question) {
  FOREBAY_TRY(const std::vector<steps::SliceItem> parsed, steps::parse_slice(text_of(question, "slice")));
  std::vector<Json> items;
  for (const steps::SliceItem& item : parsed) items.push_back(item_of(item));
  return one("items", Json::array(std::move(items)));
}

Result<Json> type_rule(const Json& question) {
  const auto rule = readings().find(text_of(question, "type"));
  const Json* value = question.find("value");
  if (rule == readings().end() || value == nullptr) return Error{Code::internal, "unknown type"};
  std::vector<Error> faults;
  const auto read = rule->second(*value, faults);
  Json out = one("accepted", read.has_value());
  out.set("value", read.value_or(Json{}));
  return out;
}

Result<Json> read_config(const Json& question) {
  FOREBAY_TRY(Json document, read_document(text_of(question, "path")));
  return one("object", std::move(document));
}

Result<Json> read_manifest(const Json& question) {
  FOREBAY_TRY([[maybe_unused]] const auto manifest, plan::load_manifest(text_of(question, "path")));
  return one("accepted", true);
}

Result<Json> crc32c(const Json& question) {
  const std::string& hex = text_of(question, "hex");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  const std::uint32_t crc = columns::crc32c(bytes);
  Json out = one("crc32c", static_cast<std::int64_t>(crc));
  out.set("masked", static_cast<std::int64_t>(columns::mask(crc)));
  return out;
}

Result<Json> answer(const std::string& line) {
  FOREBAY_TRY(const Json question, parse_json(line));
  const std::string& op = text_of(question, "op");
  if (op == "parse_slice") return parse_slice(question);
  if (op == "type_rule") return type_rule(question);
  if (op == "read_config") return read_config(question);
  if (op == "read_manifest") return read_manifest(question);
  if (op == "crc32c") return crc32c(question);
  if (op == "parse_chunking") return parse_chunking_answer(question);
  if (op == "cut_windows") return cut_windows_answer(question);
  return Error{Code::internal, "unknown op " + op};
}

}  // namespace
}  // namespace forebay

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto answer = forebay::answer(line);
    const forebay::Json out = answer.ok() ? *answer : forebay::one("error", answer.error().text());
    std::cout << out.text() << std::endl;  // NOLINT: flushed, because the other process waits for the line
  }
}
