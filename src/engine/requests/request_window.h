// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// How many bytes a run asks for ahead of the reads of files that go from their beginning to their end, all together:
/// two thirds are divided among the files that the order reads now, one third is for those that are opened ahead.
/// Thread-safe.
class RequestWindow {
 public:
  RequestWindow(std::shared_ptr<BufferPool> pool, std::int64_t max_requests);
  void close() EXCLUDES(mutex_);                                             ///< Nothing may be asked for any more.
  [[nodiscard]] std::int64_t max_requests() const { return max_requests_; }  ///< In flight at once.

  /// The bytes that one file has asked for ahead.
  class Share {
   public:
    explicit Share(std::shared_ptr<RequestWindow> window) : window_{std::move(window)} {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    void need();                         ///< The order reads this file now. It always gets at least one range.
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
    std::int64_t held_ = 0;
    bool needed_ = false;
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
  std::int64_t needed_ GUARDED_BY(mutex_) = 0;  // shares that are needed
  std::int64_t ahead_ GUARDED_BY(mutex_) = 0;   // bytes held by the others
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::engine
