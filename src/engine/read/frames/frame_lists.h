// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/memory/buffer_pool.h"

namespace forebay::engine {

/// The integers that a block has for each frame of its records (EarlyWork::frame_attributes).
///
///     records   r0 ────────── r1   r2 ─────
///     frames    f0   f1   f2       f0   f1        r1 has none
///     values    a b  a b  a b      a b  a b       for two attributes
///
/// Not thread-safe while it is filled; then only read.
class FrameLists {
 public:
  /// `attributes`: integers for each frame. `verdicts`: all are 0 or 1, so that they take a byte each.
  FrameLists(std::size_t attributes, bool verdicts) : attributes_{attributes}, verdicts_{verdicts} {}

  [[nodiscard]] std::size_t records() const { return splits_.size() - 1; }
  /// Drops the lists of all records from `count` on, or adds records without frames.
  void set_records(std::size_t count);
  /// Adds a record whose integers are all 0. Returns the place of its first frame, for `set`.
  std::size_t add_record(std::int64_t frames);
  void set(std::size_t frame, std::size_t attribute, std::int64_t value);
  /// Gives the list of record i to record `records[i]` of `count`, ascending; the others have no frames.
  void spread(std::span<const std::size_t> records, std::size_t count);
  /// Counts the memory in the budget for as long as the lists exist.
  void charge(BufferPool& pool);

  /// An integer of a frame; 0 when the record has no such frame.
  [[nodiscard]] std::int64_t at(std::size_t record, std::int64_t frame, std::size_t attribute) const;

 private:
  std::size_t attributes_;
  bool verdicts_;
  std::vector<std::size_t> splits_{0};  // [records + 1], in frames
  std::vector<std::uint8_t> narrow_;    // the verdicts; else empty
  std::vector<std::int64_t> wide_;      // integers that are no verdicts
  Charge charge_;
};

}  // namespace forebay::engine
