// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/error.h>

namespace forebay {

/// A JSON value and its place in the text that it was read from (Json::place). Faults of documents take their line and
/// column from it. A value that a program makes has no place until `mark` sets one.
class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
  using Member = std::pair<std::string, Json>;

  Json() = default;                                                          ///< null
  Json(bool value) : kind_{Kind::boolean}, integer_{value} {}                // NOLINT
  Json(std::int64_t value) : kind_{Kind::integer}, integer_{value} {}        // NOLINT
  Json(int value) : Json{static_cast<std::int64_t>(value)} {}                // NOLINT
  Json(double value) : kind_{Kind::number}, number_{value} {}                // NOLINT
  Json(std::string value) : kind_{Kind::string}, text_{std::move(value)} {}  // NOLINT
  Json(const char* value) : Json{std::string{value}} {}                      // NOLINT
  // Not inline: every plug-in's description copies and drops many.
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
  [[nodiscard]] static Json array(std::vector<Json> items = {});
  [[nodiscard]] static Json object(std::vector<Member> members = {});

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool boolean() const { return integer_ != 0; }
  [[nodiscard]] std::int64_t integer() const { return integer_; }
  [[nodiscard]] double number() const { return kind_ == Kind::integer ? static_cast<double>(integer_) : number_; }
  [[nodiscard]] const std::string& string() const { return text_; }
  [[nodiscard]] const std::vector<Json>& items() const { return items_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::vector<Json>& items() { return items_; }
  [[nodiscard]] std::vector<Member>& members() { return members_; }
  [[nodiscard]] const Json* find(std::string_view key) const;  ///< Member of an object, or null pointer.
  Json& set(std::string key, Json value);                      ///< Adds or replaces a member and returns its value.

  [[nodiscard]] const Place& place() const { return place_; }  ///< pointer, line, column, file.
  Json& mark(Place place) {
    place_ = std::move(place);
    return *this;
  }

  [[nodiscard]] std::string text() const;            ///< Compact JSON.
  [[nodiscard]] std::string pretty() const;          ///< Indented by two.
  [[nodiscard]] std::string_view kind_name() const;  ///< "a string", "an integer", …: for messages.
  bool operator==(const Json& other) const;          ///< Values only, places ignored.

 private:
  Kind kind_ = Kind::null;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
  Place place_;
};

/// Reads one JSON value with `//` comments (outside strings only). Fails with Code::config and line:column on a syntax
/// error, a repeated key, NaN or infinity, a number that no float holds, text that is not UTF-8, a byte order mark,
/// nesting deeper than 64, more than 64 MiB, or more than a million values. Integers beyond 64 bits become numbers.
/// `file` goes into every place; pointers longer than 256 bytes are cut.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view file = {});

}  // namespace forebay
