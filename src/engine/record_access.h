// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/order.h>

#include "engine/block_table.h"
#include "engine/kept_files.h"
#include "engine/program.h"
#include "engine/record_index.h"

namespace forebay::engine {

/// Reaches any record of a file through the file's index. Handles that come from here name bytes of a mapped file,
/// which are there, or records of a packed file, which `fetch` inflates. The order plane's own.
class RecordAccess {
 public:
  RecordAccess(const Program& program, std::shared_ptr<Pool> pool, KeptFiles& kept, BlockTable& table)
      : program_{program}, pool_{std::move(pool)}, kept_files_{kept}, table_{table} {}

  /// The stored index of a file, or null when there is no good one. Its identity was compared with the file's.
  [[nodiscard]] std::shared_ptr<const RecordIndex> stored(std::uint32_t file);
  /// Makes sure that all these have an index: stored ones are read, others made, several at once, and stored if
  /// possible. `go_on` is asked now and then; false ends it with Code::cancelled, and a later call goes on. When
  /// records may be skipped, every file is gone through, what is skipped goes to `skipped`, and its index names only
  /// good records.
  [[nodiscard]] Result<void> index(std::span<const std::uint32_t> files, const std::function<bool()>& go_on);
  [[nodiscard]] std::int64_t records(std::uint32_t file) const { return files_[file].index->records(); }
  /// What was skipped when the file was indexed.
  [[nodiscard]] const std::vector<Skip>& skips(std::uint32_t file) const { return files_[file].skips; }

  /// Handles of records of files that have an index; nothing is read.
  [[nodiscard]] Result<void> locate(std::span<const RecordName> names, std::span<Handle> out);
  /// Brings the bytes of records of packed files: the handles then name the copies.
  [[nodiscard]] Result<void> fetch(std::span<Handle> handles);
  [[nodiscard]] std::int64_t window() const;  ///< Records that are worth fetching together.

 private:
  struct File {
    std::shared_ptr<const RecordIndex> index;
    std::vector<Skip> skips;
    bool looked = false;               // for a stored index
    std::vector<std::uint32_t> slots;  // by segment of the uncompressed file
  };
  class Indexing;

  File& at(std::uint32_t file);
  void keep(File& file, std::shared_ptr<const RecordIndex> index);
  [[nodiscard]] Result<void> open(std::uint32_t number);
  [[nodiscard]] Result<void> fetch_file(std::span<Handle* const> handles);

  const Program& program_;
  std::shared_ptr<Pool> pool_;
  KeptFiles& kept_files_;
  BlockTable& table_;
  std::vector<File> files_;
  bool packed_ = false;
};

}  // namespace forebay::engine
