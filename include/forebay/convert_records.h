// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/json_codec.h>
#include <forebay/plugin.h>

/// Conversions of files into other files (docs/convert.md).
namespace forebay {

/// What a conversion does with output files that are there.
enum class ExistingOutput : std::uint8_t {
  refuse,   ///< An error, before anything is written.
  resume,   ///< Goes on with a conversion of the same inputs and options: files that are there are complete.
  replace,  ///< Removes them first.
};
template <>
struct EnumNames<ExistingOutput> {
  static constexpr std::array<std::string_view, 3> names{"refuse", "resume", "replace"};
};

/// The format that a name stands for, with or without the ending of a compression: "parquet", "arrow", "tar", "csv",
/// "npy", "npz" or "tfrecord", which a name without an ending is, too. Empty: the ending is that of none of them.
[[nodiscard]] std::string file_format(std::string_view path);
/// The compression that a name ends in: .gz, .zz (zlib), .zst, .bz2 or .xz; else none.
[[nodiscard]] Compression compression_by_name(std::string_view path);

/// The part of a conversion that one process does: the files index, index + count, …
struct ConvertShard {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

/// The path of output file `number` of `files`: `out` itself for one file, else "a.csv.gz" becomes
/// "a-00002-of-00008.csv.gz". What follows the first dot of the name, after its first character, stays at the end.
[[nodiscard]] std::string output_file(const std::string& out, std::int64_t number, std::int64_t files);

/// Begins a conversion, or goes on with one: makes the folder of `out`, and stores `what`, a JSON object of all inputs
/// and options that decide the content of the files, in its folder `.forebay`. Each shard has a note of its own.
/// Returns the numbers of the files of the shard that are to be made.
///
/// Fails with Code::config for a shard that there is not, and when files exist that must not; with Code::state when the
/// conversion to go on with was another one; with Code::io.
[[nodiscard]] Result<std::vector<std::int64_t>> begin_conversion(const std::string& out, std::int64_t files,
                                                                 const ConvertShard& shard, ExistingOutput existing,
                                                                 const Json& what);
/// What identifies input files in such a note: their number, their bytes, and a hash of their names (without folders)
/// and sizes. Fails with Code::io for a file that is not there.
[[nodiscard]] Result<Json> identity_of_inputs(const std::vector<std::string>& files);

struct ConvertProgress {
  std::int64_t files = 0;  ///< To be made by this call.
  std::int64_t files_done = 0;
  std::int64_t records = 0;  ///< In these files.
  std::int64_t records_done = 0;
};

struct ConvertRecordsOptions {
  Compression input_compression = Compression::automatic;
  Compression compression = Compression::automatic;  ///< Of the output. automatic: as its name says.
  std::int64_t files = 1;       ///< Output files, with numbers of records that differ by 1 at most.
  std::int64_t file_bytes = 0;  ///< Instead of `files`: about as many bytes of records, uncompressed, in each file.
  bool shuffle = false;         ///< In the order of a global shuffle with `seed`; otherwise in the order of the inputs.
  std::int64_t seed = 0;
  ConvertShard shard = {};
  ExistingOutput existing = ExistingOutput::refuse;
  std::int64_t threads = 0;  ///< Files at once, at most 1024; 0: one for every CPU this process may use.
  bool index = true;         ///< Store the indexes of the files that are made.
  /// Called by the calling thread from time to time. False ends the work with Code::cancelled; complete files stay.
  std::function<bool(const ConvertProgress&)> progress = {};
};

struct ConvertedFile {
  std::string path;
  std::int64_t records = 0;
  bool made = false;  ///< By this call; false: it was complete.
};

/// Writes the records of TFRecord files to other TFRecord files, as they are: divides them anew, shuffles them,
/// compresses them. Reads the indexes of the inputs, and makes missing ones. A file depends on inputs, options and its
/// number only. It is written beside its path, read back and compared with what was written, and then renamed.
///
/// Returns the files of the shard. Fails with Code::config for options out of their range, as `begin_conversion` does,
/// with Code::data for corrupt inputs, and with Code::io; the file that failed is not there, those before it may be.
[[nodiscard]] Result<std::vector<ConvertedFile>> convert_records(const std::vector<std::string>& patterns,
                                                                 const std::string& out,
                                                                 const ConvertRecordsOptions& options = {});

}  // namespace forebay
