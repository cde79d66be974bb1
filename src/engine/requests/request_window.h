// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// How many bytes a run asks for ahead of the reads of files that go from their beginning to their end, all together:
/// two thirds are divided among the files that the order reads now, one third is for those that are opened ahead. When
/// the former have asked for all that they have, the latter get what is left. Of these, as many as the order reads now
/// ask for bytes, those that were opened first. Thread-safe.
class RequestWindow {
 public:
  RequestWindow(std::shared_ptr<BufferPool> pool, std::int64_t max_requests);
  void close() EXCLUDES(mutex_);                                             ///< Nothing may be asked for any more.
  [[nodiscard]] std::int64_t max_requests() const { return max_requests_; }  ///< In flight at once.

  /// A whole file of so many bytes was read.
  void saw(std::int64_t bytes) EXCLUDES(mutex_);
  /// Bytes that the next whole file is likely to have at most. 0: that is not known, or too many to ask for unseen.
  [[nodiscard]] std::int64_t likely() const EXCLUDES(mutex_);

  /// The bytes that one file has asked for ahead.
  class Share {
   public:
    explicit Share(std::shared_ptr<RequestWindow> window);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    void need();                         ///< The order reads this file now. It always gets at least one range.
    void ends(bool all_asked);           ///< Whether all of the file was asked for.
    [[nodiscard]] std::int64_t grant();  ///< Bytes that may be asked for now; 0: none. They count until `give_back`.
    [[nodiscard]] bool may_grant() const;
    /// Counts `bytes` that are asked for now; false: they have no room. A file that the order reads always has room for
    /// its first request.
    [[nodiscard]] bool take(std::int64_t bytes);
    [[nodiscard]] bool may_take(std::int64_t bytes) const;
    void give_back(std::int64_t bytes);

   private:
    friend class RequestWindow;
    void hold(std::int64_t bytes) REQUIRES(window_->mutex_);
    const std::shared_ptr<RequestWindow> window_;
    const std::int64_t number_;  // in the order in which they were made
    std::int64_t held_ = 0;
    bool needed_ = false;
    bool ends_ = false;
  };

 private:
  [[nodiscard]] std::int64_t bytes_for(const Share& share) const REQUIRES(mutex_);
  [[nodiscard]] bool fits(const Share& share, std::int64_t bytes) const REQUIRES(mutex_);
  [[nodiscard]] std::int64_t grant(const Share& share) const REQUIRES(mutex_);

  const std::shared_ptr<BufferPool> pool_;
  const std::int64_t max_requests_;
  const std::int64_t bytes_;  // of all files together
  const std::int64_t range_;  // bytes of one request, where a share allows so many
  mutable Mutex mutex_;
  std::int64_t shares_ GUARDED_BY(mutex_) = 0;        // that were made
  std::set<std::int64_t> asking_ GUARDED_BY(mutex_);  // numbers of those that are not needed and ask for more
  std::int64_t needed_ GUARDED_BY(mutex_) = 0;        // shares that are needed
  std::int64_t ended_ GUARDED_BY(mutex_) = 0;         // those of them that have asked for all
  std::int64_t held_ GUARDED_BY(mutex_) = 0;          // bytes held by shares that are needed
  std::int64_t ahead_ GUARDED_BY(mutex_) = 0;         // bytes held by the others
  std::int64_t largest_ GUARDED_BY(mutex_) = 0;       // bytes of whole files; those that are long ago count less
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::engine
