// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/even_batches.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

/// See even_batches. Where passes are padded, their batches are counted when this shard has no more; else before the
/// first one.
class EvenBatches final : public Batcher {
 public:
  EvenBatches(std::unique_ptr<Batcher> batcher, const BatcherContext& context, EvenPasses even,
              std::shared_ptr<ShardPasses> passes)
      : batcher_{std::move(batcher)},
        reader_{context.reader},
        ask_{context.ask},
        even_{std::move(even)},
        passes_{std::move(passes)} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    const std::int64_t pass = out.pass();
    if (even_.epochs && pass >= *even_.epochs) return batcher_->cut(in, out);  // the run is over
    if (!even_.pads && !counted_) FOREBAY_DO(count(pass));
    if (!ended_ && !enough()) {
      FOREBAY_TRY(const Cut got, batcher_->cut(in, out));
      if (got == Cut::batch) return ++cut_, Cut::batch;
      ended_ = true;
    }
    if (!counted_) FOREBAY_DO(count(pass));
    if (!ended_) FOREBAY_DO(leave_rest(in));
    ended_ = true;
    if (own_ ? cut_ != *own_ : cut_ != wanted_) return changed(pass);
    if (even_.pads && padded_ < wanted_ - cut_) return pad(pass, out), Cut::batch;
    counted_ = ended_ = false;
    cut_ = padded_ = 0;
    return Cut::end_of_pass;
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override { return batcher_->carried(); }
  Result<void> resume(std::span<const std::int64_t> carried) override { return batcher_->resume(carried); }
  [[nodiscard]] std::optional<std::int64_t> oldest() const override { return batcher_->oldest(); }

 private:
  [[nodiscard]] bool enough() const { return !even_.pads && cut_ == wanted_; }

  /// Asks how many batches the pass has. Fails with Code::cancelled until they are counted.
  Result<void> count(std::int64_t pass) {
    passes_->start();
    FOREBAY_TRY(const Function::Integers batches, ask_(std::array{pass}));
    if (batches.empty()) return passes_->failure();
    wanted_ = even_.pads ? std::ranges::max(batches) : std::ranges::min(batches);
    own_ = even_.pads ? std::optional{batches[even_.shard]} : std::nullopt;
    counted_ = true;
    return {};
  }

  /// Goes past the elements of the pass for which other shards have no batch.
  Result<void> leave_rest(Handles& in) {
    std::array<Handle, 64> some;
    while (true) {
      FOREBAY_TRY(const std::size_t pulled, in.pull(some));
      if (pulled == 0) return {};
      reader_.drop(std::span{some}.first(pulled));
    }
  }

  void pad(std::int64_t pass, BatchRows& out) {
    ++padded_;
    out.set_epoch(pass);
    out.pad_to(even_.rows);
    for (std::int64_t row = 0; row < even_.begun_rows; ++row) out.begin_row();
  }

  [[nodiscard]] Error changed(std::int64_t pass) const {
    return Error{
        Code::data, Detail::failed_precondition,
        fmt::format("shard: its files gave {} batches in epoch {}, and {} when they were counted; a file changed "
                    "during the run",
                    cut_, pass, own_.value_or(wanted_))};
  }

  const std::unique_ptr<Batcher> batcher_;
  Reader& reader_;
  const Ask ask_;
  const EvenPasses even_;
  const std::shared_ptr<ShardPasses> passes_;
  bool counted_ = false;             // of the present pass: the next two are known
  std::int64_t wanted_ = 0;          // batches of every shard
  std::optional<std::int64_t> own_;  // batches of this shard, with `pads`
  std::int64_t cut_ = 0;             // batches of this shard so far
  std::int64_t padded_ = 0;          // batches without rows after them
  bool ended_ = false;               // no more elements are wanted
};

}  // namespace

std::unique_ptr<Batcher> even_batches(std::unique_ptr<Batcher> batcher, const BatcherContext& context, EvenPasses even,
                                      std::shared_ptr<ShardPasses> passes) {
  return std::make_unique<EvenBatches>(std::move(batcher), context, std::move(even), std::move(passes));
}

}  // namespace forebay::engine
