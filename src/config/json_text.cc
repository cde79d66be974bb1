// SPDX-License-Identifier: Apache-2.0
#include "config/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>
#include <forebay/json.h>

#include "config/byte_escapes.h"
#include "config/utf8.h"

namespace forebay {

namespace config {

void append_json(std::string_view text, std::string& out) {
  const auto plain = [](char letter) { return letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\'; };
  out += '"';
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), plain);
    out.append(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = config::utf8_length(text);
    if (byte == '"' || byte == '\\') {
      out += '\\', out += text.front();
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else if (length == 0) {
      config::append_escape(byte, out);  // a byte that is not text
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string_view name_of(double not_finite) { return std::isnan(not_finite) ? "nan" : not_finite > 0 ? "inf" : "-inf"; }

}  // namespace config

namespace {

void write_number(double value, std::string& out) {
  if (!std::isfinite(value)) {  // JSON has no number for them, so they are text
    config::append_json(config::name_of(value), out);
    return;
  }
  const std::string digits = fmt::format("{}", value);
  out += digits;
  if (digits.find_first_of(".e") == std::string::npos) out += ".0";  // so that it is read as a float again
}

bool is_scalar(const Json& json) { return !json.is(Json::Kind::array) && !json.is(Json::Kind::object); }

class Printer {
 public:
  explicit Printer(bool pretty) : pretty_{pretty} {}

  void print(const Json& json, std::size_t depth) {
    switch (json.kind()) {
      case Json::Kind::null:
        out_ += "null";
        break;
      case Json::Kind::boolean:
        out_ += json.boolean() ? "true" : "false";
        break;
      case Json::Kind::integer:
        fmt::format_to(std::back_inserter(out_), "{}", json.integer());
        break;
      case Json::Kind::number:
        write_number(json.number(), out_);
        break;
      case Json::Kind::string:
        config::append_json(json.string(), out_);
        break;
      case Json::Kind::array:
        print_array(json, depth);
        break;
      case Json::Kind::object:
        print_object(json, depth);
        break;
    }
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void print_array(const Json& json, std::size_t depth) {
    const bool spread = pretty_ && !std::ranges::all_of(json.items(), is_scalar);  // [1, 2, 3] stays on one line
    out_ += '[';
    for (std::size_t i = 0; i < json.items().size(); ++i) {
      if (i != 0) out_ += pretty_ && !spread ? ", " : ",";
      if (spread) new_line(depth + 1);
      print(json.items()[i], depth + 1);
    }
    if (spread) new_line(depth);
    out_ += ']';
  }
  void print_object(const Json& json, std::size_t depth) {
    out_ += '{';
    for (std::size_t i = 0; i < json.members().size(); ++i) {
      if (i != 0) out_ += ',';
      if (pretty_) new_line(depth + 1);
      config::append_json(json.members()[i].first, out_);
      out_ += pretty_ ? ": " : ":";
      print(json.members()[i].second, depth + 1);
    }
    if (pretty_ && !json.members().empty()) new_line(depth);
    out_ += '}';
  }
  void new_line(std::size_t depth) {
    out_ += '\n';
    out_.append(2 * depth, ' ');
  }

  const bool pretty_;
  std::string out_;
};

std::string print(const Json& json, bool pretty) {
  Printer printer{pretty};
  printer.print(json, 0);
  return printer.take();
}

}  // namespace

std::string Json::text() const { return print(*this, false); }

std::string Json::pretty() const { return print(*this, true); }

}  // namespace forebay
