// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <forebay/error.h>

namespace forebay::config {

/// A position in a text that only moves forward and knows its line and column (in characters, both from 1).
class Cursor {
 public:
  Cursor(std::string_view text, std::string_view file) : text_{text}, file_{file} {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::int32_t line() const { return line_; }

  void move_to(std::size_t offset) {
    for (; offset_ < offset && offset_ < text_.size(); ++offset_) {
      const char c = text_[offset_];
      if (c == '\n') {
        ++line_, column_ = 1;
      } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
        ++column_;  // continuation bytes of a character do not count
      }
    }
  }

  /// To the start of the next value or key, past white space and the separators between two of them.
  void move_to_token() {
    const std::size_t found = text_.find_first_not_of(" \t\r\n,:", offset_);
    move_to(found == std::string_view::npos ? text_.size() : found);
  }

  [[nodiscard]] Place place(std::string pointer = {}) const {
    Place out;
    out.file = file_;
    out.pointer = std::move(pointer);
    out.line = line_;
    out.column = column_;
    return out;
  }

 private:
  std::string_view text_;
  std::string_view file_;
  std::size_t offset_ = 0;
  std::int32_t line_ = 1;
  std::int32_t column_ = 1;
};

}  // namespace forebay::config
