// SPDX-License-Identifier: Apache-2.0
#include "decoders/json/json_message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_set>

#include <fmt/core.h>
#include <forebay/messages.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "columns/wire_writer.h"
#include "decoders/json/json_place.h"
#include "decoders/json/json_values.h"

namespace forebay::decoders {
namespace {

/// The part of the message that the parser is in. Each one but the first and the last is an object.
///
///     start ─► example ─features─► features ─feature─► map ─any key─► feature ─bytesList…─► list ─value─► values
///       └───────────────────────────────── end of the object ────────────────────────────────────────► (back)
enum class At : std::uint8_t { start, example, features, map, feature, list, values, done };

constexpr std::array<std::array<std::string_view, 2>, 3> kinds{
    {{"bytesList", "bytes_list"}, {"floatList", "float_list"}, {"int64List", "int64_list"}}};  // fields 1, 2, 3

/// Takes the events of the parser and writes the message. A call that returns false stops the parser and leaves the
/// reason in `fault`.
class MessageWriter {
 public:
  explicit MessageWriter(std::string& out) : out_{out} {}
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }
  [[nodiscard]] const std::string& feature() const { return key_; }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view name{text, size};
    switch (at_) {
      case At::example:
        return name == "features" ? once(name) : unknown(name, "features");
      case At::features:
        return name == "feature" ? once(name) : unknown(name, "feature");
      case At::map:
        key_ = name;
        return keys_.insert(key_).second || refuse("the feature is there twice");
      case At::feature:
        return kind(name);
      case At::list:
        return name == "value" ? once(name) : unknown(name, "value");
      default:
        return false;
    }
  }
  bool StartObject() {
    if (at_ == At::list || at_ == At::values || at_ == At::done) return wrong("an object");
    if (at_ == At::feature) values_.clear();
    at_ = static_cast<At>(static_cast<int>(at_) + 1);
    seen_ = false;
    if (at_ == At::feature) feature_.clear(), field_ = 0;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    switch (at_) {
      case At::example:
        at_ = At::done;
        return true;
      case At::features:
        columns::put_bytes(out_, 1, features_);
        break;
      case At::feature:
        end_feature();
        break;
      case At::list:
        end_list();
        break;
      default:
        break;
    }
    at_ = static_cast<At>(static_cast<int>(at_) - 1);
    seen_ = at_ != At::map;  // the one name of the outer object
    return true;
  }
  bool StartArray() {
    if (at_ != At::list) return wrong("a list");
    at_ = At::values;
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    at_ = At::list;
    return true;
  }
  bool Null() {  // a member that is null is not there
    if (at_ == At::start || at_ == At::map || at_ == At::values) return wrong("null");
    if (at_ == At::feature) field_ = 0;
    return true;
  }
  bool Bool(bool) { return wrong("a boolean"); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return scalar({text, size}, false); }
  bool String(const char* text, rapidjson::SizeType size, bool) { return scalar({text, size}, true); }
  // The parser delivers numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  bool refuse(std::string message) {
    fault_ = std::move(message);
    return false;
  }
  bool once(std::string_view name) {
    if (seen_) return refuse(fmt::format("'{}' is there twice", name));
    return seen_ = true;
  }
  bool unknown(std::string_view name, std::string_view known) {
    return refuse(fmt::format("unknown name {}; only '{}' can stand here", quote(name), known));
  }
  bool wrong(std::string_view found) {
    constexpr std::array<std::string_view, 8> wanted{"an object with 'features'",
                                                     "an object with 'feature'",
                                                     "an object of features",
                                                     "a feature, {\"int64List\": …}",
                                                     "a list, {\"value\": […]}",
                                                     "a list of values",
                                                     "a value",
                                                     "nothing more"};
    return refuse(fmt::format("found {}, expected {}", found, wanted[static_cast<std::size_t>(at_)]));
  }
  bool kind(std::string_view name) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (name != kinds[i][0] && name != kinds[i][1]) continue;
      if (field_ != 0) return refuse("a feature has one list, and this is its second");
      field_ = static_cast<int>(i) + 1;
      return true;
    }
    return refuse(fmt::format("unknown name {}; a feature has 'bytesList', 'floatList' or 'int64List'", quote(name)));
  }
  void end_list() {
    std::string packed;
    if (field_ != 1 && !values_.empty()) columns::put_bytes(packed, 1, values_);
    columns::put_bytes(feature_, field_, field_ == 1 ? values_ : packed);
  }
  void end_feature() {
    std::string entry;
    columns::put_bytes(entry, 1, key_);
    columns::put_bytes(entry, 2, feature_);
    columns::put_bytes(features_, 1, entry);
    key_.clear();
  }
  bool scalar(std::string_view text, bool quoted) {
    if (at_ != At::values) return wrong(quoted ? "a string" : "a number");
    if (field_ == 1) {
      std::string bytes;
      if (!quoted) return refuse("found a number in a bytesList, whose values are base64 text");
      if (!append_base64(text, bytes)) return refuse(fmt::format("{} is no base64", quote(text)));
      columns::put_bytes(values_, 1, bytes);
    } else if (field_ == 2) {
      const auto number = json_float(text, quoted);
      if (!number) return refuse(fmt::format("{} is no float32", quote(text)));
      const std::size_t size = values_.size();
      values_.resize(size + sizeof(float));
      std::memcpy(values_.data() + size, &*number, sizeof(float));
    } else {
      const auto number = json_integer(text);
      if (!number) return refuse(fmt::format("{} is no int64", quote(text)));
      columns::put_varint(values_, static_cast<std::uint64_t>(*number));
    }
    return true;
  }

  std::string& out_;
  At at_ = At::start;
  bool seen_ = false;  // the only name of this object was there
  int field_ = 0;      // of the feature: the field of its list; 0: none yet
  std::string key_, values_, feature_, features_;
  std::unordered_set<std::string> keys_;
  std::optional<std::string> fault_;
};

}  // namespace

Result<void> append_example(std::string_view json, std::string& out) {
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream stream{json.data(), json.size()};
  MessageWriter writer{out};
  rapidjson::Reader reader;
  const rapidjson::ParseResult parsed = reader.Parse<flags>(stream, writer);
  if (!parsed.IsError()) return {};
  const bool syntax = parsed.Code() != rapidjson::kParseErrorTermination;
  const std::size_t offset = std::min(syntax ? parsed.Offset() : stream.Tell(), json.size());
  const Place place = place_of(json, offset);
  std::string what = writer.fault() ? *writer.fault() : std::string{rapidjson::GetParseError_En(parsed.Code())};
  if (json.empty()) what = "the text is empty; an Example without features is {}";
  return Error{Code::data, Detail::data_loss,
               fmt::format("JSON of a tf.train.Example, line {}, column {}: {}", place.line, place.column, what),
               Place{.feature = writer.feature()}};
}

}  // namespace forebay::decoders
