// SPDX-License-Identifier: Apache-2.0
#include <forebay/row_parts.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace forebay {

namespace {

constexpr std::size_t blocks_ahead = 2;  // of a part, which wait for the run

}  // namespace

/// A part that a run reads. Its state is guarded by the mutex of the Line.
class RowParts::Open {
 public:
  Open(std::int64_t id, std::size_t source, std::size_t part, ReadContext context)
      : wanted{.id = id, .source = source, .part = part, .epoch = context.epoch, .first = context.first},
        wake_{std::move(context.wake)} {}

  /// Tells the run that there is something to read. Called without a mutex.
  void wake() {
    const std::lock_guard lock{wake_mutex_};
    if (wake_) wake_();
  }
  /// The run's reader goes: `wake` does nothing from now on.
  void forget_run() {
    const std::lock_guard lock{wake_mutex_};
    wake_ = {};
  }
  /// Whether the program should do something for it now.
  [[nodiscard]] bool wants() const {
    if (busy) return false;
    return wanted.left || (!ended && blocks.size() < blocks_ahead);
  }

  Wanted wanted;
  std::deque<std::shared_ptr<const RowBlock>> blocks;
  std::optional<Error> error;
  bool ended = false;
  bool busy = false;     // the program reads a block
  bool starved = false;  // the run found no block

 private:
  std::mutex wake_mutex_;  // taken before any lock of the run, never inside the mutex of the Line
  std::function<void()> wake_;
};

/// The parts that runs read, and the program's end of them.
class RowParts::Line : public std::enable_shared_from_this<RowParts::Line> {
 public:
  std::size_t add_source() {
    const std::lock_guard lock{mutex_};
    return sources_++;
  }

  Result<std::unique_ptr<PartReader>> open(std::size_t source, std::size_t part, ReadContext context);

  Result<std::optional<Wanted>> next(std::chrono::milliseconds timeout) {
    std::unique_lock lock{mutex_};
    std::shared_ptr<Open> found;
    changed_.wait_for(lock, timeout, [&] { return closed_ || (found = next_wanted()) != nullptr; });
    if (closed_) return closed();
    if (!found) return std::optional<Wanted>{};
    found->busy = true;
    if (found->wanted.left) open_.erase(found->wanted.id);
    return std::optional{found->wanted};
  }

  /// `change` is applied to the part, if the run still reads it.
  template <class Change>
  void answer(std::int64_t id, Change change) {
    std::shared_ptr<Open> open;
    {
      const std::lock_guard lock{mutex_};
      const auto found = open_.find(id);
      if (found == open_.end()) return;
      open = found->second;
      open->busy = false;
      change(*open);
    }
    changed_.notify_one();
    open->wake();
  }

  void close() {
    std::vector<std::shared_ptr<Open>> open;
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      for (const auto& [id, one] : open_) open.push_back(one);
    }
    changed_.notify_all();
    for (const auto& one : open) one->wake();
  }

  /// The blocks of the open parts of a source that wait for its runs, and how many may.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> waiting(std::size_t source) const {
    std::size_t blocks = 0, parts = 0;
    const std::lock_guard lock{mutex_};
    for (const auto& [id, open] : open_) {
      if (open->wanted.source != source || open->wanted.left) continue;
      blocks += open->blocks.size();
      ++parts;
    }
    return {static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(blocks_ahead * parts)};
  }

  Result<PartReader::Got> take(Open& open, std::shared_ptr<const RowBlock>& out) {
    {
      const std::lock_guard lock{mutex_};
      open.starved = open.blocks.empty();
      if (open.starved) {
        if (open.error) return *open.error;
        if (open.ended) return PartReader::Got::end;
        if (closed_) return closed();
      } else {
        out = std::move(open.blocks.front());
        open.blocks.pop_front();
      }
    }
    changed_.notify_one();
    return out ? PartReader::Got::rows : PartReader::Got::nothing_yet;
  }

  void leave(Open& open) {
    open.forget_run();
    {
      const std::lock_guard lock{mutex_};
      open.blocks.clear();
      open.wanted.left = true;
    }
    changed_.notify_one();
  }

 private:
  class PartOfRun;

  static Error closed() {
    return Error{Code::cancelled, Detail::failed_precondition,
                 "the rows are not read any more: their source is closed"};
  }

  /// Called with the mutex. Parts that a run waits for come first, then those that were opened first.
  [[nodiscard]] std::shared_ptr<Open> next_wanted() const {
    std::shared_ptr<Open> out;
    for (const auto& [id, open] : open_) {
      if (!open->wants()) continue;
      if (open->wanted.left || open->starved) return open;
      if (!out) out = open;
    }
    return out;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, std::shared_ptr<Open>> open_;  // by id
  std::int64_t ids_ = 0;
  std::size_t sources_ = 0;
  bool closed_ = false;
};

