// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>
#include <forebay/field_types.h>

/// Integers of records that orders and batchers ask for (Ordering::attributes, Batching::attributes).
namespace forebay {

enum class AttributeKind : std::uint8_t {
  condition,  ///< A boolean: 1 or 0.
  integer,
  text,  ///< A string, which Attribute::lookup turns into an integer.
  real,  ///< The bits of a double.
};

/// Turns the strings of an attribute into integers: by a function, or by one that is made of the content of a small
/// file. The planner reads the file, and a state knows its content.
///
///     file ─► read: its content ─► find
///     tensors of a record ─► Attribute::expression: a string ─► find: an integer │ none: a fault of the record
struct TextLookup {
  using Find = std::function<std::optional<std::int64_t>(std::string_view text)>;
  Find find = {};             ///< Any thread may call it.
  std::uint64_t made_of = 0;  ///< Hash of all that decides its results; the planner adds the file's content.
  std::string missing = {};   ///< The fault of a string without an integer: "there is no length of this sequence".
  DataFile file = {};         ///< Empty: `find` is there from the beginning.
  std::vector<std::string> option = {};  ///< The option that names the file, for faults (Field).
  /// Makes `find`. Fails with Code::config; the error names `path`, that of the file, or has a place in it.
  std::function<Result<Find>(std::string_view content, const std::string& path)> read = {};
};

/// An integer that an order needs of each record: the value of an expression over the record's tensors. The engine
/// computes it when it reads the record, on any thread, and decodes only the columns that it needs for that.
struct Attribute {
  Expression expression;
  AttributeKind kind = AttributeKind::condition;
  std::vector<std::string> option;  ///< The option that holds the expression, for faults (Field).
  bool early = false;               ///< It may read the output of an expensive step.
  TextLookup lookup = {};           ///< Of AttributeKind::text.
};

}  // namespace forebay
