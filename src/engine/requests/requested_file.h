// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "engine/requests/requests.h"
#include "io/file_system.h"

namespace forebay::engine {

/// A file of a FileSystem, open for reading. It holds the ranges that were asked for, in the order of the file.
///
///     sequential   go_to ─► ranges follow one another, several ahead ─► read_some ─► advance drops earlier ones
///     by index     want(range) … ─► all_ready ─► read_some ─► destroyed
///
/// Bytes that were not asked for are asked for by `read_some`, which then waits. One thread at a time calls; the owner
/// says which.
class RequestedFile final : public io::RandomAccessFile {
 public:
  RequestedFile(std::shared_ptr<Requests> requests, std::shared_ptr<const RequestTarget> target);

  /// Throws Closed when the run is stopped meanwhile.
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const override;
  /// Ranges must not begin before one that was asked for. They are inside the file.
  void want(io::ByteRange range) override;
  /// A range that other file objects have asked for, too. The last one again is no other.
  void share(std::shared_ptr<Request> range);
  [[nodiscard]] bool ready(std::int64_t offset) const override;
  /// Each request names the version, so no byte is of another one.
  [[nodiscard]] Result<void> unchanged() const override { return {}; }

  /// Waits until `ready(offset)`, or until the deadline. Returns at once for bytes that were not asked for.
  void wait(std::int64_t offset, std::chrono::steady_clock::time_point deadline) const;
  [[nodiscard]] bool all_ready();  ///< All ranges that were asked for are ready.
  /// Begins to read sequentially: drops all ranges and asks for those from `offset` on, as many as the share allows.
  void go_to(std::int64_t offset);
  /// Drops the ranges before `offset` and asks for more. Begins anew at an offset whose range was dropped.
  void advance(std::int64_t offset);
  /// Whether `advance` would ask for a range that was refused before.
  [[nodiscard]] bool may_ask() const { return asked_up_to_ < size() && share_.may_grant(); }
  void need() { share_.need(); }  ///< The order reads this file now.

 private:
  [[nodiscard]] const Request* range_of(std::int64_t offset) const;  // null: was not asked for
  [[nodiscard]] std::int64_t whole_parts(std::int64_t bytes) const;
  [[nodiscard]] Result<std::size_t> read_now(std::span<std::byte> out, std::int64_t offset) const;

  const std::shared_ptr<Requests> requests_;
  const std::shared_ptr<const RequestTarget> target_;
  RequestWindow::Share share_;
  std::deque<std::shared_ptr<Request>> ranges_;  // in the order of the file
  std::int64_t asked_up_to_ = 0;                 // sequential: the end of the last range
  std::size_t next_unready_ = 0;                 // ranges before this one are ready
};

}  // namespace forebay::engine
