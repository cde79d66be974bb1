// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/describe.h>
#include <forebay/record.h>
#include <forebay/rows.h>

namespace forebay {

struct ListedFile;  // forebay/file_system.h
namespace io {
class RandomAccessFile;  // src/io/file_system.h
class FolderLists;       // src/io/patterns.h
}  // namespace io

/// How a file's bytes are compressed.
enum class Compression : std::uint8_t { none, gzip, zlib, zstd, bzip2, xz, automatic };
template <>
struct EnumNames<Compression> {
  static constexpr std::array<std::string_view, 7> names{"none", "gzip", "zlib", "zstd", "bzip2", "xz", "auto"};
};

// ---------------------------------------------------------------- formats: bytes → records

/// The result of a scan.
struct Scanned {
  std::size_t consumed = 0;  ///< Bytes that this scan is done with; the next one starts after them.
  /// Bytes that must be available before more can be found; 0 when the scan stopped at its limit or at the end.
  std::size_t wanted = 0;
};

/// The result of a search for the next intact record.
struct Resync {
  std::size_t at = 0;      ///< No intact record begins before this offset.
  bool found = false;      ///< An intact record begins at `at`.
  std::size_t wanted = 0;  ///< Not found: bytes needed to decide about `at`; 0 at the end.
};

/// How the bytes of a file split into records. Immutable; any thread may call.
class Format {
 public:
  virtual ~Format() = default;
  /// Finds the records at the beginning of `bytes`, appends their extents (offsets from the beginning of `bytes`) and
  /// stops after the record that reaches `limit` bytes. `offset` is where `bytes` begin in the (uncompressed) file;
  /// `last` says that the file ends where they end. An error says where; records found before it are in `records` and
  /// are delivered first.
  [[nodiscard]] virtual Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last,
                                             std::size_t limit, std::vector<Extent>& records) const = 0;
  /// Checks the payloads of records whose bytes are in the processor's cache. `trailer()` bytes after each payload may
  /// be read; where the file ends before them, they are zeros. The row of an error's place is the index of the first
  /// record that fails.
  [[nodiscard]] virtual Result<void> verify(std::span<const Record> records) const = 0;
  /// Finds the next record after corruption: the first place from `from` on where a record begins whose checksums are
  /// right and whose length is allowed. `offset` and `last` as in `scan`. `kept` is memory of the format for one file,
  /// empty at first. It keeps the work of all calls for a file linear in its bytes.
  [[nodiscard]] virtual Resync resync(std::span<const std::byte> bytes, [[maybe_unused]] std::int64_t offset,
                                      [[maybe_unused]] std::size_t from, [[maybe_unused]] bool last,
                                      [[maybe_unused]] std::shared_ptr<void>& kept) const {
    return {.at = bytes.size()};  // unknown: all the rest is unreadable
  }
  /// Whether `compare` must be called: each record of a file, in the order of the file, when it is found.
  [[nodiscard]] virtual bool compares() const { return false; }
  /// Compares a record with those before it in the file. A failure means that the record is corrupt, and those after it
  /// may be right. `kept` is memory of the format for one file and one reader, empty at first, also when the reader
  /// begins inside the file.
  [[nodiscard]] virtual Result<void> compare([[maybe_unused]] Record record,
                                             [[maybe_unused]] std::shared_ptr<void>& kept) const {
    return {};
  }
  /// Called after `scan` failed. Returns how many of these bytes, from the first on, may be padding after the last
  /// record or after the end of compressed data. Padding is not a fault as long as nothing else follows it.
  [[nodiscard]] virtual std::size_t padding([[maybe_unused]] std::span<const std::byte> bytes) const { return 0; }
  /// The offset of the record whose payload begins at `payload`, in the (uncompressed) file.
  [[nodiscard]] virtual std::int64_t record_offset(std::int64_t payload) const { return payload; }
  /// Whether the files are text: errors then say the line at which their place lies.
  [[nodiscard]] virtual bool text() const { return false; }
  /// How many bytes after a payload `verify` reads, such as a checksum; at most 64. They are copied together with the
  /// payload, and `scan` finds only records whose trailer is in `bytes`.
  [[nodiscard]] virtual std::size_t trailer() const { return 0; }
  /// Whether `verify` and `resync` know an intact record by a checksum. Without checksums, a compressed file whose
  /// first bytes are corrupt is never taken for a plain one.
  [[nodiscard]] virtual bool has_checksums() const { return false; }
  /// The key of record `record` of `file`, whose `record_offset` is `offset`: the default is "file:offset".
  [[nodiscard]] virtual std::string key(std::string_view file, [[maybe_unused]] std::int64_t record,
                                        std::int64_t offset) const {
    return std::string{file} + ":" + std::to_string(offset);
  }
  /// How a file that begins with `head` (64 bytes, or the whole file) is compressed, for `compression: auto`. The
  /// default knows the magic bytes of gzip, zstd, bzip2 and xz. The two bytes of a zlib header may begin a text file
  /// ("80", "x "), so only a format that can tell its own files from zlib may return it.
  [[nodiscard]] virtual Compression detect(std::span<const std::byte> head) const;
};

