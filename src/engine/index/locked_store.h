// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::engine {

/// A store that is open for writing, locked against the writers of other processes and threads until it is destroyed.
///
///     open: folder and store are created ─► lock (advisory) ─► append …, or the path is replaced by a new store
///
/// The bytes of a store never change once they are written, except that `append` takes back what it could not write
/// whole. A store shrinks only when another one is renamed to its path. Its owner calls it from one thread.
class LockedStore {
 public:
  /// Opens the store at `path`, and creates it and its folder if necessary. Only users who may read the data file
  /// `file` may read the store afterwards. Fails with Code::io: when the store cannot be written, when it or its folder
  /// is a link, and when another writer has held the lock for seconds.
  [[nodiscard]] static Result<LockedStore> open(const std::string& path, const std::string& file);
  LockedStore(LockedStore&& other) noexcept;
  LockedStore& operator=(LockedStore&&) = delete;
  /// Unlocks. Removes a store that this object has created and that has no entry.
  ~LockedStore();

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Appends the bytes of all pieces. A failure leaves the store as it was.
  [[nodiscard]] Result<void> append(std::span<const std::span<const std::byte>> pieces);
  /// Removes the unfinished files of writers that were killed while they replaced the store.
  void sweep() const;

 private:
  LockedStore() = default;
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes) const;
  [[nodiscard]] Result<bool> open_once(const std::string& file);  // false: the path was replaced meanwhile
  [[nodiscard]] Result<void> narrow(const std::string& file) const;

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  bool created_folder_ = false;
};

}  // namespace forebay::engine
