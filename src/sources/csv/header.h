// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/sources/csv.h>

#include "io/file_system.h"
#include "sources/csv/record_ends.h"

namespace forebay::sources {

/// What comes before the first record of a file: a byte order mark, lines that are left out, a header row.
class CsvHeader {
 public:
  CsvHeader(const Csv& options, const CsvRules& rules);

  /// Where the first record begins. Nothing: `bytes`, the beginning of a file, do not reach that far. Fails, with the
  /// place of the fault, for UTF-16, and for other names than those of `expect`.
  [[nodiscard]] Result<std::optional<std::size_t>> end(std::span<const std::byte> bytes, bool last) const;
  /// Reads the names of a file's header row. Fails with Code::io or Code::data.
  [[nodiscard]] Result<std::vector<std::string>> read(const io::RandomAccessFile& file, Compression compression,
                                                      const Format& format) const;
  void expect(std::vector<std::string> names, std::string file) {
    names_ = std::move(names);
    first_ = std::move(file);
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> names_in(std::span<const std::byte> record, std::size_t offset) const;
  [[nodiscard]] std::optional<std::size_t> begin(std::span<const std::byte> bytes, bool last) const;
  [[nodiscard]] Result<void> compare(const std::vector<std::string>& names, std::size_t offset) const;

  const CsvRules rules_;
  const std::int64_t lines_;
  const bool row_;
  const std::size_t max_;
  std::optional<std::vector<std::string>> names_;
  std::string first_;
};

}  // namespace forebay::sources
