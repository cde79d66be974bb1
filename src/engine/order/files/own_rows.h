// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <forebay/run_options.h>
#include <forebay/shard_reading.h>

#include "engine/index/index_file.h"
#include "engine/order/files/own_windows.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Mean bytes of the records of a file from which on a process reads those of its own rows only (ADR 0054).
inline constexpr std::int64_t min_own_record = std::int64_t{16} << 10;
/// The same for a file of a FileSystem: bytes that are worth a request.
inline constexpr std::int64_t min_own_request = std::int64_t{64} << 10;

/// The number of processes that share the rows which the order of `program` goes through: the shards by row and batch,
/// and by element.
[[nodiscard]] std::int64_t processes_of(const Program& program, const Shard& shard);
/// Whether a record may be a whole file of another machine, also in a branch.
[[nodiscard]] bool brings_whole_files(const Program& program);

/// Why such processes read all files of `program` whole. Empty: it depends on each file.
[[nodiscard]] std::string whole_for_all(const Program& program);
/// Looks for the stored index of a file with all that the program needs of it: values of records, and which of them it
/// skips. Empty: a part of that is not stored.
using LoadStored = std::function<std::optional<StoredValues>()>;
/// Why the records of a file of a FileSystem with this index are not fetched one by one. Empty: they are, when the
/// batch is made that has them.
[[nodiscard]] std::string why_not_fetched_alone(const RecordIndex& index);

/// Which parts of a source a process reads whole, each decided once in a run. For the order plane.
class OwnRows {
 public:
  /// `processes`: processes_of.
  OwnRows(const Program& program, std::int64_t processes)
      : program_{program}, processes_{processes}, for_all_{whole_for_all(program)} {}

  /// Whether the process takes only some of the rows.
  [[nodiscard]] bool some_rows() const { return processes_ > 1; }
  /// Whether the way of reading may depend on what is stored of files.
  [[nodiscard]] bool asks_indexes() const {
    return some_rows() && for_all_.empty() && program_.source.files_a_part == 0;
  }
  /// Whether the records of a part are named, and only those of own rows are read: it is plain, its records are large
  /// and lie in few windows, and its index is stored. Whole files that are records need no index. `request` and `load`
  /// are called for the first decision, `load` last. `request` is empty for a file whose version is not known.
  [[nodiscard]] bool decide(std::uint32_t part, const std::function<std::optional<IndexRequest>()>& request,
                            const LoadStored& load);
  /// The order reaches the records of this part by index. `why_whole`: why all of them are brought; empty: only those
  /// of own rows are.
  void reached(std::uint32_t part, std::string why_whole = {});
  [[nodiscard]] const ShardReading& reading() const { return reading_; }

 private:
  enum class Way : std::uint8_t { unknown, own, whole };
  [[nodiscard]] bool unknown(std::uint32_t part);
  void take(std::uint32_t part, Way way);
  [[nodiscard]] bool reads_own(const IndexRequest& request, const LoadStored& load) const;
  [[nodiscard]] std::string why_whole(const IndexRequest& request, const LoadStored& load) const;
  [[nodiscard]] std::string why_not_worth(const StoredValues& stored) const;

  const Program& program_;
  const std::int64_t processes_;
  const std::string for_all_;
  std::vector<Way> ways_;  // by part
  ShardReading reading_;
};

}  // namespace forebay::engine
