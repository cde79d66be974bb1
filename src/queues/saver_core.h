// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/state_saver.h>

#include "queues/live_example.h"
#include "queues/saver_memory.h"
#include "queues/segment_content.h"

namespace forebay::queues {

/// How long a call may wait.
struct SaverWait {
  std::chrono::milliseconds longest;
  const StopCheck* check;  // polled during the wait, without the mutex; may be null
};

/// The examples of a state saver and the order of their segments. Thread-safe; shared by the saver and its batches.
///
///     insert ─► fresh_ ──► a batch ──► all saved: continuing_, or its row ──► a batch … ──► done, with the last
///     segment
///                             └─ the batch goes before that: stuck_
///
/// Copies of tensors are made without the mutex, by the thread that owns the examples at that time (LiveExample).
/// Examples are freed without it, too: the owners of their tensors may take locks.
class SaverCore : public std::enable_shared_from_this<SaverCore> {
 public:
  explicit SaverCore(SaverPlan plan);

  [[nodiscard]] Result<bool> insert(SaverExample example, SaverWait wait);
  [[nodiscard]] Result<TakenSegments> take(std::optional<std::int64_t> size, SaverWait wait);
  [[nodiscard]] Result<void> save(SegmentBatch::Content& batch, std::string_view name, const Tensor& values);
  [[nodiscard]] Result<void> close(bool cancel);
  [[nodiscard]] bool closed() const;
  [[nodiscard]] StateSaver::Sizes sizes() const;
  [[nodiscard]] const SaverPlan& plan() const { return plan_; }
  /// The last copy of a batch is gone.
  void leave(SegmentBatch::Content& batch) noexcept;

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;
  using Example = std::unique_ptr<LiveExample>;
  using Rows = std::vector<Example>;
  /// An example that cannot go on: its batch went before its states were saved.
  struct Stuck {
    std::shared_ptr<const std::string> key;
  };
  struct Next {
    TakenSegments::Got got;
    std::int64_t rows = 0;  // of a batch
  };

  // All of these are called with the mutex.
  [[nodiscard]] std::int64_t ready() const;
  [[nodiscard]] bool has_room() const { return !plan_.capacity || live_ < *plan_.capacity; }
  [[nodiscard]] Next next(std::int64_t size) const;
  [[nodiscard]] Next next_sticky() const;
  [[nodiscard]] Rows pick(std::int64_t rows);
  [[nodiscard]] Rows pick_sticky();
  void reserve(std::int64_t rows);
  void put_back(Rows rows, bool dropped);
  void count_taken(SegmentBatch::Content& batch, Rows& rows, bool dropped);
  void make_ready(Rows& rows);
  void add(Example& example);
  void cancel();
  [[nodiscard]] std::optional<Error> overdue(Time since) const;
  /// Sleeps until a notification, `until`, or a poll of the check. The mutex is free meanwhile.
  static void doze(Lock& lock, std::condition_variable& condition, Time until, const StopCheck* check);

  [[nodiscard]] Result<void> check_size(std::int64_t size) const;
  [[nodiscard]] Result<TakenSegments> deliver(Lock& lock, std::int64_t rows);

  const SaverPlan plan_;
  const std::shared_ptr<SaverMemory> memory_ = std::make_shared<SaverMemory>();  // of batches
  const std::shared_ptr<SaverMemory> example_memory_ = std::make_shared<SaverMemory>();
  mutable std::mutex mutex_;
  std::condition_variable changed_;          // for takers
  std::condition_variable room_;             // for inserters
  std::deque<Example> fresh_;                // not started, by index
  Rows continuing_;                          // a heap: the smallest index first. Empty with sticky rows
  Rows lanes_;                               // with sticky rows: the example of each row that can go on
  std::vector<SegmentBatch::Content*> out_;  // batches with examples that go on when their states are saved
  std::vector<Stuck> stuck_;
  std::set<std::pair<std::int64_t, std::string_view>> keys_;  // (epoch, key) of live examples
  std::int64_t held_ = 0;                                     // examples of batches, which go on or are being taken
  std::int64_t live_ = 0, undelivered_ = 0;                   // examples; segments of them that were not taken
  std::int64_t taking_ = 0;                                   // segments among these that are being taken
  std::int64_t inserted_ = 0, dropped_ = 0;                   // examples; segments
  std::int64_t takers_ = 0;                                   // threads that wait in `take`
  bool closed_ = false, cancelled_ = false, ended_ = false;
  Time progress_ = std::chrono::steady_clock::now();  // something was inserted or saved
};

}  // namespace forebay::queues
