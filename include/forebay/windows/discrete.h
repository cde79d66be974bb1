// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/windows/continuous.h>

namespace forebay {

/// Makes windows of whole records: the next few of a part, joined along their first axis. Windows never share a record.
/// The tensors of a record may differ in their first size.
struct Discrete {
  std::vector<TensorName> keys;  ///< Tensors to join; empty: all whose first size is unknown.
  std::int64_t min_window = 1;   ///< Records.
  std::int64_t max_window = 1;   ///< Records; their number in a window is drawn uniformly from min to max.
  WindowDraw window_draw = WindowDraw::per_window;
  WindowTail tail = WindowTail::drop;  ///< Of records at the end that do not fill a window.
  /// Name of a column: the row splits of the records, which are the frame of the first key at which each record of the
  /// window begins, and the end of the last one.
  std::optional<NewTensorName> splits;
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record, which is 0.
};

}  // namespace forebay
