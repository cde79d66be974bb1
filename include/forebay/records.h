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
#include <string_view>
#include <variant>
#include <vector>

#include <forebay/error.h>
#include <forebay/plugin.h>

/// Whole-file tools: for tests, conversions and small jobs; a training job uses a Loader.
namespace forebay {

/// Every record of a TFRecord file, checksums verified. Fails with Code::io for a file that cannot be opened or read,
/// with Code::data and the place for a file that is corrupt or changes meanwhile.
[[nodiscard]] Result<std::vector<std::string>> read_records(const std::string& path,
                                                            Compression compression = Compression::automatic);
/// CRC-32C (Castagnoli) of the bytes, which record files store in a masked form; by the processor's own instruction
/// where it has one.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// A record of a file, valid during the call.
struct RecordView {
  std::string_view bytes;
  std::int64_t number = 0;  ///< Ordinal in the file, from 0.
  std::int64_t offset = 0;  ///< Offset of its first byte, header included, in the (uncompressed) file.
};

struct EachRecordOptions {
  Compression compression = Compression::automatic;
  /// Called by the reading thread after every block of about 1 MiB; false ends the reading with Code::cancelled.
  std::function<bool()> go_on = {};
};

/// Calls `visit` for the records of a TFRecord file in their order, checksums verified, in memory that does not depend
/// on their number; false ends the reading without an error. Fails as `read_records` does, after the records before the
/// fault.
[[nodiscard]] Result<void> each_record(const std::string& path, const std::function<bool(const RecordView&)>& visit,
                                       const EachRecordOptions& options = {});

/// Writes a TFRecord file. An existing file is replaced only when the new one is complete. Fails as RecordWriter does.
[[nodiscard]] Result<void> write_records(const std::string& path, const std::vector<std::string>& records,
                                         Compression compression = Compression::none);

/// Writes a TFRecord file record by record, in memory that does not depend on their number. An existing file is
/// replaced only by `finish`; without `finish` no new file remains. A failure of the system (a missing folder, a full
/// disk) is an error with Code::io and the path.
class RecordWriter {
 public:
  /// `level`: of the compression, small is fast; empty: its default. Fails with Code::config for a level that the
  /// compression does not have, and for Compression::automatic, which has no meaning for writing.
  [[nodiscard]] static Result<RecordWriter> create(const std::string& path, Compression compression = Compression::none,
                                                   std::optional<std::int64_t> level = {});
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  [[nodiscard]] Result<void> write(std::span<const std::byte> record);
  /// Syncs the records so far to disk and gives the file its path: readers see them, and they stay when no `finish`
  /// follows. Fails with Code::config for zlib, whose files are one stream.
  [[nodiscard]] Result<void> flush();
  /// Syncs the file to disk and renames it to its path. No record may be written afterwards, or after a failure.
  [[nodiscard]] Result<void> finish();
  /// The same, if `check` finds no fault in the complete file, which it may read at the path that it is given.
  [[nodiscard]] Result<void> finish(const std::function<Result<void>(const std::string& path)>& check);

 private:
  struct State;
  explicit RecordWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

using FeatureValue =
    std::variant<std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>, std::monostate>;
/// A tf.train.Example by feature name; monostate is a feature without a kind.
using ExampleMap = std::map<std::string, FeatureValue>;
[[nodiscard]] std::string encode_example(const ExampleMap& features);  ///< Packed lists, keys sorted.
/// Fails with Code::data for a message that is not a tf.train.Example.
[[nodiscard]] Result<ExampleMap> decode_example(std::string_view message);

/// The message of a tf.train.Example in JSON text, by protobuf's rules for JSON: bytes are base64, integers may be
/// text, NaN and infinities are text, names are `bytesList` or `bytes_list`. Lists are packed, keys in the order of the
/// text. Fails with Code::data and line, column and feature for text that is not JSON, an unknown or repeated name, and
/// a value of a wrong type or out of range.
[[nodiscard]] Result<std::string> decode_json_example(std::string_view json);

/// A tf.train.SequenceExample: features of the whole sequence, and lists with a feature for each step.
struct SequenceExampleMap {
  ExampleMap context;
  std::map<std::string, std::vector<FeatureValue>> lists;
};
[[nodiscard]] std::string encode_sequence_example(const SequenceExampleMap& sequence);  ///< Packed lists, keys sorted.
/// Fails with Code::data for a message that is not a tf.train.SequenceExample.
[[nodiscard]] Result<SequenceExampleMap> decode_sequence_example(std::string_view message);

/// Whether a message has feature lists: a tf.train.SequenceExample has them, an Example does not.
[[nodiscard]] bool has_feature_lists(std::string_view message);

}  // namespace forebay
