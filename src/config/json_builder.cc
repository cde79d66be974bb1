// SPDX-License-Identifier: Apache-2.0
#include "config/json_builder.h"

#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "config/utf8.h"

namespace forebay {

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

namespace config {

namespace {

constexpr std::size_t max_depth = 64;
// Each value stores its place, about a hundred bytes. This limit bounds the memory of a document of 64 MiB.
constexpr std::size_t max_values = 1'000'000;
constexpr std::size_t max_pointer =
    256;  // bounds memory too: a key of a megabyte is not repeated in every value below it

/// Whether a number that from_chars reports as out of range is too large (and not too small).
bool too_large(std::string_view digits) {
  const std::size_t mark = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, mark);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
  std::string_view exponent = digits.substr(std::min(mark + 1, digits.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (read.ec == std::errc::result_out_of_range) return !exponent.starts_with('-');
  return static_cast<double>(power) + static_cast<double>(dot) - static_cast<double>(first) > 0;
}

std::optional<Json> read_number(std::string_view digits) {
  const char* end = digits.data() + digits.size();
  if (digits.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t integer = 0;
    if (std::from_chars(digits.data(), end, integer).ec == std::errc{}) return Json{integer};
  }
  double number = 0;
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec == std::errc::result_out_of_range) {
    if (too_large(digits)) return std::nullopt;
    number = digits.starts_with('-') ? -0.0 : 0.0;
  }
  if (!std::isfinite(number)) return std::nullopt;
  return Json{number};
}

}  // namespace

bool JsonBuilder::refuse(std::string message) {
  fault_ = Error{Code::config, Detail::invalid_argument, std::move(message), cursor_.place(pointer_)};
  return false;
}

bool JsonBuilder::refuse_bad_text(std::string_view value, std::string_view what) {
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0)
      return refuse(
          fmt::format("the {} {} holds half of a surrogate pair or bytes that are not UTF-8", what, quote(value)));
    rest.remove_prefix(length);
  }
  return true;
}

bool JsonBuilder::count() {
  if (++values_ <= max_values) return true;
  return refuse(fmt::format("more than {} values in one document", max_values));
}

void JsonBuilder::push_pointer() {
  if (open_.empty()) return;
  const Frame& parent = open_.back();
  pointer_.resize(parent.pointer_length);
  if (pointer_.size() > max_pointer) return;
  pointer_ += '/';
  pointer_ +=
      parent.value.is(Json::Kind::object) ? pointer_token(parent.key) : fmt::format("{}", parent.value.items().size());
  if (pointer_.size() > max_pointer) {
    std::size_t keep = max_pointer;
    while (keep > 0 && (static_cast<unsigned char>(pointer_[keep]) & 0xc0) == 0x80) --keep;
    pointer_.resize(keep);
    pointer_ += "…";
  }
}

void JsonBuilder::place_in_parent(Json value) {
  if (open_.empty()) {
    root_ = std::move(value);
  } else if (Frame& parent = open_.back(); parent.value.is(Json::Kind::object)) {
    parent.value.members().emplace_back(std::move(parent.key), std::move(value));
  } else {
    parent.value.items().push_back(std::move(value));
  }
}

bool JsonBuilder::scalar(Json value, std::size_t end) {
  cursor_.move_to_token();
  push_pointer();
  if (!count()) return false;
  value.mark(cursor_.place(pointer_));
  place_in_parent(std::move(value));
  cursor_.move_to(end);
  return true;
}

bool JsonBuilder::string(std::string_view value, std::size_t end) {
  cursor_.move_to_token();
  return refuse_bad_text(value, "text") && scalar(Json{escapes_.restore(text_, cursor_.offset(), end, value)}, end);
}

bool JsonBuilder::number(std::size_t end) {
  cursor_.move_to_token();
  const std::string_view digits = text_.substr(cursor_.offset(), end - cursor_.offset());
  auto value = read_number(digits);
  if (!value) return refuse(fmt::format("the number {} is too large for a 64-bit float", digits.substr(0, 40)));
  return scalar(*std::move(value), end);
}

bool JsonBuilder::key(std::string_view name, std::size_t end) {
  cursor_.move_to_token();
  if (!refuse_bad_text(name, "key")) return false;
  Frame& frame = open_.back();
  pointer_.resize(frame.pointer_length);
  const std::string key = escapes_.restore(text_, cursor_.offset(), end, name);
  const auto [known, is_new] = frame.lines.emplace(key, cursor_.line());
  if (!is_new) {
    return refuse(fmt::format("the key {} is written twice in one object, on line {} and on line {}", quote(name),
                              known->second, cursor_.line()));
  }
  frame.key = key;
  cursor_.move_to(end);
  return true;
}

bool JsonBuilder::open(Json empty) {
  cursor_.move_to_token();
  push_pointer();
  if (open_.size() == max_depth) return refuse(fmt::format("nested deeper than {} levels", max_depth));
  if (!count()) return false;
  empty.mark(cursor_.place(pointer_));
  open_.push_back({.value = std::move(empty), .pointer_length = pointer_.size()});
  cursor_.move_to(cursor_.offset() + 1);
  return true;
}

bool JsonBuilder::close() {
  cursor_.move_to_token();
  cursor_.move_to(cursor_.offset() + 1);
  Json value = std::move(open_.back().value);
  open_.pop_back();
  place_in_parent(std::move(value));
  return true;
}

}  // namespace config
}  // namespace forebay
