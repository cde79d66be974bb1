// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <forebay/order.h>

namespace forebay::engine {

/// The open streams of a Reader by number. The number of a closed stream is given to a later one. Used by the order
/// plane only.
template <class Open>
class StreamTable {
 public:
  [[nodiscard]] Reader::Stream open(Open stream) {
    if (free_.empty()) {
      free_.push_back(static_cast<Reader::Stream>(open_.size()));
      open_.emplace_back();
    }
    const Reader::Stream number = free_.back();
    open_[static_cast<std::size_t>(number)] = std::move(stream);
    free_.pop_back();
    return number;
  }
  /// Returns what was open. Its number is free.
  Open close(Reader::Stream number) {
    free_.push_back(number);
    return std::exchange((*this)[number], Open{});
  }
  [[nodiscard]] Open& operator[](Reader::Stream number) { return open_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const Open& operator[](Reader::Stream number) const { return open_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool used() const { return !open_.empty(); }  ///< A stream was opened before.
  void clear() { open_.clear(); }                             ///< No number may be used any more.

 private:
  std::vector<Open> open_;  // by number
  std::vector<Reader::Stream> free_;
};

}  // namespace forebay::engine
