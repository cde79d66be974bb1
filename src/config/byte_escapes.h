// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::config {

/// A byte that is not text, in a string of a JSON document: "\udc80" to "\udcff" stand for the bytes 80 to ff, as
/// Python's "surrogateescape" has them. So paths that are no UTF-8 can be written. Half of a surrogate pair has no
/// other meaning, so no text is read differently.
struct ByteEscape {
  std::size_t offset = 0;  ///< Of the backslash.
  char byte = 0;
};

/// The byte that the escape at the beginning of `text` stands for; nothing when it stands for none.
[[nodiscard]] std::optional<char> byte_of_escape(std::string_view text);
/// Whether an escape at the beginning of `text` is the first half of a surrogate pair.
[[nodiscard]] bool begins_pair(std::string_view text);
/// Appends the escape of a byte.
void append_escape(unsigned char byte, std::string& out);

/// Replaces each byte escape of a string by "\ufffd", which a parser of JSON takes, and remembers where.
class ByteEscapes {
 public:
  /// Called with the offset of each backslash in a string, in their order; returns the bytes of the escape.
  std::size_t take(std::string& text, std::size_t offset);
  /// The value of the string token from `begin` to `end` of `text`, of which a parser made `value`.
  [[nodiscard]] std::string restore(std::string_view text, std::size_t begin, std::size_t end,
                                    std::string_view value) const;

 private:
  std::vector<ByteEscape> all_;  // in the order of their offsets
};

}  // namespace forebay::config