/// The run's end of a part.
class RowParts::Line::PartOfRun final : public PartReader {
 public:
  PartOfRun(std::shared_ptr<Line> line, std::shared_ptr<Open> open) : line_{std::move(line)}, open_{std::move(open)} {}
  PartOfRun(const PartOfRun&) = delete;
  PartOfRun& operator=(const PartOfRun&) = delete;
  ~PartOfRun() override { line_->leave(*open_); }
  Result<Got> read(std::shared_ptr<const RowBlock>& out) override { return line_->take(*open_, out); }

 private:
  const std::shared_ptr<Line> line_;
  const std::shared_ptr<Open> open_;
};

Result<std::unique_ptr<PartReader>> RowParts::Line::open(std::size_t source, std::size_t part, ReadContext context) {
  std::shared_ptr<Open> open;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return closed();
    open = std::make_shared<Open>(ids_++, source, part, std::move(context));
    open_.emplace(open->wanted.id, open);
  }
  changed_.notify_one();
  return std::unique_ptr<PartReader>{std::make_unique<PartOfRun>(shared_from_this(), std::move(open))};
}

RowParts::RowParts() : line_{std::make_shared<Line>()} {}

Result<std::optional<RowParts::Wanted>> RowParts::next(std::chrono::milliseconds timeout) const {
  return line_->next(timeout);
}
void RowParts::put(std::int64_t id, std::shared_ptr<const RowBlock> rows) const {
  line_->answer(id, [&](Open& open) {
    if (!open.wanted.left && rows && rows->rows > 0) open.blocks.push_back(std::move(rows));
  });
}
void RowParts::end(std::int64_t id) const {
  line_->answer(id, [](Open& open) { open.ended = true; });
}
void RowParts::fail(std::int64_t id, Error error) const {
  line_->answer(id, [&](Open& open) {
    open.ended = true;
    open.error = std::move(error);
  });
}
void RowParts::close() const { line_->close(); }

std::shared_ptr<const RowSource> RowParts::source(Schema schema, std::vector<Part> parts, bool repeats) const {
  auto source = std::make_shared<RowSource>();
  source->schema = std::move(schema);
  source->repeats = source->ahead = source->collects = repeats;
  const std::size_t number = line_->add_source();
  source->waiting = [line = line_, number] { return line->waiting(number); };
  source->waiting_name = "blocks of parts";
  const auto once = std::make_shared<std::once_flag>();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto open = [line = line_, number, part, repeats, once](ReadContext context) {
      bool first = repeats;
      if (!repeats) std::call_once(*once, [&] { first = true; });
      if (first) return line->open(number, part, std::move(context));
      return Result<std::unique_ptr<PartReader>>{
          Error{Code::config, Detail::failed_precondition,
                "a stream is read once, by one run; give each run a stream of its own"}};
    };
    const std::optional<std::int64_t> rows = parts[part].rows;
    source->parts.push_back(
        {.name = std::move(parts[part].name), .open = open, .count = rows, .seeks = repeats && rows.has_value()});
  }
  return source;
}

}  // namespace forebay
