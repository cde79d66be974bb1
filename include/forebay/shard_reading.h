// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay {

class Plan;
struct RunOptions;

/// How a process that takes only some of the rows, a shard by row, element or batch, reads its files.
///
///     record files  1 2 3 4 5 6 7 8    own: 3 4    whole: all of them, and 3 4 are decoded
///
/// The rows are the same either way. All is 0 for a run of one process and for shards by file.
struct ShardReading {
  std::int64_t own_files = 0;    ///< Files of which the process reads the records of its own rows, and no others.
  std::int64_t whole_files = 0;  ///< Files that it reads from their beginning to their end.
  std::string reason;            ///< Why the first of those is read whole: "a.tfrecord: it is compressed".
  /// Bytes that a process reads for each byte of its own rows: as expected by `shard_reading`; so far in `Stats`.
  /// 0: not known.
  double amplification = 0;

  [[nodiscard]] std::string text() const;  ///< In words; empty when there is nothing to say.
};

/// How a run of `plan` would read its files, decided as a run decides it: the stored indexes are read, no record.
/// `options`: the shard and `index_dir` count; without a shard, that of the document.
[[nodiscard]] ShardReading shard_reading(const Plan& plan, const RunOptions& options);

}  // namespace forebay
