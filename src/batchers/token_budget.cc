// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/token_budget.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <limits>

#include "batchers/measured.h"
#include "batchers/padding.h"

namespace forebay {

template <>
struct EnumNames<TooLong> {
  static constexpr std::array<std::string_view, 2> names{"fail", "drop"};
};

namespace batchers {
namespace {

constexpr std::int64_t max_tokens = std::int64_t{1} << 40;
constexpr std::int64_t max_dealt = 2048;  // shards: the state has two integers for each

/// The open batch of one shard.
struct OpenShare {
  std::int64_t rows = 0, longest = 1;
  /// Its tokens with one row more.
  [[nodiscard]] std::int64_t with(std::int64_t length) const { return product(std::max(longest, length), rows + 1); }
};

/// Cuts batches within a budget, of one process or of one of several shards. All shards go through all elements and
/// deal them alike. The engine owns the batcher; one thread at a time calls it.
class BudgetBatcher final : public Batcher {
 public:
  BudgetBatcher(const TokenBudget& options, std::vector<ColumnId> columns, BatcherContext context, std::size_t own = 0,
                std::size_t shares = 1)
      : options_{options},
        columns_{std::move(columns)},
        max_rows_{options.max_rows.value_or(max_tokens)},
        own_{own},
        stream_{std::move(context), columns_.size(), options.seq_idx || options.epoch_end},
        open_(shares),
        longest_(columns_.size()) {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      FOREBAY_TRY(const bool more, stream_.ready(in, out));
      std::int64_t length = 1;
      for (std::size_t key = 0; more && key < columns_.size(); ++key) length = std::max(length, stream_.length(key));
      if (length > options_.tokens) {
        if (options_.longer == TooLong::fail) return too_long(length);
        stream_.drop();
        continue;
      }
      const std::size_t share = more ? share_for(length) : open_.size();
      if (share < open_.size()) {
        add(share, length, out);
        continue;
      }
      if (std::ranges::all_of(open_, [](const OpenShare& share_of) { return share_of.rows == 0; }))
        return stream_.end(out);
      close(out);
      return Cut::batch;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out;
    for (const OpenShare& share : open_) out.insert(out.end(), {share.rows, share.rows > 0 ? share.longest : 0});
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    bool right = carried.size() == 2 * open_.size();
    for (std::size_t i = 0; right && i < carried.size(); ++i) right = carried[i] <= options_.tokens;
    if (!right)
      return Error{Code::state, Detail::data_loss, "corrupt state: section 'batcher' does not fit this token budget"};
    for (std::size_t i = 0; i < open_.size(); ++i)
      open_[i] = {.rows = carried[2 * i], .longest = std::max<std::int64_t>(1, carried[2 * i + 1])};
    return {};
  }

 private:
  /// The share whose batch is the smallest with one row more; their number when the row fits none.
  [[nodiscard]] std::size_t share_for(std::int64_t length) const {
    std::size_t best = open_.size();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].with(length) > options_.tokens || open_[i].rows == max_rows_) continue;
      if (best == open_.size() || open_[i].with(length) < open_[best].with(length)) best = i;
    }
    return best;
  }

  void add(std::size_t share, std::int64_t length, BatchRows& out) {
    if (!out.epoch()) out.set_epoch(stream_.pass());
    ++open_[share].rows;
    open_[share].longest = std::max(open_[share].longest, length);
    if (share != own_) return stream_.drop_dealt();
    for (std::size_t key = 0; key < columns_.size(); ++key)
      longest_[key] = std::max(longest_[key], stream_.length(key));
    if (options_.seq_idx || options_.epoch_end) out.number(stream_.sequence());
    out.of_pass(stream_.pass());
    out.row(stream_.take());
  }

  void close(BatchRows& out) {
    for (std::size_t key = 0; key < columns_.size(); ++key) out.pad_frames(columns_[key], longest_[key]);
    std::ranges::fill(open_, OpenShare{});
    std::ranges::fill(longest_, 0);
  }

  [[nodiscard]] Error too_long(std::int64_t length) const {
    return stream_.fault(Error{Code::data, Detail::invalid_argument,
                               "a sequence of " + std::to_string(length) + " elements exceeds the budget of " +
                                   std::to_string(options_.tokens) +
                                   "; raise `tokens`, cut sequences into chunks, or set `longer` to \"drop\""});
  }

  const TokenBudget options_;
  const std::vector<ColumnId> columns_;
  const std::int64_t max_rows_;
  const std::size_t own_;  // the share that is delivered
  Measured stream_;
  std::vector<OpenShare> open_;
  std::vector<std::int64_t> longest_;  // by key, of the rows that are delivered
};

Result<Batching> bind(const TokenBudget& options, const Schema& in) {
  Batching batching;
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  if (pads) batching.delivery = Delivery::padded;
  FOREBAY_TRY(const LengthKeys keys, find_length_keys(options.keys, in, "keys"));
  batching.attributes = length_attributes(keys, "keys");
  batching.carries = 2;
  set_numbers(options, batching);
  batching.make = [options, columns = keys.columns](BatcherContext context) {
    return std::make_unique<BudgetBatcher>(options, columns, std::move(context));
  };
  batching.max_dealt = max_dealt;
  batching.make_dealt = [options, columns = keys.columns](BatcherContext context, std::int64_t index,
                                                          std::int64_t count) {
    return std::make_unique<BudgetBatcher>(options, columns, std::move(context), static_cast<std::size_t>(index),
                                           static_cast<std::size_t>(count));
  };
  return batching;
}

}  // namespace

BatcherType token_budget() {
  return describe<BatcherType, TokenBudget>(
             "token_budget", "Cuts batches whose longest row times their rows never exceeds a budget.", bind)
      .required("tokens", &TokenBudget::tokens, "Longest row times rows at most; an empty row counts as 1.",
                {.min = 1, .max = max_tokens})
      .field("keys", &TokenBudget::keys, "Tensors of which the longest counts; empty: all whose first size is unknown.")
      .field("max_rows", &TokenBudget::max_rows, "Rows of a batch at most.", {.min = 1})
      .field("longer", &TokenBudget::longer,
             "What becomes of a sequence that exceeds `tokens` alone: fail, or drop: it is left out.")
      .field("seq_idx", &TokenBudget::seq_idx, seq_idx_doc)
      .field("epoch_end", &TokenBudget::epoch_end, epoch_end_doc)
      .field("pad", &TokenBudget::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .example({.options = R"({"tokens": 6})",
                .in = R"({"x": [[1, 2], [3], [4, 5, 6], [7]]})",
                .out = R"([{"x": [[1, 2], [3, 0]]}, {"x": [[4, 5, 6], [7, 0, 0]]}])"})
      .example({.options = R"({"tokens": 4, "max_rows": 2, "longer": "drop"})",
                .in = R"({"x": [[1], [], [2], [3, 4, 5, 6, 7], [8, 9]]})",
                .out = R"([{"x": [[1], [0]]}, {"x": [[2, 0], [8, 9]]}])"});
}

}  // namespace batchers
}  // namespace forebay
