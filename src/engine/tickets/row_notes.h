// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <forebay/step.h>

#include "engine/memory/sync.h"

namespace forebay::engine {

/// What the steps of a run have told of rows, each text once, until `take` gives it to people. Thread-safe.
class RowNotes {
 public:
  void add(const RowIdentities& rows, std::int64_t row, const std::string& text) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    if (told_.size() >= max_texts || !told_.insert(text).second) return;
    const std::string key = rows.key(row);
    lines_.push_back(key.empty() ? text : fmt::format("{} (first: {})", text, key));
  }
  /// The next line; empty when there is none.
  [[nodiscard]] std::string take() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    if (lines_.empty()) return {};
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  static constexpr std::size_t max_texts = 64;
  Mutex mutex_;
  std::set<std::string> told_ GUARDED_BY(mutex_);
  std::deque<std::string> lines_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
