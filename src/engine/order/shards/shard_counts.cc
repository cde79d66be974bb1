// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/shard_counts.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/order/shards/dealt_batches.h"

namespace forebay::engine {

namespace {

/// A batcher that appends batches of empty rows until the pass has as many batches as the pass of each other shard.
class Padded final : public Batcher {
 public:
  Padded(std::shared_ptr<PassBatches> pass, std::unique_ptr<Batcher> inner, std::int64_t rows)
      : pass_{std::move(pass)}, inner_{std::move(inner)}, rows_{rows} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    FOREBAY_TRY(const Cut got, inner_->cut(in, out));
    if (got == Cut::end_of_pass && (!pass_->known || pass_->cut >= pass_->batches)) return got;
    ++pass_->cut;
    if (got == Cut::end_of_pass) out.pad_to(rows_);
    return Cut::batch;
  }

 private:
  const std::shared_ptr<PassBatches> pass_;
  const std::unique_ptr<Batcher> inner_;
  const std::int64_t rows_;
};

Error refused(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

}  // namespace

std::string shard_misfit(std::int64_t rows, std::int64_t count) {
  constexpr std::size_t max_names = 40;
  std::vector<std::int64_t> fit;
  for (std::int64_t low = 1; low * low <= rows; ++low) {
    if (rows % low != 0) continue;
    fit.push_back(low);
    if (low * low != rows) fit.push_back(rows / low);
  }
  std::sort(fit.begin(), fit.end());
  const std::size_t shown = std::min(fit.size(), max_names);
  const std::string more = shown < fit.size() ? fmt::format(" and {} more", fit.size() - shown) : "";
  return fmt::format("a batch of {} rows cannot be divided among {} shards; counts that fit: {}{}", rows, count,
                     fmt::join(fit.begin(), fit.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more);
}

Result<void> check_own_batches(const Program& program, const Shard& shard) {
  const Batching& batching = program.batching;
  const std::string by = fmt::format("by {}", EnumNames<ShardBy>::names[static_cast<std::size_t>(shard.by)]);
  const bool own = batching.make_dealt != nullptr;                       // the batcher deals the elements itself
  const bool whole = shard.by == ShardBy::file && !batching.make_sized;  // each shard has whole batches
  const bool deals = shard.by == ShardBy::element && (own || (!batching.make_sized && can_be_dealt(batching)));
  const std::int64_t most = own ? batching.max_dealt : max_shards(batching);
  if (deals && shard.count > most)
    return refused(
        fmt::format("shard: these batches are made for at most {} shards {}, found {}", most, by, shard.count));
  if (shard.by == ShardBy::element && (batching.numbers || batching.counts) && !deals && !batching.make_sized)
    return refused(
        "shard: `seq_idx`, `epoch_end` and `max_total_num_seqs` count the sequences of a pass, and a shard by element "
        "has its own only; leave them out, or shard by rows");
  if (!deals && !whole && (!batching.make_sized || !batching.max_rows))
    return refused(fmt::format("shard: these batches cannot be made for shards {}; shard by rows", by));
  if (!deals && !whole && batching.remainder == Remainder::keep) {
    return refused(
        fmt::format("shard: shards {} have unequal numbers of records, so with `remainder: keep` some would have more "
                    "batches than others; set the batch's `remainder` to drop, pad or repeat, or shard by rows",
                    by));
  }
  if (batching.remainder == Remainder::pad && program.epochs != 1 && !program.hard_epochs) {
    return refused(
        fmt::format("shard: shards {} with `remainder: pad` are filled up at the end of every epoch; set "
                    "`epoch_boundary` to hard, or `remainder` to drop or repeat",
                    by));
  }
  if (!program.deterministic) {
    return refused(fmt::format("shard: the order of the {}s must be the same everywhere; set `deterministic` to true",
                               by.substr(3)));
  }
  return {};
}

void set_own_batches(Program& program, std::int64_t count, std::shared_ptr<PassBatches> pass) {
  Batching& batching = program.batching;
  const std::int64_t rows = rows_of_shard(batching, count);
  const bool drops = batching.remainder == Remainder::drop;
  const bool pads = batching.remainder == Remainder::pad;
  batching.make = [make = batching.make_sized, pads, rows,
                   pass](const BatcherContext& context) -> std::unique_ptr<Batcher> {
    auto batcher = make(context, rows);
    if (!pads) return batcher;
    return std::make_unique<Padded>(pass, std::move(batcher), rows);
  };
  batching.max_rows = rows;
  batching.fixed = batching.fixed && !pads;  // Padded counts the batches
  batching.batches = [rows, drops](std::int64_t elements) -> std::optional<std::int64_t> {
    return drops ? elements / rows : batches_for(elements, rows);
  };
  program.hard_epochs = program.hard_epochs || (program.epochs == 1 && pads);
}

bool countable(const std::vector<Ordering>& record_orders) {
  bool changed = false;
  for (const Ordering& order : record_orders) {
    if (order.selects && changed) return false;
    changed = changed || (!order.selects && (order.count != nullptr || order.repeats));
  }
  return true;
}

std::vector<std::size_t> counted_filters(const Program& program) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < program.early.selecting; ++i) out.push_back(i);
  std::size_t attribute = program.early.selecting + program.interleave.attributes.size();
  for (const Ordering& order : program.record_orders) {
    if (order.selects) out.push_back(attribute);
    attribute += order.attributes.size();
  }
  return out;
}

std::optional<std::int64_t> count_after_filters(const std::vector<Ordering>& record_orders, std::int64_t kept) {
  std::vector<Ordering> others;
  std::ranges::copy_if(record_orders, std::back_inserter(others), [](const Ordering& order) { return !order.selects; });
  return count_after(others, kept);
}

}  // namespace forebay::engine
