// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <forebay/run_options.h>
#include <forebay/shard_reading.h>

#include "engine/index/index_file.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Mean bytes of the records of a file from which on a process reads those of its own rows only (ADR 0054).
inline constexpr std::int64_t min_own_record = std::int64_t{16} << 10;

/// Whether a process that runs `program` takes only some of the rows that its order goes through: a shard by row or
/// batch, or the program of a shard by element.
[[nodiscard]] bool takes_some_rows(const Program& program, const Shard& shard);

/// Why such processes read all files of `program` whole. Empty: it depends on each file.
[[nodiscard]] std::string whole_for_all(const Program& program);
/// Whether such a process reads only its own records of a file: it is local and plain, its records are large, and its
/// index is stored with all that the program needs of it: values of records, and which of them it skips. `load` looks
/// for that; it is called last. `request` names the index of the program. Whole files that are records are no such
/// files: they need no index.
[[nodiscard]] bool reads_own_records(const IndexRequest& request, const std::function<bool()>& load);
/// Why `reads_own_records` is false, in words. `request` as for that call.
[[nodiscard]] std::string why_whole(const IndexRequest& request);

/// Which parts of a source a process reads whole, each decided once in a run. For the order plane.
class OwnRows {
 public:
  /// `some_rows`: takes_some_rows.
  OwnRows(const Program& program, bool some_rows)
      : program_{program}, some_rows_{some_rows}, for_all_{whole_for_all(program)} {}

  [[nodiscard]] bool some_rows() const { return some_rows_; }
  /// Whether the records of a part are named, and only those of own rows are read. `request` and `load` as above; they
  /// are called for the first decision.
  [[nodiscard]] bool decide(std::uint32_t part, const std::function<IndexRequest()>& request,
                            const std::function<bool()>& load);
  /// The order reaches the records of this part by index.
  void reached(std::uint32_t part);
  [[nodiscard]] const ShardReading& reading() const { return reading_; }

 private:
  enum class Way : std::uint8_t { unknown, own, whole };
  [[nodiscard]] bool unknown(std::uint32_t part);
  void take(std::uint32_t part, Way way);

  const Program& program_;
  const bool some_rows_;
  const std::string for_all_;
  std::vector<Way> ways_;  // by part
  ShardReading reading_;
};

}  // namespace forebay::engine
