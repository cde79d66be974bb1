// SPDX-License-Identifier: Apache-2.0
#include "orders/indexed_walk.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace forebay::orders {
namespace {

/// Holds only a window of the next handles. Where bytes are asked for long before they come, it also holds the windows
/// after that one (Reader::windows_ahead).
///
///     list: files, census, route ─► refill: the next window, located ─► fetch: bytes ─► handed out ─┐
///                                         ▲        └─ later windows: expect                          │
///                                         └──────────────────────── the window is empty ◄────────────┘
///
/// The run owns the order; one thread at a time calls it. `pull` repeats the errors of the reader, of the route and of
/// the upstream.
class IndexedWalk final : public Handles {
 public:
  IndexedWalk(std::unique_ptr<Route> route, OrderContext context)
      : route_{std::move(route)}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    context_.reader->drop(std::span{window_}.subspan(next_));
    window_.clear();
    later_.clear();
    expected_ = 0;
    next_ = 0;
    done_ = 0;
    files_.clear();
    counted_ = listed_ = false;
    route_->begin(epoch);
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (!listed_) FOREBAY_DO(list());
    if (next_ == window_.size()) FOREBAY_DO(refill());
    if (!fetched_) {
      FOREBAY_DO(expect());
      FOREBAY_TRY(fetched_, context_.reader->fetch(std::span{window_}.subspan(next_)));
    }
    const std::size_t count = std::min(out.size(), window_.size() - next_);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
    next_ += count;
    return count;
  }

  /// Answers from the counts of the files: nothing is located.
  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    if (!listed_) FOREBAY_DO(list());
    const auto held = std::min(n, static_cast<std::int64_t>(window_.size() - next_));
    if (held > 0) {
      reader.drop(std::span{window_}.subspan(next_, static_cast<std::size_t>(held)));
      next_ += static_cast<std::size_t>(held);
      return held;
    }
    const std::int64_t passed = std::min(n, places_ - done_);
    done_ += passed;
    return passed;
  }

 private:
  /// Pulls all files of the pass, indexes them, makes the census and plans the route.
  Result<void> list() {
    while (!counted_) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, context_.upstream->pull({&file, 1}));
      if (count > 0) {
        files_.push_back(file);
        continue;
      }
      FOREBAY_TRY(const auto counts, context_.reader->index(files_));
      census_ = Census{files_, counts};
      counted_ = true;
    }
    FOREBAY_TRY(places_, route_->plan(census_));
    context_.reader->expect_places(places_);
    listed_ = true;
    return {};
  }

  /// Replaces the used-up window by the next one. At the end the window stays empty. A failure loses nothing.
  Result<void> refill() {
    const auto ahead = static_cast<std::size_t>(context_.reader->windows_ahead());
    while (later_.size() <= ahead && (later_.empty() || done_ < places_)) {
      FOREBAY_DO(locate());
      later_.push_back(std::exchange(located_, {}));
    }
    window_ = std::move(later_.front());
    later_.pop_front();
    expected_ = std::max<std::size_t>(expected_, 1) - 1;
    fetched_ = false;
    next_ = 0;
    return {};
  }

  /// Asks for the bytes of the window, and for those of the later ones, each once.
  Result<void> expect() {
    if (later_.empty() && expected_ == 0) return {};
    FOREBAY_TRY(const bool first, context_.reader->expect(std::span{window_}.subspan(next_)));
    if (!first) return {};
    for (; expected_ < later_.size(); ++expected_) {
      FOREBAY_TRY(const bool asked, context_.reader->expect(later_[expected_]));
      if (!asked) break;
    }
    return {};
  }

  /// Fills `located_` with the handles of the next records.
  Result<void> locate() {
    const std::int64_t left = places_ - done_;
    const auto count = static_cast<std::size_t>(std::min(left, context_.reader->window()));
    numbers_.resize(count);
    names_.resize(count);
    if (count > 0) route_->numbers(done_, numbers_);
    for (std::size_t i = 0; i < count; ++i) names_[i] = census_.name(static_cast<std::int64_t>(numbers_[i]));
    located_.resize(count);
    FOREBAY_DO(context_.reader->locate(names_, located_));
    done_ += static_cast<std::int64_t>(count);
    return {};
  }

  const std::unique_ptr<Route> route_;
  OrderContext context_;
  std::vector<Handle> files_;
  bool counted_ = false;  // all files were pulled, and the census is made
  bool listed_ = false;   // the route is planned, too
  Census census_;
  std::int64_t places_ = 0;
  std::int64_t done_ = 0;  // places of the pass that have been in a window
  std::vector<Handle> window_;
  std::deque<std::vector<Handle>> later_;  // the windows after it
  std::size_t expected_ = 0;               // windows of later_ that `expect` has asked for
  std::vector<Handle> located_;
  std::size_t next_ = 0;  // index in window_
  bool fetched_ = false;  // the rest of the window has its bytes
  std::vector<std::uint64_t> numbers_;
  std::vector<RecordName> names_;
};

}  // namespace

std::unique_ptr<Handles> walk_by_index(std::unique_ptr<Route> route, OrderContext context) {
  return std::make_unique<IndexedWalk>(std::move(route), std::move(context));
}

}  // namespace forebay::orders
