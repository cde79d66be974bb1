// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/wire.h"
#include "decoders/feature_plan.h"

/// Templates of map entries. The records of a file usually have the same layout. A template holds the bytes of an entry
/// before its values (tags, lengths, key). The same entry of the next record is recognised by comparing bytes instead
/// of reading a dozen varints. One worker owns its templates.
namespace forebay::decoders {

/// How the values of a recognised entry are handled.
enum class Action : std::uint8_t {
  skip,         ///< No output uses the key.
  hold,         ///< The Feature is held until the record is read: its column is made from several keys.
  general,      ///< FeatureWriter reads the Feature.
  copy,         ///< The stored numbers have the type of the column: one copy.
  one_int,      ///< One varint to int64.
  ints,         ///< Packed varints to int64.
  cast_ints,    ///< Packed varints to another type.
  cast_floats,  ///< Packed floats to another type.
  append_floats,
  append_ints,
  one_string,  ///< The only string of a scalar.
};

/// Expected values of half of the bytes that an entry may have before its values. Byte i is `base[i]`, plus the entry's
/// length (modulo 256) where `grows[i]` is 255. A byte whose `mask[i]` is 0 is not compared.
struct alignas(32) Expected {
  static constexpr std::size_t bytes = 32;

  std::array<std::uint8_t, bytes> base{};
  std::array<std::uint8_t, bytes> grows{};
  std::array<std::uint8_t, bytes> mask{};

  /// A value that no bytes match: the length byte would have to differ from itself.
  [[nodiscard]] static constexpr Expected nothing() {
    Expected out;
    out.base[1] = 255, out.grows[1] = 255, out.mask[1] = 255;
    return out;
  }

  /// Whether the first `words` words at `p` match. The first byte of a length of several bytes is above 127. It counts
  /// as 127 and so does not match where the length should grow.
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

/// The bytes of one entry before its values: 0a, length, 0a, length, key, 12, length, then the tag of the list, length,
/// 0a, length, unless the Feature is read as a whole.
///
/// When all lengths have one byte, each is the entry's length minus a constant, so one template matches entries of
/// every such length. Longer entries match for the last entry length only; `resize` adapts the template to a new
/// length.
struct alignas(32) MessageTemplate {
  static constexpr std::size_t max_bytes = 2 * Expected::bytes;

  Expected expected = Expected::nothing();  ///< The first 32 bytes. The others are in the tail.
  std::uint32_t payload = 0;  ///< Bytes of the values. Where they grow: minus the entry's length, modulo 2^32.
  std::int32_t target = -1;   ///< Source in the plan, or -1.
  std::uint8_t bytes = 0;     ///< Length of the prefix.
  std::uint8_t grows = 0;     ///< 255 when the payload grows with the entry's length, which is one byte; else 0.
  std::uint8_t lengths = 0;   ///< Number of lengths in the prefix.
  Action action = Action::skip;

  /// Wraps around when the entry is shorter than one without values: the result is then larger than any record.
  [[nodiscard]] std::uint32_t payload_of(const std::uint8_t* entry) const {
    return payload + (std::uint32_t{entry[1]} & grows);
  }
};
static_assert(sizeof(MessageTemplate) == 128);

/// The rarely used part of a template.
struct MessageTemplateTail {
  Expected expected;                    ///< The bytes from the 32nd on.
  std::array<std::uint8_t, 5> at{};     ///< Positions of the lengths. The second is that of the key.
  std::array<std::uint8_t, 5> width{};  ///< Bytes of each length.
};

/// How the entries of one wanted key are handled. Indexed by source.
struct Target {
  Action action = Action::general;  ///< For an entry in the usual form.
  std::uint8_t tag = 0;             ///< Tag of the list in the Feature: 0a bytes, 12 floats, 1a ints.
};

/// The templates of one layout of records, in the order of the entries.
class Layout {
 public:
  [[nodiscard]] std::size_t size() const { return heads_.size(); }
  [[nodiscard]] const MessageTemplate* begin() const { return heads_.data(); }
  [[nodiscard]] const MessageTemplate* end() const { return heads_.data() + heads_.size(); }
  [[nodiscard]] const MessageTemplate& operator[](std::size_t at) const { return heads_[at]; }

  /// Whether the entry at `p` matches template `at`. Reads up to 64 bytes.
  [[nodiscard]] bool matches(std::size_t at, const std::uint8_t* p) const {
    const MessageTemplate& head = heads_[at];
    return head.expected.match(p, p[1], std::max<std::size_t>(1, std::min(words_of(head.bytes), max_words))) &&
           (head.bytes <= Expected::bytes || tail_matches(head, p));
  }
  /// The part of `matches` for the bytes from the 32nd on.
  [[nodiscard]] bool tail_matches(const MessageTemplate& head, const std::uint8_t* p) const;
  /// Makes the entry at `p` template `at`, or a new last one. False: the entry has not the usual form.
  [[nodiscard]] bool learn(std::size_t at, const std::uint8_t* p, const std::uint8_t* end, const KeyTable& keys,
                           const std::vector<Target>& targets);
  /// Like `matches`, for an entry of the same key with other lengths. Adapts the template.
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
