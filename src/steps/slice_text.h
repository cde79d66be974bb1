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

/// One axis of a slice: an index, which removes the axis, or a range.
struct SliceItem {
  std::optional<std::int64_t> index = {};
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::optional<std::int64_t> step = {};
  std::int64_t column = 0;  ///< Position of the item in the text, from 1.
};

/// Reads a slice text. Errors quote it and name the column of the fault. Indices and steps are not checked.
[[nodiscard]] Result<std::vector<SliceItem>> parse_slice(std::string_view text);

/// The name of a slice in errors: "slice '[1,:]'", shortened when the text is long.
[[nodiscard]] std::string slice_label(std::string_view text);

/// The integer that `text` is, without the blanks around it. Nothing: it is no integer of 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace forebay::steps
