// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/record_reader.h>

#include "engine/read/file_reader.h"

namespace forebay::tools {

/// The records of one file, one by one, in memory that does not depend on their number.
class WorkFile {
 public:
  /// `source` is bound to other files; it must outlive this. Nothing is opened before `next`.
  WorkFile(const Source& source, const std::string& path, OnCorruptFile on_corrupt);

  /// The next intact record; none at the end. Fails as RecordReader::read does.
  [[nodiscard]] Result<std::optional<ReadRecord>> next(const StopCheck* check);
  /// Records and ranges that were left out since the last call.
  [[nodiscard]] std::int64_t take_skipped() { return std::exchange(skipped_, 0); }
  /// Whether the rest of the file was left out; true once.
  [[nodiscard]] bool take_skipped_file() { return std::exchange(skipped_file_, false); }

 private:
  [[nodiscard]] Result<std::optional<ReadRecord>> whole();
  [[nodiscard]] Result<void> next_block(const StopCheck* check);
  [[nodiscard]] bool skips_next();
  [[nodiscard]] Result<ReadRecord> record();

  Source source_;  // of this one file
  const OnCorruptFile on_corrupt_;
  engine::PassCache cache_{0};
  engine::FileReader reader_;
  engine::Block block_;
  std::size_t next_ = 0;  // record of the block
  std::size_t skip_ = 0;  // skip of the block
  bool begun_ = false, ended_ = false;
  std::int64_t forgotten_ = 0;  // offset up to which the pages of a mapped file went back to the system
  std::int64_t skipped_ = 0;
  bool skipped_file_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace forebay::tools
