// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include <forebay/combine/until.h>

namespace forebay {

/// The weights of the branches of `mix`: in JSON a list of numbers, or a schedule, [[pass, list of numbers], …], from
/// pass 0 on.
struct MixWeights {
  /// The weights from a pass on.
  struct From {
    std::int64_t pass = 0;
    std::vector<double> weights;  ///< One for each branch, not all 0. 0: the branch is left out, and keeps its place.
  };
  MixWeights() = default;  ///< Equal.
  MixWeights(std::initializer_list<double> weights) : schedule{{.pass = 0, .weights = weights}} {}
  explicit MixWeights(std::vector<From> schedule_by_pass) : schedule{std::move(schedule_by_pass)} {}

  std::vector<From> schedule;  ///< Passes rise, from 0 on.
};

template <>
struct JsonCodec<MixWeights> {
  static std::optional<MixWeights> read(const Json& json, std::vector<Error>& faults);
  static Json write(const MixWeights& value);
  static Json schema();
  static std::string python_type() { return "list[object]"; }
};

/// Draws the branch of every row at random. A pass ends as `until` says; the next one goes on where each branch is.
struct Mix {
  MixWeights weights = {};                                ///< Of all passes, or by pass.
  Until until = {};                                       ///< When a pass ends.
  std::vector<std::pair<std::string, Scalar>> fill = {};  ///< By tensor: the value where a branch lacks it.
  Branches branches;                                      ///< At least one.
};

}  // namespace forebay
