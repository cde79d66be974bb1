// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <forebay/file_system.h>

namespace forebay {

namespace queues {
class FileQueue;
}

/// A request to a file system, in the hands of a thread of the program, which answers it once. One that is dropped
/// without an answer fails.
class FileJob {
 public:
  struct Find {
    FileSystem::Found answer;
  };
  struct Read {
    ReadRequest request;
    FileSystem::Answer answer;
  };
  struct List {
    bool deep = false;
    FileSystem::Listed answer;
  };
  using What = std::variant<Find, Read, List>;

  FileJob(std::string path, What what) : path_{std::move(path)}, what_{std::make_unique<What>(std::move(what))} {}
  FileJob(FileJob&&) noexcept = default;
  FileJob& operator=(FileJob&&) noexcept = default;
  FileJob(const FileJob&) = delete;
  FileJob& operator=(const FileJob&) = delete;
  ~FileJob();

  [[nodiscard]] const std::string& path() const { return path_; }  ///< Of a list: the folder.
  [[nodiscard]] bool answered() const { return !what_; }
  [[nodiscard]] bool wanted() const;  ///< False: nobody needs the answer any more. Any answer does, then.
  /// Null where the request is of another kind, or answered.
  [[nodiscard]] const ReadRequest* read() const;
  [[nodiscard]] const List* list() const;
  [[nodiscard]] bool is_find() const;

  // Each answers a request of its kind that is not answered, and else does nothing.
  void found(FileVersion version);
  void read_bytes(std::size_t count);  ///< So many are in `read()->out`.
  void listed(std::vector<ListedFile> files);
  void fail(const Error& error);  ///< Of any kind.

 private:
  std::string path_;
  std::unique_ptr<What> what_;  // null: answered
};

/// The files of one scheme, read by threads of the program: requests wait in a queue until a thread takes them.
///
///     engine    find, read, list ─► queue ─► take       a thread of the program
///               Found, Answer, Listed     ◄── FileJob    which answers
///
/// A thread must not wait for an answer while it holds a lock that `take`'s threads need. Thread-safe.
class QueuedFiles {
 public:
  explicit QueuedFiles(bool lists);                          ///< As FileSystem::lists.
  [[nodiscard]] std::shared_ptr<FileSystem> system() const;  ///< For add_file_system.
  /// Waits for a request that somebody wants. None after `close`.
  [[nodiscard]] std::optional<FileJob> take() const;
  [[nodiscard]] bool needs_thread() const;  ///< No thread is left to wait for the next request.
  void close() const;                       ///< All requests that wait fail, and so do later ones.

 private:
  std::shared_ptr<queues::FileQueue> queue_;
};

}  // namespace forebay
