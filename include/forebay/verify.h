// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/format.h>

/// TFRecord files looked through for corruption, and rid of it.
namespace forebay {

/// One corrupt place of a file.
struct CorruptPlace {
  enum class What : std::uint8_t {
    record,  ///< A record whose payload is not what its checksum says.
    range,   ///< Bytes that belong to no record that can be read.
  };
  What what = What::range;
  std::int64_t record = 0;  ///< Ordinal of the record; a range's: of the record behind it.
  std::int64_t offset = 0;  ///< In the (uncompressed) file.
  std::int64_t bytes = 0;   ///< Where compressed data break off only those that could be decompressed: perhaps 0.
  Error reason;             ///< What is wrong, with its place.
};

/// What was found in one file.
struct FileReport {
  std::string file;
  Compression compression = Compression::automatic;  ///< As it is compressed; automatic when it could not be opened.
  std::int64_t records = 0;                          ///< Intact ones.
  std::int64_t bytes = 0;                            ///< Uncompressed, as far as they could be read.
  std::int64_t corrupt_records = 0;
  std::int64_t unreadable_ranges = 0;
  std::int64_t corrupt_bytes = 0;            ///< In corrupt records and unreadable ranges, frames included.
  std::vector<CorruptPlace> first;           ///< The first places, at most VerifyOptions::max_places.
  std::optional<Error> error = {};           ///< Why it could not be read to its end (or its copy not be written).
  std::optional<std::string> repaired = {};  ///< Where its intact records are now.

  [[nodiscard]] std::int64_t corrupts() const { return corrupt_records + unreadable_ranges; }
  [[nodiscard]] bool intact() const { return corrupts() == 0 && !error; }
};

struct VerifyProgress {
  double fraction = 0;  ///< Of the bytes of all files.
  std::int64_t files_done = 0;
  std::int64_t records = 0;
  std::int64_t bytes_read = 0;  ///< From the files, compressed if they are.
  std::int64_t corrupts = 0;
};

struct VerifyOptions {
  Compression compression = Compression::automatic;
  std::int64_t threads = 0;  ///< Files at once, at most 1024; 0: one for every CPU this process may use.
  std::int64_t max_record_bytes = 1 << 30;
  std::size_t max_places = 16;  ///< Of each file's report.
  /// Called by the thread that verifies, about ten times a second and at the end; false stops everything soon.
  /// So does an exception, which then comes out of `verify` or `repair`.
  std::function<bool(const VerifyProgress&)> progress = {};
};

/// Reads every byte of the files that `paths` name (patterns as in a document) and verifies every checksum. One report
/// for each file, in order; what is wrong with a file stands in its report. Fails with Code::config when a pattern
/// matches nothing or an option is out of its range, with Code::cancelled when `progress` stopped it.
[[nodiscard]] Result<std::vector<FileReport>> verify(const std::vector<std::string>& paths,
                                                     const VerifyOptions& options = {});

struct RepairOptions {
  Compression compression = Compression::automatic;  ///< Of what is written; automatic: as each file was compressed.
  enum class Existing : std::uint8_t { refuse, replace } existing = Existing::refuse;
};

/// Like `verify`, and writes the intact records of each file, in their order: of one file to `out` (into it, if that is
/// a folder), of several into the folder `out`, which is made if need be, under their own names. A written file appears
/// whole or not at all; none is written for a file that could not be read to its end. Fails before anything is read
/// with Code::config when a file would be written over one that is read, over an existing one (unless it may be
/// replaced), or over another written one.
[[nodiscard]] Result<std::vector<FileReport>> repair(const std::vector<std::string>& paths, const std::string& out,
                                                     const RepairOptions& repair = {},
                                                     const VerifyOptions& options = {});

}  // namespace forebay
