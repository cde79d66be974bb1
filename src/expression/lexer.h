// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <forebay/error.h>

namespace forebay::expression {

enum class TokenKind : std::uint8_t { end, name, quoted_name, integer, real, string, symbol };

/// One word of a text.
struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t at = 0;             ///< Byte offset in the text.
  std::size_t size = 0;           ///< Its bytes.
  std::string_view written = {};  ///< Those bytes.
  std::string value = {};         ///< Of a quoted name or a string: its content, without escapes.

  [[nodiscard]] bool is(std::string_view word) const {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && written == word;
  }
};

/// Cuts a text into words, one at a time. The text must outlive the lexer.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_{text} {}
  /// The next word, or `end`. After a fault the lexer must not be used.
  [[nodiscard]] Result<Token> next();

 private:
  [[nodiscard]] Token token(TokenKind kind, std::size_t size);
  [[nodiscard]] Result<Token> number();
  [[nodiscard]] Result<Token> quoted(char quote);
  [[nodiscard]] Result<std::size_t> escape(std::size_t at, std::string& value) const;
  [[nodiscard]] Result<Token> symbol();

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace forebay::expression
