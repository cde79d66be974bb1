// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/wire.h"
#include "decoders/key_table.h"

namespace forebay::decoders {

/// The keys of the last record in their order: the next record mostly has the same. A key in its place is recognised by
/// comparing two words instead of hashing it. One worker owns it.
class KeyOrder {
 public:
  /// The same as `keys.find(key)`; `place` counts the entries of the record. Reads 16 bytes from the key on.
  [[nodiscard]] int find(std::size_t place, columns::Wire key, const KeyTable& keys) {
    if (place < places_.size()) {
      const Place& known = places_[place];
      const std::uint64_t low = (columns::load64(key.at) ^ known.words[0]) & known.masks[0];
      const std::uint64_t high = (columns::load64(key.at + 8) ^ known.words[1]) & known.masks[1];
      if (key.size() == known.size && (low | high) == 0) return known.source;
    }
    return look_up(place, key, keys);
  }
  [[nodiscard]] std::int64_t owned() const { return static_cast<std::int64_t>(places_.capacity() * sizeof(Place)); }

 private:
  struct Place {
    std::array<std::uint64_t, 2> words{};
    std::array<std::uint64_t, 2> masks{};
    std::size_t size = 0;
    int source = KeyTable::none;
  };
  [[nodiscard]] int look_up(std::size_t place, columns::Wire key, const KeyTable& keys);

  std::vector<Place> places_;
};

}  // namespace forebay::decoders
