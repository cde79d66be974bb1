// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/batcher.h>

namespace forebay::batchers {

/// Numbers the sequences of each pass, in the order in which their elements come. Windows of one record that follow
/// each other are of one sequence; so is each element that is no window of a record. A batcher owns it.
class SequenceCounter {
 public:
  explicit SequenceCounter(const BatcherContext& context) : windows_{context.windows}, identity_{context.identity} {}

  /// The number of the sequence of the next element, which is of pass `pass`; -1 for a handle that names nothing.
  std::int64_t next(const Handle& element, std::int64_t pass) {
    if (element.block == Handle::nowhere) return -1;
    if (pass != pass_) number_ = -1;
    pass_ = pass;
    if (!windows_) return ++number_;
    const RowIdentity own = identity_(element);
    const bool same = own.part == last_.part && own.record == last_.record && own.window > last_.window;
    if (number_ < 0 || !same) ++number_;
    last_ = own;
    return number_;
  }
  /// The number of sequences of pass `pass` so far.
  [[nodiscard]] std::int64_t sequences(std::int64_t pass) const { return pass == pass_ ? number_ + 1 : 0; }

 private:
  const bool windows_;
  const std::function<RowIdentity(const Handle&)> identity_;
  std::int64_t pass_ = -1;
  std::int64_t number_ = -1;
  RowIdentity last_;
};

}  // namespace forebay::batchers