/// A bound source. It is of one of two kinds:
///
/// * Files: a format splits them into records, and a decoder makes rows of the records.
/// * Rows that come ready: `rows` is set, there is no format, and the document has no decoder.
struct Source {
  /// Options that a source decides for the decoder of that name. The document may not give them.
  struct Decides {
    std::string decoder = {};  ///< Empty: none.
    Json options = {};         ///< An object; an option that is null stays undecided.
  };
  std::vector<std::string> files;  ///< Patterns expanded, relative paths resolved. Of rows: the names of the parts.
  Compression compression = Compression::none;
  std::shared_ptr<const Format> format;
  /// A compressed file with more content than this is an error.
  std::int64_t max_decompressed_bytes = INT64_MAX;
  /// The first pass of a run goes through a compressed file once before it delivers the first record of it, so that no
  /// record of a stream whose checksum is wrong is delivered. bzip2 checks blocks before it delivers them in any case.
  bool verify_first = false;
  std::string signature = {};  ///< Names the format and the options that change its records. An index stores it.
  /// Not 0: each file is one record, and a part, which orders of files move, is so many consecutive files of the list.
  /// 0: a part is a file, and the format finds its records.
  std::int64_t files_a_part = 0;
  std::int64_t max_file_bytes = INT64_MAX;  ///< With `files_a_part`: a larger file is an error.

  Decides decides = {};  ///< The dialect of the records, which their decoder must know.

  [[nodiscard]] std::size_t parts() const;
  [[nodiscard]] std::int64_t files_of(std::size_t part) const;  ///< Number of files of a part.
  /// The place of record `record` of a part. `offset`: that of the record in a part that is a file.
  struct Located {
    std::size_t file = 0;     ///< Its file, as an index of `files`.
    std::int64_t record = 0;  ///< Its ordinal in the file.
    std::int64_t offset = 0;  ///< Its offset in the (uncompressed) file.
  };
  [[nodiscard]] Located locate(std::size_t part, std::int64_t record, std::int64_t offset) const;
  std::shared_ptr<const RowSource> rows = {};  ///< Set: rows that come ready.
  std::string record_key = {};                 ///< Name of a tensor that has the key of each row; empty: none.
  /// The key of a record, as Format::key makes it; of rows that come ready "part:row".
  [[nodiscard]] std::string key(const Located& at) const;
};

/// A source of rows that come ready.
[[nodiscard]] Source rows_of(std::shared_ptr<const RowSource> rows);

/// What `bind` of a source may ask for besides its options.
struct BindContext {
  std::string folder;  ///< Relative paths are relative to it.
  Bindings bindings;   ///< The objects that the program gives.
  /// Opens a file of any scheme, for a source that looks into one when it is bound. Empty: local files only.
  std::function<Result<std::shared_ptr<const io::RandomAccessFile>>(const std::string& path)> open = {};
  std::shared_ptr<io::FolderLists> lists = {};  ///< What is asked for once by all sources. Null: each asks.
  /// Takes the version of a file that a list told, so that no run asks for it again. Empty: all are asked for.
  std::function<void(const ListedFile& file)> listed = {};
};

struct SourceType {
  Description description;
  bool rows = false;  ///< Rows come ready from files: a document has no `decode`.
  std::function<Result<Source>(const Json& options, const BindContext& context)> bind;
  template <class Options>
  using Bind = Result<Source> (*)(const Options&, const BindContext&);
};

}  // namespace forebay
