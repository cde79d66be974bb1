// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/error.h>

namespace forebay {

class Traffic;  // forebay/traffic.h

/// One version of one file of a FileSystem. Two versions that are equal have the same bytes.
struct FileVersion {
  std::int64_t size = 0;      ///< Bytes.
  std::uint64_t version = 0;  ///< Hash of the ETag, the generation, or what else changes when the file is replaced. 0:
                              ///< nothing does but its size.
};

/// A file that a folder has.
struct ListedFile {
  std::string path;                    ///< Whole.
  std::optional<FileVersion> version;  ///< As FileSystem::find would have answered then. None: the list does not tell.
};

/// A request for bytes of one version of a file.
struct ReadRequest {
  std::string path;
  FileVersion version;      ///< Bytes of another version are never given.
  std::int64_t offset = 0;  ///< At least one byte from here on is in the file.
  std::span<std::byte> out;
  std::shared_ptr<std::byte> memory;  ///< Owns `out` until the request is answered.
  /// Expires when nobody needs the bytes any more: the run was closed. Any answer does then, at once.
  std::weak_ptr<const void> wanted;
  std::shared_ptr<Traffic> traffic;  ///< Where what it costs is counted. Null: nowhere.
};

/// The beginning of a file, as one request gives it.
struct FileBeginning {
  FileVersion version;    ///< Of the whole file.
  std::size_t bytes = 0;  ///< So many of its first bytes came.
};

/// The address of a file: for http and https with its user and password, and with the signature of a presigned address.
/// A FileSystem is given paths without them, and so are states, record keys and messages: they are secrets, and others
/// at each start of a program. Every other path is its own address.
[[nodiscard]] std::string address_of(const std::string& path);

/// The files of one scheme, such as `s3://`: finds them and reads ranges of them, any number of requests at once.
///
/// No function waits. Each answers once, on any thread, also before it returns, and never with a lock held that it
/// takes itself. The engine decides how many requests are in flight, where their bytes go, and what happens when fewer
/// bytes come than were asked for; a FileSystem decides how often it tries. Thread-safe, and never destroyed.
class FileSystem {
 public:
  using Found = std::function<void(Result<FileVersion>)>;
  using Answer = std::function<void(Result<std::size_t>)>;
  using Begun = std::function<void(Result<FileBeginning>)>;
  using Listed = std::function<void(Result<std::vector<ListedFile>>)>;
  virtual ~FileSystem() = default;
  /// Answers with the present version of the file. Fails with Code::io, not_found, when there is no such file.
  virtual void find(const std::string& path, Found found) = 0;
  /// Writes the next bytes to `request.out` and answers with their number, at least one. Fails with Code::io, and with
  /// Code::data, failed_precondition, when the file is not that version any more.
  virtual void read(ReadRequest request, Answer answer) = 0;
  /// As `find`, and writes the first bytes of that version to `request.out`: at least one, unless the file is empty.
  /// `request.version` and `request.offset` say nothing. A FileSystem that has no single request for both needs not
  /// override it.
  virtual void find_and_read(ReadRequest request, Begun begun);
  /// Whether `list` works. Where it does not, `*`, `?` and `[` in a path mean themselves.
  [[nodiscard]] virtual bool lists() const { return false; }
  /// Answers with the files in `folder`, which ends with `/`, in any order; `deep`: and with all files below it. A
  /// folder that does not exist has no files. Runs do not ask again for the versions that a list tells, when
  /// those of one file are the same.
  virtual void list(const std::string& folder, [[maybe_unused]] bool deep, Listed listed) {
    listed(Error{Code::config, Detail::invalid_argument, "'" + folder + "': files of this scheme cannot be listed"});
  }
};

inline void FileSystem::find_and_read(ReadRequest request, Begun begun) {
  const std::string path = request.path;
  find(path, [this, request = std::move(request), begun = std::move(begun)](const Result<FileVersion>& found) mutable {
    if (!found.ok()) return begun(found.error());
    const FileVersion version = *found;
    const std::size_t bytes = std::min(request.out.size(), static_cast<std::size_t>(version.size));
    if (bytes == 0) return begun(FileBeginning{.version = version});
    request.version = version;
    request.offset = 0;
    request.out = request.out.first(bytes);
    read(std::move(request), [version, begun = std::move(begun)](const Result<std::size_t>& count) {
      if (!count.ok()) return begun(count.error());
      begun(FileBeginning{.version = version, .bytes = *count});
    });
  });
}

/// Names the file system of all paths that begin with `scheme` and "://": a letter, then letters, digits, `+`, `.` or
/// `-`. Plans that are made later use it; a file system that was named before stays with those that have it. Fails with
/// Code::config for another text.
Result<void> add_file_system(const std::string& scheme, std::shared_ptr<FileSystem> system);

/// Makes the file system of a scheme that has none, when a plan names such a path; an error says why there is none, and
/// null leaves it to Forebay, which reads http, https and s3. Any thread may call it. An empty function: all is left to
/// Forebay, as at the beginning.
using SchemeFinder = std::function<Result<std::shared_ptr<FileSystem>>(const std::string& scheme)>;
void find_schemes_with(SchemeFinder finder);
[[nodiscard]] SchemeFinder scheme_finder();  ///< Empty: none was named.

/// Whether a file system reads the path; false for a local one. Fails with Code::config for a scheme that nothing
/// reads.
[[nodiscard]] Result<bool> has_file_system(const std::string& path);

/// Waits for the present version of a file that a file system reads. Fails as FileSystem::find, and with
/// Code::config for a local file.
[[nodiscard]] Result<FileVersion> find_version(const std::string& path);
/// Waits for the bytes of that version from `begin` to before `end`; fewer where the file ends. Fails as
/// FileSystem::read.
[[nodiscard]] Result<std::string> read_range(const std::string& path, const FileVersion& version, std::int64_t begin,
                                             std::int64_t end);

/// Asks the program about every 20 ms, on the thread that waits, while a plan or a tool waits for files of other
/// machines: false ends the wait, with Code::cancelled. The threads of a run are not asked: `close` ends their waits.
void ask_while_waiting(std::function<bool()> go_on);

}  // namespace forebay
