// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::orders {

/// A number to sort by and the place of what it belongs to.
template <class Value>
struct SortKey {
  Value value = 0;
  std::uint32_t place = 0;
};

/// Sorts numbers in time that grows with their count only. Equal ones stay in their order.
///
///     keys ─► one stable pass for each 11 bits that differ, lowest first ─► keys in order
template <class Value>
class RadixSort {
 public:
  using Key = SortKey<Value>;

  /// Takes as much memory again as `keys` has.
  static void sort(std::vector<Key>& keys) {
    Value some = 0, all = static_cast<Value>(~Value{0});
    for (const Key& key : keys) some |= key.value, all &= key.value;
    std::vector<Key> other(keys.size());
    for (unsigned shift = 0; shift < 8 * sizeof(Value); shift += bits) {
      if ((((some ^ all) >> shift) & mask) == 0) continue;  // equal in all keys
      pass(keys, other, shift);
      keys.swap(other);
    }
  }

 private:
  static constexpr unsigned bits = 11;
  static constexpr Value mask = (Value{1} << bits) - 1;

  static void pass(const std::vector<Key>& from, std::vector<Key>& to, unsigned shift) {
    std::array<std::size_t, mask + 1> next{};
    for (const Key& key : from) ++next[(key.value >> shift) & mask];
    std::size_t begin = 0;
    for (std::size_t& place : next) begin += std::exchange(place, begin);
    for (const Key& key : from) to[next[(key.value >> shift) & mask]++] = key;
  }
};

/// An unsigned number that is in the order of signed ones where `value` is.
[[nodiscard]] constexpr std::uint64_t ascending_key(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

}  // namespace forebay::orders
