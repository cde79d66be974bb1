// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/scalar.h>

namespace forebay {

/// How a value in a JSON object becomes a row of a tensor.
struct JsonField {
  DType dtype = DType::float32;  ///< Any integer type, float32, float64, bool or string.
  /// [] is one value. Else a list, of lists where there is more than one size; the first size may be -1: any number,
  /// and the tensor is ragged.
  Shape shape = {};
  /// The names that lead to the value, from the outermost object on; empty: the tensor's name. Where one of them, not
  /// the last, is a list of objects, the values of all these objects are the list of the tensor, whose shape is [-1].
  std::vector<std::string> path = {};
  /// The value where the record has none or null, and of null in a list; a list that is not there is empty, or full of
  /// it where the shape is known. Left out: that is an error.
  Scalar default_value = {};
};

/// Decodes records that are JSON objects (RFC 8259): the lines of a JSON lines file, or members of archives. Members
/// that no field names are passed over, and read for their syntax.
///
/// * Numbers become the nearest float; an integer must be one ("1e3" and "2.0" are), and fit its type. NaN, Infinity
/// and
///   -Infinity, which Python writes, are read. A bool is true or false. No value becomes another kind: "1" is no
///   number.
/// * A string is UTF-8; its escapes are resolved.
/// * A member that is twice in an object is an error where a field reads it.
/// * Errors name the line and column in the record, counted in characters from 1.
struct JsonRecords {
  std::vector<std::pair<std::string, JsonField>> fields;  ///< By name of the tensor.
};

}  // namespace forebay
