// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace forebay::stores {

/// A value that is made once and never destroyed: what threads may still use while the program ends.
template <class T>
class Forever {
 public:
  Forever() { std::construct_at(&value_); }
  ~Forever() {}  // NOLINT: the value stays
  Forever(const Forever&) = delete;
  Forever& operator=(const Forever&) = delete;
  [[nodiscard]] T& operator*() { return value_; }

 private:
  union {
    T value_;
  };
};

}  // namespace forebay::stores
