// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <forebay/decoders/example.h>

#include "columns/wire.h"
#include "decoders/key_table.h"

/// A parser of the tf.train messages by the full rules of protobuf: fields come in any order, repeated known fields are
/// merged, unknown fields are skipped, the last entry of a map key and the last member of a oneof win.
namespace forebay::decoders {

/// A Feature: the byte ranges of its list, which together are one list message.
struct FoundFeature {
  bool present = false;  ///< Whether it has a kind. A feature without a kind counts as missing.
  StoredAs kind = StoredAs::int_;
  std::uint32_t first = 0;  ///< Index in Parsed::pieces.
  std::uint32_t count = 0;
};

/// A FeatureList.
struct FoundList {
  bool present = false;
  std::uint32_t first = 0;  ///< Index in Parsed::steps.
  std::uint32_t count = 0;
};

/// Bytes of memory that a vector owns.
template <class T>
[[nodiscard]] std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(T));
}

/// The values of the wanted keys of one record, as views into the record.
struct Parsed {
  std::vector<columns::Wire> pieces;
  std::vector<FoundFeature> steps;
  std::vector<FoundFeature> features;  ///< By source: features of an Example, or of the context.
  std::vector<FoundList> lists;        ///< By source: feature lists.
  std::vector<columns::Wire> values;   ///< Scratch: the values of the current map entry.
  const std::uint8_t* bad = nullptr;   ///< Position of the fault in a malformed message.

  void clear(std::size_t features_wanted, std::size_t lists_wanted);
  /// Bytes of memory.
  [[nodiscard]] std::int64_t owned() const { return bytes_of(pieces) + bytes_of(steps) + bytes_of(values); }
  [[nodiscard]] std::span<const columns::Wire> of(const FoundFeature& found) const {
    return {pieces.data() + found.first, found.count};
  }
};

/// False: the message is malformed; `bad` is about where.
[[nodiscard]] bool parse_example(columns::Wire record, const KeyTable& wanted, Parsed& out);
[[nodiscard]] bool parse_sequence_example(columns::Wire record, const KeyTable& context, const KeyTable& lists,
                                          Parsed& out);
/// Parses one Feature, which may come in several byte ranges.
[[nodiscard]] bool parse_feature(std::span<const columns::Wire> message, Parsed& out, FoundFeature& found);

/// Parses the steps of one FeatureList, which may come in several byte ranges.
[[nodiscard]] bool parse_feature_list(std::span<const columns::Wire> message, Parsed& out, FoundList& found);

}  // namespace forebay::decoders
