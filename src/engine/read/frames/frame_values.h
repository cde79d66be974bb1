// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "columns/take/elements.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// A frame of a record that is divided into its frames.
struct FrameOf {
  std::uint32_t source = 0;  ///< Of FrameValues::Sources.
  std::uint32_t record = 0;  ///< Row of the source.
  std::int64_t frame = 0;
};

/// Computes the frame attributes of a program, whose windows are single frames (Windowing::frames).
///
///     records   x [T], name []                    x: a key of `unbatch`
///                  │ value t │ repeated
///     frames    x [], name []  ─► expression ─► an integer for each frame
///
/// One thread at a time uses it.
class FrameValues {
 public:
  /// `program` outlives this object.
  FrameValues(const Program& program, std::shared_ptr<BufferPool> pool) : program_{program}, pool_{std::move(pool)} {}

  /// Returns the places of a column of the records.
  using Sources = std::function<std::vector<columns::Elements>(ColumnId)>;
  /// Writes the attribute of each frame to `out`. `records` has the columns that are sparse or ragged in several axes,
  /// of which the first source consists. Fails with Code::data at the first frame without a value (Place::row).
  [[nodiscard]] Result<void> evaluate(const FrameAttribute& attribute, const Sources& sources,
                                      const ColumnBlock& records, std::span<const FrameOf> frames,
                                      std::span<std::int64_t> out);
  /// The frames of a record, which all of its keys have.
  [[nodiscard]] static std::int64_t frames_of(const Program& program, const ColumnBlock& records, std::int64_t record);

  [[nodiscard]] std::int64_t bytes() const;  ///< Memory that stays for the next call.
  void clear() { block_ = {}; }              ///< Frees it.

 private:
  void fill(ColumnId id, const Sources& sources, const ColumnBlock& records, std::span<const FrameOf> frames);

  const Program& program_;
  const std::shared_ptr<BufferPool> pool_;
  ColumnBlock block_;
};

}  // namespace forebay::engine
