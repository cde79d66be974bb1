// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/error.h>

namespace forebay::tools {

/// What a file is: the name of a source, or one of the kinds below.
struct FileKind {
  static constexpr const char* parquet = "parquet";
  static constexpr const char* arrow_file = "arrow_file";
  static constexpr const char* media = "whole_file";  ///< An image or a clip, which is one record.

  std::string source;     ///< Empty: unknown.
  std::string why = {};   ///< Of an unknown one: what it is, or that nothing is known.
  std::string head = {};  ///< The first bytes of its content, decompressed: up to 64 KiB.
};

/// Looks at the first bytes of a file, decompressed if they are compressed, and then at its name. Fails with Code::io,
/// and with Code::data for corrupt compressed data.
[[nodiscard]] Result<FileKind> kind_of_file(const std::string& path);

/// A file's name without the number of a shard, wherever it stands: "a.tfrecord" of "a-00000-of-00012.tfrecord".
[[nodiscard]] std::string without_shard_number(std::string name);

/// The end of a file's name that says what it is, in lower case: ".tfrecords.gz" of "a-00000-of-00012.tfrecords.gz",
/// ".tfrecord" of "a.tfrecord-00001-of-00010"; empty when there is none.
[[nodiscard]] std::string ending_of(const std::string& path);

}  // namespace forebay::tools
