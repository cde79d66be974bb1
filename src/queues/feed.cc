// SPDX-License-Identifier: Apache-2.0
#include <forebay/feed.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <forebay/column.h>
#include <forebay/messages.h>

#include "columns/take/row_copy.h"
#include "columns/take/strided_rows.h"

namespace forebay {

namespace {

/// Rows that were put, in columns of their own.
struct OwnedRows {
  explicit OwnedRows(const Schema& schema) {
    for (const ColumnId id : schema.visible()) columns.emplace_back(schema[id]);
  }
  /// Appends all rows of `from`. Column i is that of number `places[i]` in `given`.
  void append(const RowBlock& from, const Schema& given, std::span<const std::size_t> places) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Shape& shape = given[static_cast<ColumnId>(places[i])].shape;
      append_column(from.columns[places[i]], from.rows, shape, columns[i]);
    }
    rows += from.rows;
  }

  std::int64_t rows = 0;
  std::vector<Column> columns;

 private:
  static void append_column(const RowColumn& from, std::int64_t count, const Shape& shape, Column& to) {
    if (!to.fixed() || to.dtype == DType::string) {
      for (std::int64_t row = 0; row < count; ++row) columns::append_row(from, row, shape, to);
      return;
    }
    const columns::StridedRows rows{from, count, to.dtype, shape};
    rows.copy(0, count, to.values.extend(static_cast<std::size_t>(count) * to.row_bytes()));
    to.rows += count;
  }
};

std::shared_ptr<const RowBlock> sealed(std::shared_ptr<OwnedRows> rows) {
  auto block = std::make_shared<RowBlock>();
  block->rows = rows->rows;
  for (const Column& column : rows->columns) block->columns.push_back(columns::view_of(column));
  block->owner = std::move(rows);
  return block;
}

Error misfit(const std::string& what) {
  return Error{Code::config, Detail::invalid_argument, "rows do not fit the feed: " + what};
}

/// The time when a wait that begins now ends; at most the last one of the clock.
std::chrono::steady_clock::time_point end_of(std::chrono::milliseconds wait) {
  using Time = std::chrono::steady_clock::time_point;
  const Time now = std::chrono::steady_clock::now();
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(Time::max() - now);
  return wait >= longest ? Time::max() : now + std::max(wait, std::chrono::milliseconds{0});
}

/// Whether rows of shape `found` may stand where `wanted` is asked for.
bool fits(const Shape& wanted, const Shape& found) {
  if (wanted.rank() != found.rank()) return false;
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
    if (wanted[axis] != unknown_dim && wanted[axis] != found[axis]) return false;
  }
  return true;
}

}  // namespace

/// The queue of a feed. Shared by the feed's copies, its source and the reader of a run.
class Feed::Queue : public std::enable_shared_from_this<Feed::Queue> {
 public:
  Queue(Schema schema, std::int64_t capacity) : schema_{std::move(schema)}, capacity_{capacity} {}

  [[nodiscard]] const Schema& schema() const { return schema_; }

  Result<bool> put(const RowSource& rows, std::chrono::milliseconds timeout) {
    FOREBAY_TRY(const auto places, places_of(rows));
    std::int64_t added = 0;
    for (const RowPart& part : rows.parts) added += part.in_memory();
    {
      std::unique_lock lock{mutex_};
      if (!room_.wait_until(lock, end_of(timeout), [&] { return closed_ || has_room(added); })) return false;
      if (closed_) {
        return Error{Code::cancelled, Detail::failed_precondition,
                     "the feed is closed: its rows are all given, or the run that read it has ended"};
      }
      try {
        append(rows, places);
      } catch (...) {
        lock.unlock();
        room_.notify_all();
        wake();
        throw;
      }
    }
    wake();
    return true;
  }

