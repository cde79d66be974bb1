// SPDX-License-Identifier: Apache-2.0
#include "decoders/message_template.h"

#include <algorithm>

namespace forebay::decoders {
namespace {

using columns::Wire;

/// A length inside an entry: its offset, its width in bytes and its value.
struct Length {
  std::size_t at = 0;
  std::size_t width = 0;
  std::uint64_t value = 0;
};

/// Reads a tag byte and a length at `wire`. False: another tag is there, or the length exceeds the message.
bool expect(Wire& wire, const std::uint8_t* begin, std::uint8_t tag, Length& length) {
  if (wire.empty() || *wire.at != tag) return false;
  ++wire.at;
  length.at = static_cast<std::size_t>(wire.at - begin);
  if (!columns::read_varint(wire, length.value) || length.value > wire.size()) return false;
  length.width = static_cast<std::size_t>(wire.at - begin) - length.at;
  return length.width <= 5;
}

bool shortest(std::uint64_t value, std::size_t width) { return width == 1 || value >> (7 * (width - 1)) != 0; }

/// The first `bytes` of an entry, and the lengths in them.
struct Prefix {
  std::array<Length, 5> lengths{};
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::uint64_t payload = 0;
};

/// Reads the key and the value of an entry. False: the entry has another form, or fields after the value.
bool read_head(const std::uint8_t* p, const std::uint8_t* end, Prefix& prefix, Wire& key) {
  Wire wire{p, end};
  auto& lengths = prefix.lengths;
  if (!expect(wire, p, 0x0a, lengths[0])) return false;
  wire.end = wire.at + lengths[0].value;
  if (!expect(wire, p, 0x0a, lengths[1])) return false;
  key = {wire.at, wire.at + lengths[1].value};
  wire.at = key.end;
  if (!expect(wire, p, 0x12, lengths[2]) || lengths[2].value != wire.size()) return false;
  prefix.count = 3;
  prefix.bytes = static_cast<std::size_t>(wire.at - p);
  prefix.payload = wire.size();
  return true;
}

/// Extends the prefix to the values. False: the Feature is not one list with one run.
bool read_deep(const std::uint8_t* p, std::uint8_t tag, Prefix& prefix) {
  Prefix deep = prefix;
  Wire wire{p + prefix.bytes, p + prefix.bytes + prefix.payload};
  if (!expect(wire, p, tag, deep.lengths[3]) || deep.lengths[3].value != wire.size()) return false;
  if (!expect(wire, p, 0x0a, deep.lengths[4]) || deep.lengths[4].value != wire.size()) return false;
  deep.count = 5;
  deep.bytes = static_cast<std::size_t>(wire.at - p);
  deep.payload = wire.size();
  if (deep.bytes > MessageTemplate::max_bytes) return false;
  prefix = deep;
  return true;
}

}  // namespace

void Layout::put(std::size_t at, std::size_t byte, std::uint8_t base, bool grows) {
  Expected& expected = byte < Expected::bytes ? heads_[at].expected : tails_[at].expected;
  const std::size_t place = byte % Expected::bytes;
  expected.base[place] = base;
  expected.grows[place] = grows ? 255 : 0;
  expected.mask[place] = 255;
}

bool Layout::tail_matches(const MessageTemplate& head, const std::uint8_t* p) const {
  const MessageTemplateTail& tail = tails_[static_cast<std::size_t>(&head - begin())];
  return tail.expected.match(p + Expected::bytes, p[1], words_of(head.bytes - Expected::bytes));
}

bool Layout::learn(std::size_t at, const std::uint8_t* p, const std::uint8_t* end, const KeyTable& keys,
                   const std::vector<Target>& targets) {
  if (at == heads_.size()) insert(at);
  MessageTemplate& head = heads_[at];
  MessageTemplateTail& tail = tails_[at];
  head = {}, tail = {};
  Prefix prefix;
  Wire key;
  if (!read_head(p, end, prefix, key) || prefix.bytes > MessageTemplate::max_bytes) return false;
  head.target = keys.find(key);
  if (head.target >= 0) {
    const Target& target = targets[static_cast<std::size_t>(head.target)];
    head.action = target.action;
    const bool whole = target.action == Action::hold || target.action == Action::general;
    if (!whole && !read_deep(p, target.tag, prefix)) head.action = Action::general;
  }
  const std::uint64_t entry = prefix.lengths[0].value;
  const bool one_byte =
      prefix.lengths[0].width == 1 && prefix.bytes == 2 * prefix.count - 1 + prefix.lengths[1].value + 1;
  head.expected = {};
  for (std::size_t i = 0; i < prefix.bytes; ++i) put(at, i, p[i], false);
  for (std::size_t i = 0; i < prefix.count; ++i) {
    const Length& length = prefix.lengths[i];
    if (!shortest(length.value, length.width)) return head = {}, false;
    tail.at[i] = static_cast<std::uint8_t>(length.at);
    tail.width[i] = static_cast<std::uint8_t>(length.width);
    if (one_byte && i != 1) put(at, length.at, static_cast<std::uint8_t>(length.value - entry), true);
  }
  head.bytes = static_cast<std::uint8_t>(prefix.bytes);
  head.lengths = static_cast<std::uint8_t>(prefix.count);
  head.grows = one_byte ? 255 : 0;
  head.payload = static_cast<std::uint32_t>(prefix.payload - (one_byte ? entry : 0));
  return true;
}

bool Layout::resize(std::size_t at, const std::uint8_t* p, const std::uint8_t* end) {
  MessageTemplate& head = heads_[at];
  const MessageTemplateTail& tail = tails_[at];
  if (head.grows != 0 || head.lengths == 0) return false;
  for (std::size_t i = 0, within = static_cast<std::size_t>(end - p); i < head.lengths; ++i) {
    if (i == 1) continue;
    Wire wire{p + tail.at[i], end};
    if (wire.at >= end) return false;
    std::uint64_t value;
    if (!columns::read_varint(wire, value)) return false;
    const auto behind = static_cast<std::size_t>(wire.at - p);
    if (behind - tail.at[i] != tail.width[i] || !shortest(value, tail.width[i]) || value > within - behind)
      return false;
    if (i == 0)
      within = behind + value;
    else if (behind + value != within)
      return false;
    for (std::size_t byte = tail.at[i]; byte < behind; ++byte) put(at, byte, p[byte], false);
    head.payload = static_cast<std::uint32_t>(value);
  }
  return matches(at, p);
}

void Layout::insert(std::size_t at) {
  heads_.insert(heads_.begin() + static_cast<std::ptrdiff_t>(at), MessageTemplate{});
  tails_.insert(tails_.begin() + static_cast<std::ptrdiff_t>(at), MessageTemplateTail{});
}

bool LayoutBook::fits(const Layout& layout, const std::uint8_t* p, const std::uint8_t* end) {
  if (layout.size() == 0 || !layout.matches(0, p)) return false;
  const MessageTemplate& head = layout[0];
  const std::size_t length = std::size_t{head.bytes} + head.payload_of(p);
  if (layout.size() < 2 || length + 2 > static_cast<std::size_t>(end - p)) return true;
  return layout.matches(1, p + length);
}

Layout* LayoutBook::search(const std::uint8_t* p, const std::uint8_t* end) {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (fits(layouts_[i], p, end)) return &layouts_[last_ = i];
  }
  if (layouts_.size() < max_layouts) {
    layouts_.emplace_back();
    return &layouts_[last_ = layouts_.size() - 1];
  }
  last_ = oldest_++ % max_layouts;
  layouts_[last_].clear();
  return &layouts_[last_];
}

}  // namespace forebay::decoders
