// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

/// The grammar of slice texts, "[3,:,4:,:-2,1:4]":
///
///     text  = "[" item { "," item } "]"
///     item  = integer | [ integer ] ":" [ integer ] [ ":" [ integer ] ]
///
/// Blanks around integers and items are skipped; an integer has decimal digits and at most one sign.
namespace forebay::steps {

/// One axis of a slice: an index, which takes the axis away, or a range, which keeps it.
struct SliceItem {
  std::optional<std::int64_t> index = {};
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::optional<std::int64_t> step = {};
  std::int64_t column = 0;  ///< Where the item begins in the text, from 1.
};

/// Reads a slice text. Errors quote it and name the column of what is wrong. Indices and steps are not judged here.
[[nodiscard]] Result<std::vector<SliceItem>> parse_slice(std::string_view text);

/// "slice '[1,:]'", shortened when the text is long: how errors name a slice.
[[nodiscard]] std::string slice_label(std::string_view text);

/// The integer that all of `text` is, blanks around it skipped; nothing when it is none or needs more than 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace forebay::steps
