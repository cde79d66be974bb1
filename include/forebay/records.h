// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
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
/// with Code::data and the place for what is corrupt or changes meanwhile.
[[nodiscard]] Result<std::vector<std::string>> read_records(const std::string& path,
                                                            Compression compression = Compression::automatic);
/// Writes a TFRecord file, replacing what was there only when complete. Fails as RecordWriter does.
[[nodiscard]] Result<void> write_records(const std::string& path, const std::vector<std::string>& records,
                                         Compression compression = Compression::none);

/// Writes a TFRecord file record by record, in memory that does not depend on their number. What was there before is
/// replaced only by `finish`; without it nothing is left behind. What the system refuses (a folder that is not there, a
/// full disk) fails with Code::io and the path.
class RecordWriter {
 public:
  /// Fails with Code::config for Compression::automatic, which says nothing about a file that is to be written.
  [[nodiscard]] static Result<RecordWriter> create(const std::string& path,
                                                   Compression compression = Compression::none);
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  [[nodiscard]] Result<void> write(std::span<const std::byte> record);
  /// Brings everything to disk and into place. Nothing may be written afterwards, or after a failure.
  [[nodiscard]] Result<void> finish();

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
/// Fails with Code::data for a message that is no tf.train.Example.
[[nodiscard]] Result<ExampleMap> decode_example(std::string_view message);

}  // namespace forebay
