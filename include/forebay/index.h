// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>
#include <forebay/format.h>

/// Record indexes: where every record of a file lies, stored in a file beside it.
namespace forebay {

/// Whether a path is that of an index (`.fbindex`), which the wildcards of a shell find beside the data.
[[nodiscard]] bool is_index_path(std::string_view path);

/// What was found in the place of a file's index. `stale`: the file, its compression or its format has changed since.
enum class IndexState : std::uint8_t { good, absent, stale, corrupt, newer };
template <>
struct EnumNames<IndexState> {
  static constexpr std::array<std::string_view, 5> names{"good", "absent", "stale", "corrupt", "newer"};
};

struct IndexProgress {
  std::int64_t files = 0;
  std::int64_t files_done = 0;
  std::int64_t bytes = 0;  ///< Of all files, as they are on disk.
  std::int64_t bytes_done = 0;
};

struct IndexOptions {
  enum class Existing : std::uint8_t { keep, replace, only_check };  ///< What becomes of an index that is good.
  Compression compression = Compression::automatic;
  Existing existing = Existing::keep;
  std::int64_t threads = 0;  ///< Files at once, at most 1024; 0: one for every CPU this process may use.
  /// Called at the beginning, now and then, and at the end, by the thread that waits; false ends the work with
  /// Code::cancelled. So does an exception, which then comes out of `index_files`.
  std::function<bool(const IndexProgress&)> progress;
};

/// What became of one file.
struct IndexReport {
  std::string file;
  IndexState found = IndexState::absent;
  std::string reason;  ///< Why what was found is not good; empty when it is.
  bool built = false;  ///< The file has been scanned.
  std::string path;    ///< Where the index is now; empty when nowhere.
  std::int64_t records = 0;
  std::int64_t bytes = 0;        ///< Of the uncompressed file.
  std::int64_t index_bytes = 0;  ///< Of the index, on disk and in memory.
  /// Why there is no index: the file is corrupt, or the index could not be written.
  std::optional<Error> error;
};

/// Makes the indexes of TFRecord files that have no good one, several files at once. `patterns` are paths and patterns
/// as in a document. An index is `<file>.fbindex`, or in the cache folder where that cannot be written.
///
/// What is wrong with one file is in its report, and the others go on. Fails for patterns that match nothing
/// and options out of their range (Code::config) and when `progress` says so (Code::cancelled); indexes that were
/// complete by then stay.
[[nodiscard]] Result<std::vector<IndexReport>> index_files(const std::vector<std::string>& patterns,
                                                           const IndexOptions& options = {});

}  // namespace forebay
