// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/draw.h"

/// Parts of files of stores that a run keeps on a local disk (docs/adr/0081).
namespace forebay::engine {

/// One part of one version of a file. All parts of a cache have the same number of bytes, but for the last one of a
/// file.
struct PartKey {
  std::uint64_t file = 0;     ///< Hash of the path, without secrets.
  std::uint64_t version = 0;  ///< As FileVersion::version, with the size.
  std::uint64_t part = 0;     ///< Number in the file.
  bool operator==(const PartKey&) const = default;
  [[nodiscard]] std::uint64_t hash() const { return mix(mix(mix(file) + version) + part); }
};

/// When a run uses a part: now and then again. Times count passes from the beginning of the run, with `pass_bits` bits
/// behind the point.
struct PartTimes {
  static constexpr int pass_bits = 40;
  static constexpr std::uint64_t pass = std::uint64_t{1} << pass_bits;
  static constexpr std::uint64_t max = std::uint64_t{1} << 62;  ///< Before it all times lie that a run knows.
  /// The time at which a share of a pass is done, from 0 to 1.
  [[nodiscard]] static std::uint64_t at(std::int64_t pass_number, double share) {
    const auto passes = static_cast<std::uint64_t>(pass_number);
    if (passes >= max >> pass_bits) return max;
    return (passes << pass_bits) + static_cast<std::uint64_t>(share * static_cast<double>(pass));
  }

  std::uint64_t now = 0;
  std::uint64_t next = max;  ///< `max`: the run does not know.
  bool shared = false;       ///< All processes of the run read the part in this pass, each of them once.
  std::uint64_t run = 0;     ///< By which the runs of one plan and seed are told from others, also those of its ranks.
};

}  // namespace forebay::engine

template <>
struct std::hash<forebay::engine::PartKey> {
  std::size_t operator()(const forebay::engine::PartKey& key) const { return static_cast<std::size_t>(key.hash()); }
};
