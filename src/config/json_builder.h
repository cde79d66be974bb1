// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <forebay/json.h>

#include "config/byte_escapes.h"
#include "config/cursor.h"

namespace forebay::config {

/// Takes the events of a JSON parser and makes the tree, each value with its place. A call that returns false stops
/// the parser and leaves the reason in `fault`.
class JsonBuilder {
 public:
  /// `text` and `escapes` must outlive this object.
  JsonBuilder(std::string_view text, const ByteEscapes& escapes, std::string_view file)
      : text_{text}, escapes_{escapes}, cursor_{text, file} {}

  // Called for each scalar with the offset after it.
  bool scalar(Json value, std::size_t end);
  bool string(std::string_view value, std::size_t end);
  bool number(std::size_t end);
  bool key(std::string_view name, std::size_t end);
  bool open(Json empty);
  bool close();

  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  [[nodiscard]] Json take() { return std::move(root_); }
  [[nodiscard]] Cursor& cursor() { return cursor_; }

 private:
  struct Frame {
    Json value;
    std::string key = {};                                      // key of the member that comes next
    std::size_t pointer_length = 0;                            // length of this value's own pointer
    std::unordered_map<std::string, std::int32_t> lines = {};  // where each key was
  };

  bool refuse(std::string message);
  bool refuse_bad_text(std::string_view value, std::string_view what);
  bool count();
  void push_pointer();
  void place_in_parent(Json value);

  std::string_view text_;
  const ByteEscapes& escapes_;
  Cursor cursor_;
  std::vector<Frame> open_;
  std::string pointer_;
  std::size_t values_ = 0;
  Json root_;
  std::optional<Error> fault_;
};

}  // namespace forebay::config
