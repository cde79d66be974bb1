// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <forebay/schema.h>

namespace forebay {

/// What a generated column says about the spans of each row along one axis.
enum class Generated : std::uint8_t {
  window,       ///< int64 []: number of the window, of several the first; -1 for a row without one.
  start,        ///< int64 []: first frame of the first span in its element; -1 for an empty row.
  segment_ids,  ///< int32 [frames]: for each frame the number of its span in the row, from 1; 0 is padding.
  positions,    ///< int32 [frames]: for each frame its place in its span, from 0; 0 is padding, too.
  cu_seqlens,   ///< int32 [spans + 1]: the frame of the row at which each span begins, and the end of the last one.
};

/// A column of the rows that is made of the spans alone.
struct GeneratedColumn {
  Generated kind = Generated::window;
  ColumnId column = 0;   ///< With the dtype and the rank of the kind; `frames` may be known or not.
  std::size_t axis = 0;  ///< Of the spans.
};

/// The dtype and the shape of a generated column.
[[nodiscard]] inline ColumnSpec generated_spec(Generated kind, std::string name) {
  const bool of_row = kind == Generated::window || kind == Generated::start;
  return {.name = std::move(name),
          .dtype = of_row ? DType::int64 : DType::int32,
          .shape = of_row ? Shape{} : Shape{unknown_dim}};
}

}  // namespace forebay
