// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/error.h>
#include <forebay/plugin.h>
#include <forebay/records.h>

namespace forebay {

/// A file that is written from its beginning to its end, and is there only when it is complete.
///
///     create ─► a file of another name beside it ─► write … ─► finish: check, sync, rename
///
/// Its owner calls it from one thread at a time. Without `finish`, and when it fails, nothing remains, and an old file
/// stays. Fails with Code::io and the path.
class OutputFile {
 public:
  using Check = std::function<Result<void>(const std::string& path)>;

  /// Compression::automatic is none. `level`: of the compression, small is fast; empty: its default. Fails with
  /// Code::config for a level that the compression does not have.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, Compression compression = Compression::none,
                                                 std::optional<std::int64_t> level = {});
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  /// Gives the file its path with what was written so far, synced to disk, and goes on: a later failure, or no
  /// `finish`, leaves that. Fails with Code::config for zlib, whose files are one stream.
  [[nodiscard]] Result<void> flush();
  /// Renames the file to its path. A `check` may read the complete file at the path that it is given, and refuse it.
  [[nodiscard]] Result<void> finish(const Check& check = {});

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes each row of a batch that came from a record as a tf.train.Example, as `encode_example` does. Integers and
/// bool become int64 lists, float16 and float32 float lists, strings bytes lists; a tensor with more axes becomes one
/// list. A feature without values is left out.
///
/// Fails with Code::data, and writes no row, for tensors that an Example cannot hold: float64 and complex numbers,
/// integers above the range of int64, rows with lists in lists, sparse ones.
[[nodiscard]] Result<void> write_examples(const Batch& batch, RecordWriter& writer);

/// Writes each row as a tf.train.SequenceExample: the tensors of `lists` as lists with a feature for each frame, the
/// others as features of the context. The first axis of a list is its frames; what a frame has, in any shape or as a
/// list, are its values. A list without frames, and a frame without values, is written as such. Where rows are one list
/// each, a ragged int64 tensor `lengths(NAME)` beside the list NAME cuts them into frames of so many values.
///
/// Fails as `write_examples` does, and for a name that is no tensor, or a tensor without an axis of frames.
[[nodiscard]] Result<void> write_sequence_examples(const Batch& batch, const std::vector<std::string>& lists,
                                                   RecordWriter& writer);

/// A digest of rows: equal for equal values, row lengths and names in the same order of rows, however the rows are cut
/// into batches (up to hash collisions). Within a row of one size, shapes do not count; numbers count as the bytes
/// of their dtype. A tensor with its `lengths` beside it (`write_sequence_examples`) counts as one of lists in lists.
class RowDigest {
 public:
  /// Adds the rows of a batch that came from records. Fails with Code::config for sparse tensors.
  [[nodiscard]] Result<void> add(const Batch& batch);
  [[nodiscard]] std::string text() const;  ///< "ROWS rows NAME:HASH …", names sorted.
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  struct Sums {
    std::uint64_t values = 0;
    std::uint64_t sizes = 0;            // of strings
    std::vector<std::uint64_t> levels;  // of ragged tensors: the lengths of each level
  };
  std::int64_t rows_ = 0;
  std::map<std::string, Sums> tensors_;
};

/// A feature of the Examples in files.
struct StoredFeature {
  std::string name;
  std::string kind;          ///< "int", "float", "bytes"; "mixed": records differ; "none": it never has a kind.
  std::int64_t records = 0;  ///< With at least one value.
  std::int64_t min = 0;      ///< Least number of values in a record; 0 where a record does not have it.
  std::int64_t max = 0;
  bool text = false;  ///< Of bytes: all are UTF-8.
};
/// A list of the SequenceExamples in files, with one feature a frame.
struct StoredList {
  std::string name;
  std::string kind;         ///< As of a feature.
  std::int64_t frames = 0;  ///< In all records.
  std::int64_t min = 0;     ///< Least number of values in a frame.
  std::int64_t max = 0;
  bool text = false;  ///< Of bytes: all are UTF-8.
};
struct StoredFeatures {
  std::int64_t records = 0;
  std::vector<StoredFeature> features;  ///< By name. Of SequenceExamples: those of the context.
  std::vector<StoredList> lists;        ///< By name.
};

/// Looks at every record of TFRecord files, several at once: which features there are. `go_on` is asked from time to
/// time by the calling thread; false ends the work with Code::cancelled. Fails with Code::data and the place for what
/// is corrupt or neither an Example nor a SequenceExample, and with Code::io.
[[nodiscard]] Result<StoredFeatures> features_of_examples(const std::vector<std::string>& files,
                                                          Compression compression = Compression::automatic,
                                                          std::int64_t threads = 0,
                                                          const std::function<bool()>& go_on = {});

}  // namespace forebay
