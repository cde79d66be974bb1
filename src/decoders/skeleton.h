// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/wire.h"
#include "decoders/feature_plan.h"

/// Records of a file are laid out alike. A skeleton remembers the bytes of a map entry up to its values (tags, lengths,
/// key), so that the next record's entry is recognised by comparing words instead of reading a dozen varints.
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

/// The bytes of one entry before its values: 0a, length, 0a, length, key, 12, length, and, unless the Feature is read
/// as a whole, its tag, length, 0a, length.
///
/// When all lengths are one byte (`factor`), they are the entry's length minus a constant each, so that entries of any
/// such length match: the expected word is `base + length * factor`, modulo 2^64, with a 1 in `factor` at each length
/// byte; no byte of the sum leaves its range because lengths outside `least` … `least + range` are refused. Longer
/// ones match for the entry length seen last, and are set anew (`resize`) when that changes.
struct alignas(64) Skeleton {
  static constexpr std::size_t most_bytes = 64;

  std::uint64_t base[2] = {};
  std::uint64_t factor[2] = {};
  std::uint64_t mask[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};  ///< Nothing matches a new one.
  std::uint8_t bytes = 0;                                          ///< Of the prefix.
  std::uint8_t words = 2;  ///< 8-byte words of it, at least 2; from the third on in `more`.
  std::uint8_t least = 0;  ///< Entry length of an entry without values, when it is one byte.
  std::uint8_t range = 0;  ///< Other lengths beyond `least`.
  Action action = Action::skip;
  std::uint8_t lengths = 0;   ///< How many lengths are in the prefix.
  std::uint8_t scale = 0;     ///< 1 when the payload grows with the entry's length, which is one byte.
  std::int32_t target = -1;   ///< The source of the plan, or none.
  std::uint32_t payload = 0;  ///< Bytes of values; with `scale`: less the entry's length, modulo 2^32.

  /// Whether the first 16 bytes of the entry at `p`, as far as they are in the prefix, are as they should be.
  [[nodiscard]] bool matches_words(const std::uint8_t* p) const {
    const std::uint64_t first = columns::load64(p);
    const std::uint64_t length = first >> 8 & 0xff;
    const std::uint64_t second = columns::load64(p + 8);
    const std::uint64_t wrong =
        ((first ^ (base[0] + factor[0] * length)) & mask[0]) | ((second ^ (base[1] + factor[1] * length)) & mask[1]);
    return (wrong | static_cast<std::uint64_t>(static_cast<std::uint8_t>(length - least) > range)) == 0;
  }
  [[nodiscard]] std::uint32_t payload_of(const std::uint8_t* entry) const {
    return payload + scale * std::uint32_t{entry[1]};
  }
};
static_assert(sizeof(Skeleton) == 64);

/// What a skeleton needs seldom.
struct SkeletonTail {
  std::uint64_t base[6] = {};
  std::uint64_t factor[6] = {};
  std::uint64_t mask[6] = {};
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
  [[nodiscard]] const Skeleton* begin() const { return heads_.data(); }
  [[nodiscard]] const Skeleton* end() const { return heads_.data() + heads_.size(); }
  [[nodiscard]] const Skeleton& operator[](std::size_t at) const { return heads_[at]; }

  /// Whether the entry at `p` is that of skeleton `at`. Looks at up to 64 bytes.
  [[nodiscard]] bool matches(std::size_t at, const std::uint8_t* p) const {
    const Skeleton& head = heads_[at];
    return head.matches_words(p) && (head.words == 2 || tail_matches(&head, p));
  }
  /// The part of `matches` for prefixes longer than 16 bytes.
  [[nodiscard]] bool tail_matches(const Skeleton* head, const std::uint8_t* p) const;
  /// Learns the entry at `p` in the place of skeleton `at` (or as a new last one). False: it has no usual form.
  [[nodiscard]] bool learn(std::size_t at, const std::uint8_t* p, const std::uint8_t* end, const KeyTable& keys,
                           const std::vector<Target>& targets);
  /// As matches, for an entry of the same key whose lengths differ from those seen last.
  [[nodiscard]] bool resize(std::size_t at, const std::uint8_t* p, const std::uint8_t* end);
  void insert(std::size_t at);
  void clear() { heads_.clear(), tails_.clear(); }

 private:
  void put(std::size_t at, std::size_t byte, std::uint8_t value, bool grows);

  std::vector<Skeleton> heads_;
  std::vector<SkeletonTail> tails_;
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
  static constexpr std::size_t most_layouts = 16;
  [[nodiscard]] static bool fits(const Layout& layout, const std::uint8_t* p, const std::uint8_t* end);

  std::vector<Layout> layouts_;
  std::size_t last_ = 0;
  std::size_t oldest_ = 0;
};

}  // namespace forebay::decoders
