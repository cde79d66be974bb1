// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <forebay/error.h>

#include "engine/blocks/batch_layout.h"
#include "engine/memory/buffer_pool.h"
#include "engine/order/open_parts.h"

namespace forebay::engine {

/// The batches of a process that takes only some of the rows, decided long before they are handed over: bytes of other
/// machines are asked for by batch, and come while earlier batches are made.
///
///     decide ─► expect: bytes are asked for ─► ahead_: … ─► next: the oldest one, whether its bytes are there or not
///
/// Where all bytes are of this machine, or a quarter of the budget is not free, no batch is decided ahead. Owned by
/// OrderPlane.
class BatchesAhead {
 public:
  /// Decides the next batch; false at the end of the run. May be interrupted, and is then repeated with the same
  /// layout.
  using Decide = std::function<Result<bool>(BatchLayout& layout)>;
  using Expect = std::function<OpenParts::Expected(std::span<const Handle> rows)>;
  BatchesAhead(const OpenParts& parts, std::shared_ptr<BufferPool> pool, Decide decide, Expect expect)
      : parts_{parts}, pool_{std::move(pool)}, decide_{std::move(decide)}, expect_{std::move(expect)} {}

  /// Fills `layout` with the next batch; false at the end of the run. An error comes after the batches before it.
  [[nodiscard]] Result<bool> next(BatchLayout& layout);
  /// The layout that `decide` was called with last.
  [[nodiscard]] BatchLayout& deciding() { return deciding_; }
  void account();

 private:
  struct Ahead {
    BatchLayout layout;
    OpenParts::Expected expected;
  };
  [[nodiscard]] bool wants_more() const;
  void push();

  const OpenParts& parts_;
  const std::shared_ptr<BufferPool> pool_;
  const Decide decide_;
  const Expect expect_;
  BatchLayout deciding_;
  std::deque<Ahead> ahead_;
  std::int64_t bytes_ = 0;      // that the batches in ahead_ ask for
  std::optional<Error> fault_;  // comes after the batches in ahead_
  bool over_ = false;
};

}  // namespace forebay::engine