  void close(std::optional<Error> error) {
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(closed_, true)) return;
      error_ = std::move(error);
    }
    room_.notify_all();
    wake();
  }

  std::shared_ptr<const void> producer() {
    {
      const std::lock_guard lock{mutex_};
      producers_ = producers_.value_or(0) + 1;
    }
    return {nullptr, [queue = shared_from_this()](const void*) { queue->end_producer(); }};
  }

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] std::int64_t waiting() const {
    const std::lock_guard lock{mutex_};
    return count();
  }
  [[nodiscard]] bool closed() const {
    const std::lock_guard lock{mutex_};
    return closed_;
  }

  Result<std::unique_ptr<PartReader>> open(ReadContext context);

 private:
  class Reader;

  /// Called with the mutex. Rows that are more than the capacity need an empty feed.
  [[nodiscard]] bool has_room(std::int64_t rows) const { return count() == 0 || rows <= capacity_ - count(); }
  [[nodiscard]] std::int64_t count() const { return waiting_ ? waiting_->rows : 0; }

  /// By column of the schema: its column in `rows`.
  [[nodiscard]] Result<std::vector<std::size_t>> places_of(const RowSource& rows) const {
    for (const RowPart& part : rows.parts) {
      if (!part.rows) return misfit(fmt::format("part {} has no rows in memory", quote(part.name)));
    }
    if (rows.schema.visible().size() != schema_.visible().size())
      return misfit(fmt::format("{} columns, expected {}", rows.schema.visible().size(), schema_.visible().size()));
    std::vector<std::size_t> out;
    for (const ColumnId id : schema_.visible()) {
      const ColumnSpec& wanted = schema_[id];
      const auto found = rows.schema.find(wanted.name);
      if (!found.ok()) return misfit(fmt::format("column {} is missing", quote(wanted.name)));
      const ColumnSpec& given = rows.schema[*found];
      if (given.dtype != wanted.dtype || !fits(wanted.shape, given.shape)) {
        return misfit(fmt::format("column {} is {}{}, expected {}{}", quote(wanted.name), to_string(given.dtype),
                                  given.shape.text(), to_string(wanted.dtype), wanted.shape.text()));
      }
      out.push_back(static_cast<std::size_t>(*found));
    }
    return out;
  }

  /// Called with the mutex. Without memory the columns have unequal rows, so the feed ends with that error.
  void append(const RowSource& rows, std::span<const std::size_t> places) {
    try {
      if (!waiting_) waiting_ = std::make_shared<OwnedRows>(schema_);
      for (const RowPart& part : rows.parts) {
        waiting_->append(*part.rows, rows.schema, places);
        for (const auto& block : part.more) waiting_->append(*block, rows.schema, places);
      }
    } catch (...) {
      waiting_.reset();
      closed_ = true;
      error_ = Error{Code::io, Detail::resource_exhausted, "no memory for the rows of a feed"};
      throw;
    }
    if (waiting_->rows == 0) waiting_.reset();
  }

  void wake() {
    const std::lock_guard lock{wake_mutex_};
    if (wake_) wake_();
  }

  /// Takes all rows that wait. Called by the reader.
  Result<PartReader::Got> take(std::shared_ptr<const RowBlock>& out) {
    std::shared_ptr<OwnedRows> rows;
    {
      const std::lock_guard lock{mutex_};
      rows = std::move(waiting_);
      if (!rows) {
        if (!closed_ && producers_ != 0) return PartReader::Got::nothing_yet;
        if (!closed_) return unfed();
        if (error_) return *error_;
        return PartReader::Got::end;
      }
    }
    room_.notify_all();
    out = sealed(std::move(rows));
    return PartReader::Got::rows;
  }

  void end_producer() {
    {
      const std::lock_guard lock{mutex_};
      --*producers_;
    }
    wake();
  }

  static Error unfed() {
    return Error{Code::data, Detail::failed_precondition,
                 "the feed has no rows, and no producer's handle is open that could put some; close the feed after its "
                 "last row"};
  }

  void leave() {
    {
      const std::lock_guard lock{wake_mutex_};
      wake_ = {};
    }
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      waiting_.reset();
    }
    room_.notify_all();
  }

  const Schema schema_;
  const std::int64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::shared_ptr<OwnedRows> waiting_;     // null: no row waits
  std::optional<std::int64_t> producers_;  // open handles; empty: none was ever asked for
  bool closed_ = false;
  std::optional<Error> error_;
  std::mutex wake_mutex_;  // taken before any lock of the run, never inside mutex_
  std::function<void()> wake_;
  bool read_ = false;  // a run has opened the feed; guarded by mutex_
};

/// The run's end of the queue. When it goes, the feed is closed: nobody would read its rows.
class Feed::Queue::Reader final : public PartReader {
 public:
  explicit Reader(std::shared_ptr<Queue> queue) : queue_{std::move(queue)} {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() override { queue_->leave(); }
  Result<Got> read(std::shared_ptr<const RowBlock>& out) override { return queue_->take(out); }

 private:
  const std::shared_ptr<Queue> queue_;
};

Result<std::unique_ptr<PartReader>> Feed::Queue::open(ReadContext context) {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(read_, true)) {
      return Error{Code::config, Detail::failed_precondition,
                   "a feed is read once, by one run; make another feed for another run"};
    }
  }
  const std::lock_guard lock{wake_mutex_};
  wake_ = std::move(context.wake);
  return std::unique_ptr<PartReader>{std::make_unique<Reader>(shared_from_this())};
}

Result<Feed> Feed::make(Schema schema, std::int64_t capacity) {
  if (schema.visible().empty()) return Error{Code::config, Detail::invalid_argument, "a feed needs a column"};
  if (capacity < 1)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("capacity: must be 1 or more rows, found {}", capacity)};
  for (const ColumnId id : schema.visible()) {
    if (schema[id].delivery == Delivery::sparse || !schema[id].parts.empty())
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("column {}: a feed takes fixed, padded and ragged columns without parts",
                               quote(schema[id].name))};
  }
  return Feed{std::make_shared<Queue>(std::move(schema), capacity)};
}

Result<bool> Feed::put(const RowSource& rows, std::chrono::milliseconds timeout) { return queue_->put(rows, timeout); }
std::shared_ptr<const void> Feed::producer() const { return queue_->producer(); }
void Feed::close() { queue_->close(std::nullopt); }
void Feed::fail(Error error) { queue_->close(std::move(error)); }
std::int64_t Feed::waiting() const { return queue_->waiting(); }
bool Feed::closed() const { return queue_->closed(); }

std::shared_ptr<const RowSource> Feed::source(const std::string& name) const {
  auto source = std::make_shared<RowSource>();
  source->schema = queue_->schema();
  source->parts.push_back(
      {.name = name, .open = [queue = queue_](ReadContext context) { return queue->open(std::move(context)); }});
  source->waiting = [queue = queue_] { return std::pair{queue->waiting(), queue->capacity()}; };
  return source;
}

}  // namespace forebay
