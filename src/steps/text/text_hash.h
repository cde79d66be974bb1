// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/draw.h"

namespace forebay::steps {

/// The hash of the text steps (docs/text.md): 64-bit FNV-1a of the bytes, then one step of SplitMix64.
class TextHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      state_ ^= static_cast<std::uint8_t>(byte);
      state_ *= 0x100000001b3;
    }
  }
  /// A number from 0 to buckets - 1.
  [[nodiscard]] std::int64_t bucket(std::int64_t buckets) const {
    return static_cast<std::int64_t>(mix(state_) % static_cast<std::uint64_t>(buckets));
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace forebay::steps
