// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <forebay/order.h>

namespace forebay::orders {

/// Finds the file of a record by the record's number among all records of all files. A walk owns the census
/// of its pass, and one thread at a time uses it. A table of cells of 2^shift_ records names the first file of each
/// cell.
class Census {
 public:
  Census() = default;
  Census(const std::vector<Handle>& files, const std::vector<std::int64_t>& counts) {
    for (std::size_t i = 0; i < files.size(); ++i)
      files_.push_back({.begin = records(), .end = records() + counts[i], .number = files[i].block});
    const std::int64_t cells = std::min(max_cells, cells_a_file * std::ssize(files_));
    while ((records() >> shift_) > cells) ++shift_;
    std::uint32_t file = 0;
    for (std::int64_t cell = 0; cell <= records() >> shift_; ++cell) {
      while (file + 1 < files_.size() && files_[file].end <= cell << shift_) ++file;
      first_file_.push_back(file);
    }
  }

  [[nodiscard]] std::int64_t records() const { return files_.empty() ? 0 : files_.back().end; }
  [[nodiscard]] RecordName name(std::int64_t record) const {
    const File* file = &files_[first_file_[static_cast<std::size_t>(record >> shift_)]];
    while (file->end <= record) ++file;
    return {.file = file->number, .record = record - file->begin};
  }

 private:
  // With 64 cells a file, a record is rarely in a later file than the first one of its cell. 4096 cells (16 KiB) fit
  // in the first-level cache.
  static constexpr std::int64_t cells_a_file = 64;
  static constexpr std::int64_t max_cells = 1 << 12;
  struct File {
    std::int64_t begin = 0, end = 0;  // numbers of its records among all records
    std::uint32_t number = 0;
  };
  std::vector<File> files_;
  std::vector<std::uint32_t> first_file_;  // by cell of 2^shift_ records
  int shift_ = 0;
};

}  // namespace forebay::orders
