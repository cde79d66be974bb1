// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <forebay/decoders/example.h>

#include "columns/wire.h"
#include "decoders/key_table.h"

/// The messages of tf.train, read by the full rules of protobuf: fields in any order, known ones merged, unknown ones
/// passed over, the last entry of a map key and the last kind of a oneof win.
namespace forebay::decoders {

/// A Feature: the pieces of the list of its kind, which together are one list message.
struct FoundFeature {
  bool present = false;  ///< Has a kind. Without one it is as if it were missing.
  StoredAs kind = StoredAs::int_;
  std::uint32_t first = 0;  ///< In Parsed::pieces.
  std::uint32_t count = 0;
};

/// A FeatureList.
struct FoundList {
  bool present = false;
  std::uint32_t first = 0;  ///< In Parsed::steps.
  std::uint32_t count = 0;
};

/// Bytes that a vector owns.
template <class T>
[[nodiscard]] std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(T));
}

/// What the wanted keys of one record hold; views into the record.
struct Parsed {
  std::vector<columns::Wire> pieces;
  std::vector<FoundFeature> steps;
  std::vector<FoundFeature> features;  ///< By source, of an Example or of the context.
  std::vector<FoundList> lists;        ///< By source, of the feature lists.
  std::vector<columns::Wire> values;   ///< Scratch: the values of the map entry at hand.
  const std::uint8_t* bad = nullptr;   ///< Where a malformed message could not be read on.

  void clear(std::size_t features_wanted, std::size_t lists_wanted);
  /// Bytes.
  [[nodiscard]] std::int64_t owned() const { return bytes_of(pieces) + bytes_of(steps) + bytes_of(values); }
  [[nodiscard]] std::span<const columns::Wire> of(const FoundFeature& found) const {
    return {pieces.data() + found.first, found.count};
  }
};

/// False: malformed, and `bad` says where (roughly).
[[nodiscard]] bool parse_example(columns::Wire record, const KeyTable& wanted, Parsed& out);
[[nodiscard]] bool parse_sequence_example(columns::Wire record, const KeyTable& context, const KeyTable& lists,
                                          Parsed& out);
/// One Feature in as many pieces as it was sent in.
[[nodiscard]] bool parse_feature(std::span<const columns::Wire> message, Parsed& out, FoundFeature& found);

}  // namespace forebay::decoders
