// SPDX-License-Identifier: Apache-2.0
#include "decoders/lists/key_order.h"

#include <algorithm>

namespace forebay::decoders {
namespace {

constexpr std::size_t max_places = 4096;
constexpr std::size_t max_key_bytes = 16;
constexpr std::size_t no_key = SIZE_MAX;

}  // namespace

int KeyOrder::look_up(std::size_t place, columns::Wire key, const KeyTable& keys) {
  const int source = keys.find(key);
  if (place >= max_places || key.size() > max_key_bytes) return source;
  if (place >= places_.size()) places_.resize(place + 1, {.size = no_key});
  Place& learnt = places_[place];
  learnt = {.size = key.size(), .source = source};
  for (std::size_t word = 0; word < 2; ++word) {
    const std::size_t bytes = std::min<std::size_t>(8, key.size() - std::min(key.size(), 8 * word));
    learnt.words[word] = columns::load64(key.at + 8 * word);
    learnt.masks[word] = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  }
  return source;
}

}  // namespace forebay::decoders
