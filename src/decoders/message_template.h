// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/wire.h"
#include "decoders/feature_plan.h"

/// Records of a file are laid out alike. A skeleton remembers the bytes of a map entry up to its values (tags, lengths,
/// key), so that the next record's entry is recognised by comparing bytes instead of reading a dozen varints.
namespace forebay::decoders {

/// What is done with the values of a recognised entry.
enum class Action : std::uint8_t {
  skip,         ///< Nobody wants the key.
  hold,         ///< The Feature is kept for columns that are made from several keys.
  general,      ///< The Feature is read the plain way.
  copy,         ///< Numbers are stored as they are wanted: one copy.
  one_int,      ///< One varint to int64.
  ints,         ///< Packed varints to int64.
  cast_ints,    ///< Packed varints to another type.
  cast_floats,  ///< Packed floats to another type.
  append_floats,
  append_ints,
  one_string,  ///< The only string of a scalar.
};

/// Half of the bytes that an entry may have before its values, and what is expected of each: `base`, and where `grows`
/// is 255 the entry's length on top, modulo 256; where `mask` is 0, anything.
struct alignas(32) Expected {
  static constexpr std::size_t bytes = 32;

  std::array<std::uint8_t, bytes> base{};
  std::array<std::uint8_t, bytes> grows{};
  std::array<std::uint8_t, bytes> mask{};

  /// What no bytes match: whatever the length is, it would have to be another.
  [[nodiscard]] static constexpr Expected nothing() {
    Expected out;
    out.base[1] = 255, out.grows[1] = 255, out.mask[1] = 255;
    return out;
  }

  /// Whether the bytes at `p` are as they should be, in the first `words` words. An entry's length of more than one
  /// byte, whose first is above 127, counts as 127, so that it is not what is expected of it where it should grow.
  [[nodiscard]] bool match(const std::uint8_t* p, std::uint8_t length, std::size_t words) const {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = ones << 7;
    const std::uint64_t lengths = ones * std::min<std::uint8_t>(length, 127);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t first = columns::load64(base.data() + 8 * i);
      const std::uint64_t second = columns::load64(grows.data() + 8 * i) & lengths;
      const std::uint64_t sums = ((first & ~tops) + (second & ~tops)) ^ ((first ^ second) & tops);  // byte by byte
      wrong |= (columns::load64(p + 8 * i) ^ sums) & columns::load64(mask.data() + 8 * i);
    }
    return wrong == 0;
  }
};

/// The bytes of one entry before its values: 0a, length, 0a, length, key, 12, length, and, unless the Feature is read
/// as a whole, its tag, length, 0a, length.
///
/// When all lengths are one byte, they are the entry's length minus a constant each, so that entries of any such length
/// match. Longer ones match for the entry length seen last, and are set anew (`resize`) when that changes.
struct alignas(32) MessageTemplate {
  static constexpr std::size_t max_bytes = 2 * Expected::bytes;

  Expected expected = Expected::nothing();  ///< Of the first 32 bytes; the rest is in the tail.
  std::uint32_t payload = 0;                ///< Bytes of values; where they grow: less the entry's length, modulo 2^32.
  std::int32_t target = -1;                 ///< The source of the plan, or none.
  std::uint8_t bytes = 0;                   ///< Of the prefix.
  std::uint8_t grows = 0;    ///< 255 when the payload grows with the entry's length, which is one byte; else 0.
  std::uint8_t lengths = 0;  ///< How many lengths are in the prefix.
  Action action = Action::skip;

  /// Wraps around when the entry is shorter than one without values: more bytes than any record has.
  [[nodiscard]] std::uint32_t payload_of(const std::uint8_t* entry) const {
    return payload + (std::uint32_t{entry[1]} & grows);
  }
};
static_assert(sizeof(MessageTemplate) == 128);

/// What a skeleton needs seldom.
struct MessageTemplateTail {
  Expected expected;                    ///< Of the bytes from the 32nd on.
  std::array<std::uint8_t, 5> at{};     ///< Where the lengths stand; the second one is the key's.
  std::array<std::uint8_t, 5> width{};  ///< Their bytes.
};

/// How the entries under one wanted key are handled, by source.
struct Target {
  Action action = Action::general;  ///< When the entry has its usual form.
  std::uint8_t tag = 0;             ///< Of the list in the Feature: 0a bytes, 12 floats, 1a ints.
};

/// The skeletons of one kind of record, in the order of its entries.
class Layout {
 public:
  [[nodiscard]] std::size_t size() const { return heads_.size(); }
  [[nodiscard]] const MessageTemplate* begin() const { return heads_.data(); }
  [[nodiscard]] const MessageTemplate* end() const { return heads_.data() + heads_.size(); }
  [[nodiscard]] const MessageTemplate& operator[](std::size_t at) const { return heads_[at]; }

  /// Whether the entry at `p` is that of skeleton `at`. Looks at up to 64 bytes.
  [[nodiscard]] bool matches(std::size_t at, const std::uint8_t* p) const {
    const MessageTemplate& head = heads_[at];
    return head.expected.match(p, p[1], std::max<std::size_t>(1, std::min(words_of(head.bytes), max_words))) &&
           (head.bytes <= Expected::bytes || tail_matches(head, p));
  }
  /// What `matches` says of the bytes from the 32nd on.
  [[nodiscard]] bool tail_matches(const MessageTemplate& head, const std::uint8_t* p) const;
  /// Learns the entry at `p` in the place of skeleton `at` (or as a new last one). False: it has no usual form.
  [[nodiscard]] bool learn(std::size_t at, const std::uint8_t* p, const std::uint8_t* end, const KeyTable& keys,
                           const std::vector<Target>& targets);
  /// As matches, for an entry of the same key whose lengths differ from those seen last.
  [[nodiscard]] bool resize(std::size_t at, const std::uint8_t* p, const std::uint8_t* end);
  void insert(std::size_t at);
  void clear() { heads_.clear(), tails_.clear(); }

 private:
  static constexpr std::size_t max_words = Expected::bytes / 8;
  static constexpr std::size_t words_of(std::size_t bytes) { return (bytes + 7) / 8; }
  void put(std::size_t at, std::size_t byte, std::uint8_t base, bool grows);

  std::vector<MessageTemplate> heads_;
  std::vector<MessageTemplateTail> tails_;
};

/// The layouts seen by one worker; files may differ, and their records may come mixed.
class LayoutBook {
 public:
  /// That of the last record.
  Layout* last() {
    if (layouts_.empty()) layouts_.emplace_back();
    return &layouts_[last_];
  }
  /// The layout whose first two entries (or the first, where there is one only) are those at `p`, or an empty one to be
  /// learnt. From then on it is the last.
  Layout* search(const std::uint8_t* p, const std::uint8_t* end);

 private:
  static constexpr std::size_t max_layouts = 16;
  [[nodiscard]] static bool fits(const Layout& layout, const std::uint8_t* p, const std::uint8_t* end);

  std::vector<Layout> layouts_;
  std::size_t last_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace forebay::decoders
