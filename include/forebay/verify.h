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
#include <forebay/plan.h>

/// Finds corruption in record files, and copies what is intact in TFRecord files.
namespace forebay {

/// One corrupt place of a file.
struct CorruptPlace {
  enum class What : std::uint8_t {
    record,  ///< A record with a wrong payload checksum.
    range,   ///< Bytes that belong to no readable record.
  };
  What what = What::range;
  std::int64_t record = 0;  ///< Ordinal of the record; for a range: of the record after it.
  std::int64_t offset = 0;  ///< Offset in the (uncompressed) file.
  std::int64_t bytes = 0;  ///< Length. Where compressed data end early, only the decompressed bytes, which may be none.
  Error reason;            ///< The fault, with its place.
};

/// The result for one file.
struct FileReport {
  std::string file;
  Compression compression = Compression::automatic;  ///< Of the file; automatic when it could not be opened.
  std::int64_t records = 0;                          ///< Intact records.
  std::int64_t bytes = 0;                            ///< Uncompressed bytes that could be read.
  std::int64_t corrupt_records = 0;
  std::int64_t unreadable_ranges = 0;
  std::int64_t corrupt_bytes = 0;            ///< Bytes in corrupt records and unreadable ranges, frames included.
  std::vector<CorruptPlace> first;           ///< The first places, at most VerifyOptions::max_places.
  std::optional<Error> error = {};           ///< Why the file was not read to its end, or its copy not written.
  std::optional<std::string> repaired = {};  ///< Path of the copy of its intact records.

  [[nodiscard]] std::int64_t corrupts() const { return corrupt_records + unreadable_ranges; }
  [[nodiscard]] bool intact() const { return corrupts() == 0 && !error; }
};

struct VerifyProgress {
  double fraction = 0;  ///< Share of the bytes of all files, 0 … 1.
  std::int64_t files_done = 0;
  std::int64_t records = 0;
  std::int64_t bytes_read = 0;  ///< Bytes read from disk.
  std::int64_t corrupts = 0;
};

struct VerifyOptions {
  Compression compression = Compression::automatic;
  std::int64_t threads = 0;  ///< Files at once, at most 1024; 0: one for every CPU this process may use.
  std::int64_t max_record_bytes = 1 << 30;
  std::size_t max_places = 16;  ///< At most this number of places in each report.
  /// Called by the calling thread, about ten times a second and at the end. False stops the work soon. An exception
  /// stops it, too, and is thrown by `verify` or `repair`.
  std::function<bool(const VerifyProgress&)> progress = {};
  /// Called by the calling thread, before `progress`, with each file that has been read since the last call. An
  /// exception as above. After a stop, the reports that it got are all there is.
  std::function<void(const FileReport&)> report = {};
};

/// Reads every byte of the files that `paths` name (patterns as in a document) and verifies every checksum. One report
/// for each file, in order; a fault of a file is in its report. Fails with Code::config when a pattern
/// matches nothing or an option is out of its range, with Code::cancelled when `progress` returned false.
[[nodiscard]] Result<std::vector<FileReport>> verify(const std::vector<std::string>& paths,
                                                     const VerifyOptions& options = {});
/// Verifies the files of a plan in its format and compression; `options.compression` and `max_record_bytes` are not
/// used. Formats without checksums (Format::has_checksums): reports only corrupt compression and records that the
/// format refuses, such as a line that is too long.
[[nodiscard]] Result<std::vector<FileReport>> verify(const Plan& plan, const VerifyOptions& options = {});

struct RepairOptions {
  Compression compression = Compression::automatic;  ///< Of the written files; automatic: as each input.
  enum class Existing : std::uint8_t { refuse, replace } existing = Existing::refuse;
};

/// Like `verify`, and writes the intact records of each file, in their order: of one file to `out` (into it, if that is
/// a folder), of several into the folder `out`, which is created if it is missing, under their own names. A written
/// file appears whole or not at all; none is written for a file that could not be read to its end. Fails before
/// anything is read with Code::config when a file would be written over one that is read, over an existing one (unless
/// it may be replaced), or over another written one.
[[nodiscard]] Result<std::vector<FileReport>> repair(const std::vector<std::string>& paths, const std::string& out,
                                                     const RepairOptions& repair = {},
                                                     const VerifyOptions& options = {});

}  // namespace forebay
