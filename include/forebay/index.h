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
#include <forebay/plan.h>

/// Record indexes: the place of every record of a file, stored beside the data (docs/formats/index.md).
namespace forebay {

/// The state of a stored index. `stale`: the file, its compression or its format has changed since.
enum class IndexState : std::uint8_t { good, absent, stale, corrupt, newer };
template <>
struct EnumNames<IndexState> {
  static constexpr std::array<std::string_view, 5> names{"good", "absent", "stale", "corrupt", "newer"};
};

struct IndexProgress {
  std::int64_t files = 0;
  std::int64_t files_done = 0;
  std::int64_t bytes = 0;  ///< Bytes of all files on disk.
  std::int64_t bytes_done = 0;
};

struct IndexOptions {
  enum class Existing : std::uint8_t { keep, replace, only_check };  ///< What to do with a good index.
  Compression compression = Compression::automatic;
  Existing existing = Existing::keep;
  std::int64_t threads = 0;    ///< Files at once, at most 1024; 0: one for every CPU this process may use.
  std::string index_dir = {};  ///< As RunOptions::index_dir.
  /// A folder of this machine for what is to lie with the data (docs/formats/index.md): `index-v1` and `catalogue-v1`,
  /// which replace those that are there. All files are then of one folder. Empty: nothing is published.
  std::string publish = {};
  /// For a plan: index only the files whose records an order reaches by number. A run would make these indexes itself.
  bool only_needed = false;
  std::int64_t part = 0, parts = 1;  ///< Only every `parts`th file, from file `part` on: for several processes.
  /// Called by the thread that called `index_files`: at the beginning, from time to time, and at the end. False ends
  /// the work with Code::cancelled. An exception ends it, too, and is thrown by `index_files`.
  std::function<bool(const IndexProgress&)> progress;
};

/// The result for one file.
struct IndexReport {
  std::string file;
  IndexState found = IndexState::absent;
  std::string reason;  ///< Why the stored index is not good; empty if it is.
  bool built = false;  ///< The file was scanned.
  std::string path;    ///< Path of the index; empty when it is not stored.
  std::int64_t records = 0;
  std::int64_t bytes = 0;        ///< Bytes of the uncompressed file.
  std::int64_t index_bytes = 0;  ///< Bytes of the index, on disk and in memory.
  /// Why there is no index: the file is corrupt, or the index could not be written.
  std::optional<Error> error;
};

/// Makes the indexes of TFRecord files that have no good one, several files at once. `patterns` are paths and patterns
/// as in a document. The indexes of a folder are in `.forebay/index-v1` in it, or in the cache folder where that cannot
/// be written.
///
/// A fault of one file is in its report; the other files are indexed all the same, and nothing is published. Fails with
/// Code::config for patterns that match nothing and for options out of their range, and with Code::cancelled when
/// `progress` returns false; complete indexes stay.
[[nodiscard]] Result<std::vector<IndexReport>> index_files(const std::vector<std::string>& patterns,
                                                           const IndexOptions& options = {});
/// Makes the indexes of the files of a plan and of all its branches, in their formats and compressions;
/// `options.compression` is not used. Sources without records of their own (whole files, rows of the program) are left
/// out, and fail with Code::config when there are no others.
[[nodiscard]] Result<std::vector<IndexReport>> index_files(const Plan& plan, const IndexOptions& options = {});

}  // namespace forebay
