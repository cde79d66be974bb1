// SPDX-License-Identifier: Apache-2.0
#include <forebay/row_passes.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/core.h>

namespace forebay {

/// The pass that is read, and whether the program knows of it. Shared by the copies of RowPasses and by its source.
class RowPasses::Begun {
 public:
  Begun(Schema schema, std::int64_t capacity) : schema_{std::move(schema)}, capacity_{capacity} {}

  [[nodiscard]] const Schema& schema() const { return schema_; }

  Result<std::optional<Pass>> next(std::chrono::milliseconds timeout) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, timeout, [&] { return closed_ || untaken_; });
    if (closed_) return Error{Code::cancelled, Detail::failed_precondition, "the passes are closed"};
    return std::exchange(untaken_, std::nullopt);
  }

  void close() {
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
    }
    changed_.notify_all();
  }

  /// The rows of the present pass that wait to be read, and how many may.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> waiting() const {
    std::function<std::pair<std::int64_t, std::int64_t>()> of_pass;
    {
      const std::lock_guard lock{mutex_};
      if (!read_.expired()) of_pass = waiting_;
    }
    return of_pass ? of_pass() : std::pair{std::int64_t{0}, capacity_};
  }

  /// Begins a pass, whose rows are those of a feed of its own.
  Result<std::unique_ptr<PartReader>> open(ReadContext context, const std::string& name) {
    FOREBAY_TRY(Feed rows, Feed::make(schema_, capacity_));
    const std::int64_t epoch = context.epoch;
    const std::int64_t first = context.first;
    const auto source = rows.source(name);
    FOREBAY_TRY(auto reader, source->parts.front().open(std::move(context)));
    auto out = std::make_unique<PassReader>(std::move(reader));
    {
      const std::lock_guard lock{mutex_};
      if (!read_.expired()) {
        return Error{Code::config, Detail::failed_precondition,
                     "the data set is read already, and it has one pass at a time; give each branch and each run a "
                     "data set of its own"};
      }
      read_ = out->open;
      waiting_ = source->waiting;
      untaken_ = Pass{.epoch = epoch, .first = first, .rows = std::move(rows)};
    }
    changed_.notify_one();
    return std::unique_ptr<PartReader>{std::move(out)};
  }

 private:
  /// Reads the rows of a pass.
  struct PassReader final : PartReader {
    explicit PassReader(std::unique_ptr<PartReader> rows) : inner{std::move(rows)} {}
    Result<Got> read(std::shared_ptr<const RowBlock>& out) override { return inner->read(out); }
    std::unique_ptr<PartReader> inner;
    std::shared_ptr<bool> open = std::make_shared<bool>(true);  // expires with this reader
  };

  const Schema schema_;
  const std::int64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::weak_ptr<bool> read_;                                        // of the reader of the last pass
  std::function<std::pair<std::int64_t, std::int64_t>()> waiting_;  // of the rows of that pass
  std::optional<Pass> untaken_;                                     // that pass, until the program has taken it
  bool closed_ = false;
};

Result<RowPasses> RowPasses::make(Schema schema, std::int64_t capacity) {
  FOREBAY_DO(Feed::make(schema, capacity));
  return RowPasses{std::make_shared<Begun>(std::move(schema), capacity)};
}

Result<std::optional<RowPasses::Pass>> RowPasses::next(std::chrono::milliseconds timeout) const {
  return begun_->next(timeout);
}
void RowPasses::close() const { begun_->close(); }

std::shared_ptr<const RowSource> RowPasses::source(const std::string& name, Promise promise) const {
  auto source = std::make_shared<RowSource>();
  source->schema = begun_->schema();
  source->repeats = true;
  source->exact = promise.exact;
  source->collects = promise.collects;
  source->parts.push_back(
      {.name = name,
       .open = [begun = begun_, name](ReadContext context) { return begun->open(std::move(context), name); },
       .seeks = promise.seeks});
  source->waiting = [begun = begun_] { return begun->waiting(); };
  source->waiting_name = fmt::format("rows of '{}'", name);
  return source;
}

}  // namespace forebay
