// SPDX-License-Identifier: Apache-2.0
#include "decoders/key_table.h"

#include <bit>

namespace forebay::decoders {
namespace {

std::uint64_t hash(columns::Wire name) {
  std::uint64_t mixed = name.size() * 0x9e3779b97f4a7c15;
  for (; name.size() >= 8; name.at += 8) mixed = std::rotl((mixed ^ columns::load64(name.at)) * 0xff51afd7ed558ccd, 31);
  if (!name.empty()) mixed ^= columns::load64(name.at) << (64 - 8 * name.size());
  mixed *= 0xc4ceb9fe1a85ec53;
  return mixed ^ mixed >> 32;
}

}  // namespace

KeyTable::KeyTable(std::vector<std::optional<std::string>> names)
    : names_{std::move(names)}, slots_(std::bit_ceil(2 * names_.size() + 2), none) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!names_[i]) continue;
    const std::string padded = *names_[i] + std::string(8, '\0');
    const auto* at = reinterpret_cast<const std::uint8_t*>(padded.data());
    std::size_t slot = hash({at, at + names_[i]->size()}) & (slots_.size() - 1);
    while (slots_[slot] != none) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int>(i);
  }
}

int KeyTable::find(columns::Wire name) const {
  if (slots_.empty()) return none;
  std::size_t slot = hash(name) & (slots_.size() - 1);
  for (; slots_[slot] != none; slot = (slot + 1) & (slots_.size() - 1)) {
    const std::string& known = *names_[static_cast<std::size_t>(slots_[slot])];
    if (known.size() == name.size() && std::memcmp(known.data(), name.at, known.size()) == 0) return slots_[slot];
  }
  return none;
}

}  // namespace forebay::decoders
