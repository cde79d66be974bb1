// SPDX-License-Identifier: Apache-2.0
#include "expression/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "expression/tree.h"

#include <forebay/messages.h>

namespace forebay::expression {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Words of other languages, and what this one has instead.
std::string_view instead_of(std::string_view rest) {
  if (rest.starts_with("&")) return "write 'and'";
  if (rest.starts_with("|")) return "write 'or'";
  if (rest.starts_with("!")) return "write 'not', or '!=' for a comparison";
  if (rest.starts_with("=")) return "write '==' for a comparison";
  return "a name with such characters is written in backquotes, a string in single or double quotes";
}

}  // namespace

Error fault_at(std::string_view text, std::size_t at, std::size_t size, std::string_view message) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto character = 1 + std::ranges::count_if(text.substr(0, at), begins);
  const std::string place = size == 0 ? fmt::format("character {} (the end)", character)
                                      : fmt::format("character {}, {}", character, quote(text.substr(at, size)));
  return {Code::config, Detail::invalid_argument, fmt::format("{}: {}", place, message)};
}

Token Lexer::token(TokenKind kind, std::size_t size) {
  const std::size_t at = at_;
  at_ += size;
  return {.kind = kind, .at = at, .size = size, .written = text_.substr(at, size)};
}

Result<Token> Lexer::next() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
  if (at_ == text_.size()) return Token{.kind = TokenKind::end, .at = at_};
  const char c = text_[at_];
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
  if (c == '\'' || c == '"' || c == '`') return quoted(c);
  if (!is_word(c)) return symbol();
  std::size_t size = 1;
  while (at_ + size < text_.size() && is_word(text_[at_ + size])) ++size;
  return token(TokenKind::name, size);
}

Result<Token> Lexer::number() {
  std::size_t end = at_;
  bool real = false;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  digits();
  if (end < text_.size() && text_[end] == '.') {
    real = true;
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    real = true;
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
    digits();
    if (!is_digit(text_[end - 1])) return fault_at(text_, at_, end - at_, "the exponent of this number has no digits");
  }
  if (end < text_.size() && (is_word(text_[end]) || text_[end] == '.')) {
    return fault_at(text_, at_, end + 1 - at_,
                    "this is no number, and a name that begins with a digit is written in backquotes");
  }
  return token(real ? TokenKind::real : TokenKind::integer, end - at_);
}

/// Reads the escape after the backslash at `at`, and returns its bytes.
Result<std::size_t> Lexer::escape(std::size_t at, std::string& value) const {
  constexpr std::string_view escapes = "\\'\"`nrt";
  constexpr std::string_view meanings = "\\'\"`\n\r\t";
  const char c = at + 1 < text_.size() ? text_[at + 1] : '\0';
  if (const auto found = escapes.find(c); found != std::string_view::npos) {
    value += meanings[found];
    return std::size_t{2};
  }
  if (c == 'x' && at + 3 < text_.size()) {
    const int high = hex_digit(text_[at + 2]), low = hex_digit(text_[at + 3]);
    if (high >= 0 && low >= 0) {
      value += static_cast<char>(high * 16 + low);
      return std::size_t{4};
    }
  }
  return fault_at(text_, at, std::min<std::size_t>(2, text_.size() - at),
                  R"(this is no escape; there are \\, \', \", \`, \n, \r, \t and \xNN)");
}

Result<Token> Lexer::quoted(char quote) {
  std::string value;
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote) {
    if (text_[end] != '\\') {
      value += text_[end++];
      continue;
    }
    FOREBAY_TRY(const std::size_t size, escape(end, value));
    end += size;
  }
  if (end == text_.size()) {
    return fault_at(
        text_, at_, text_.size() - at_,
        quote == '`' ? "the closing backquote of this name is missing" : "the closing quote of this string is missing");
  }
  Token out = token(quote == '`' ? TokenKind::quoted_name : TokenKind::string, end + 1 - at_);
  out.value = std::move(value);
  return out;
}

Result<Token> Lexer::symbol() {
  constexpr std::array<std::string_view, 19> symbols{"==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*",
                                                     "/",  "%",  "(",  ")",  "[",  "]", ",", ":", "."};
  const std::string_view rest = text_.substr(at_);
  for (const std::string_view symbol : symbols) {
    if (rest.starts_with(symbol)) return token(TokenKind::symbol, symbol.size());
  }
  return fault_at(text_, at_, 1, fmt::format("an expression has no such character; {}", instead_of(rest)));
}

}  // namespace forebay::expression
