// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <forebay/combine.h>

namespace forebay::combine {

/// Names the open branches in turn, from the first one on in every pass. The engine owns it; one thread at a time calls
/// it.
class Turns final : public Combiner {
 public:
  void begin(std::int64_t) override { next_ = 0; }
  std::size_t next(const std::vector<bool>& open) override {
    std::size_t branch = next_ % open.size();
    while (!open[branch]) branch = (branch + 1) % open.size();
    next_ = branch + 1;
    return branch;
  }
  std::int64_t pass_over(std::int64_t n, const std::vector<bool>& open, std::span<const std::int64_t> left,
                         std::span<std::int64_t> counts) override {
    const auto in_turn = std::ranges::count(open, true);
    std::int64_t rounds = n / in_turn;
    for (std::size_t i = 0; i < open.size(); ++i) rounds = open[i] ? std::min(rounds, left[i]) : rounds;
    for (std::size_t i = 0; i < open.size(); ++i) counts[i] += open[i] ? rounds : 0;
    return rounds * in_turn;
  }

  static std::unique_ptr<Combiner> make(const CombineContext&) { return std::make_unique<Turns>(); }

 private:
  std::size_t next_ = 0;
};

}  // namespace forebay::combine
