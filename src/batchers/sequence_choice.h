// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <forebay/batchers/frames.h>

#include "batchers/measured.h"

namespace forebay::batchers {

/// The options of `frames` that leave sequences out; limits by key.
struct ChoiceOptions {
  std::vector<std::int64_t> longest;   // no_limit: none
  std::vector<std::int64_t> shortest;  // 0: none
  std::int64_t sequences = no_limit;   // of a pass
  double drop = 0;
  bool weighs = false;  // the attribute after the lengths is the weight
  double mean_weight = 1;
  double pruning = 0;

  /// Whether the sequences of a pass are counted.
  [[nodiscard]] bool counts() const { return sequences != no_limit; }
  /// The attributes that a Measured needs for `keys` keys.
  [[nodiscard]] std::size_t attributes(std::size_t keys) const { return keys + (weighs ? 1 : 0); }
};

Error bad_frames(const std::string& option, const std::string& message);

/// The numbers of a limit by key; `none` for keys without one. Fails for a number below `min` and for other names.
[[nodiscard]] Result<std::vector<std::int64_t>> by_key(const std::optional<FramesByKey>& limit, const LengthKeys& keys,
                                                       const std::string& option, std::int64_t none, std::int64_t min);

/// Reads these options, and adds the attribute of the weights to `batching` after those of the keys.
[[nodiscard]] Result<ChoiceOptions> choice_of(const Frames& options, const LengthKeys& keys, const Schema& in,
                                              Batching& batching);

/// Decides which elements of a stream the batches have. A batcher owns it. A decision about an element is the same each
/// time and in each run: draws belong to the element and its pass.
class SequenceChoice {
 public:
  explicit SequenceChoice(ChoiceOptions options) : options_{std::move(options)} {}

  /// Whether the batches have the element that the stream is at.
  [[nodiscard]] bool wants(const Measured& stream);
  /// Counts that element, which a batch gets. Called before Measured::take.
  void count(const Measured& stream);

 private:
  [[nodiscard]] bool drawn(const Measured& stream) const;
  [[nodiscard]] bool counted(const Measured& stream) const { return last_ == stream.sequence(); }
  void begin_pass(const Measured& stream);

  const ChoiceOptions options_;
  std::int64_t pass_ = -1;
  std::int64_t sequences_ = 0;  // of the pass, counted
  std::int64_t last_ = -1;      // the sequence that was counted last
};

}  // namespace forebay::batchers
