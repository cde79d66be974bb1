// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/column.h>
#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/json_codec.h>
#include <forebay/queue.h>

namespace forebay {

/// What a reader does with corrupt data.
enum class OnCorruptFile : std::uint8_t {
  fail,         ///< An error, once; the next read goes on with the next file.
  skip_record,  ///< Corrupt records are left out and counted.
  skip_file,    ///< The rest of the file is left out, and the file is counted.
};
template <>
struct EnumNames<OnCorruptFile> {
  static constexpr std::array<std::string_view, 3> names{"fail", "skip_record", "skip_file"};
};

struct RecordReaderOptions {
  /// A source of files, such as "lines", or "identity": each work item is a record, its own key.
  std::string kind = "tfrecord";
  Json options = Json::object();  ///< Those of the source, without `files`.
  OnCorruptFile on_corrupt = OnCorruptFile::fail;
  bool skip_missing = false;  ///< Files that are not there are left out and counted. Otherwise each is an error, once.
};

struct ReadRecord {
  std::string key;  ///< Format::key; of whole files the path.
  std::string value;
};

/// Reads the records of files that it is given one after the other, as they come. For programs that read by
/// themselves; a training job uses a Loader. Not thread-safe. A moved-from reader may only be destroyed.
class RecordReader {
 public:
  struct Counters {
    std::int64_t records_produced = 0;
    std::int64_t work_units_completed = 0;  ///< Files, or work items, that were read to their end.
    std::int64_t records_skipped = 0;       ///< Corrupt records, and ranges of bytes without an intact one.
    std::int64_t files_skipped = 0;
  };

  /// Fails with Code::config and the faults of the options.
  [[nodiscard]] static Result<RecordReader> make(const RecordReaderOptions& options);
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  /// Whether no file is open: `start` comes next.
  [[nodiscard]] bool needs_work() const;
  /// Begins with a file, which is opened by the next read. The rest of one that is open is left out.
  void start(std::string work);
  /// The next records of the open file, at most `count`, at least 1. None: it has come to its end, or none is open.
  /// `check` is polled between blocks of about 1 MiB.
  ///
  /// Fails with Code::io for a file that cannot be opened or read, and with Code::data for a corrupt one, after the
  /// records before the fault. The file is dropped: `needs_work`.
  [[nodiscard]] Result<std::vector<ReadRecord>> read(std::int64_t count, const StopCheck* check = nullptr);
  /// The same over a queue of paths, whose first component is a string: skips to the next file at the end of one, and
  /// files without records. None: the end of the queue.
  [[nodiscard]] Result<std::vector<ReadRecord>> read(Queue& works, std::int64_t count,
                                                     const StopCheck* check = nullptr);

  [[nodiscard]] const Counters& counters() const;
  void reset();  ///< Counters to 0; the open file is forgotten.

  /// The open file, the records that were read of it, and the counters: versioned JSON.
  [[nodiscard]] std::string state() const;
  /// Goes on where the state was taken. Fails with Code::state for text that is no state of a reader of this kind, and
  /// when the file has fewer records now or cannot be read. The reader is unchanged then.
  [[nodiscard]] Result<void> restore(std::string_view state);

 private:
  struct Body;
  explicit RecordReader(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace forebay
