// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/file_shard.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/order/shards/dealt_batches.h"
#include "engine/order/shards/even_batches.h"
#include "engine/order/shards/own_files.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

Error refuse(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

/// The counts of the present pass of a shard. Shared by Counting and Quota; used by the order plane only.
struct Pass {
  std::int64_t epoch = 0;
  bool known = false;       // the records of the files were counted
  std::int64_t own = 0;     // records that this shard's files give
  std::int64_t wanted = 0;  // records that this shard takes: the same for every shard, except with `pad`
  std::shared_ptr<PassBatches> batches = std::make_shared<PassBatches>();

  [[nodiscard]] std::optional<std::int64_t> wanted_of_pass() const {
    return known ? std::optional{wanted} : std::nullopt;
  }
};

/// Counts the records of all files and sets the counts of the pass. Each process computes the same numbers from the
/// same files, so the processes need not communicate.
class Counting {
 public:
  Counting(std::shared_ptr<const Program> program, std::int64_t index, std::int64_t count, std::shared_ptr<Pass> pass)
      : program_{std::move(program)}, index_{index}, count_{count}, pass_{std::move(pass)} {}

  Result<void> operator()(std::span<const Handle> files, Reader& reader) const {
    if (pass_->known) return {};
    FOREBAY_TRY(const auto records, reader.count(files));
    std::vector<std::int64_t> shards(static_cast<std::size_t>(count_));
    for (std::size_t i = 0; i < records.size(); ++i) shards[i % shards.size()] += records[i];
    for (std::int64_t& shard : shards) {
      const auto out = count_after_filters(program_->record_orders, shard);
      if (!out)
        return refuse("shard: an order of the document gives for ever, or more than 2^63 records; shard by rows");
      shard = *out;
    }
    const Batching& batching = program_->batching;
    const std::int64_t max = *std::max_element(shards.begin(), shards.end());
    const auto fewest = std::min_element(shards.begin(), shards.end());
    pass_->own = shards[static_cast<std::size_t>(index_)];
    *pass_->batches = {.known = true, .batches = batches_for(max, rows_of_shard(batching, count_))};
    pass_->wanted = batching.remainder == Remainder::drop     ? *fewest
                    : batching.remainder == Remainder::repeat ? max
                                                              : pass_->own;
    // Every shard fails here: one that continued would wait for ever for the shard without records.
    if (max > 0 && *fewest == 0 && batching.remainder == Remainder::repeat) {
      return Error{
          Code::data, Detail::failed_precondition,
          fmt::format("shard: the files of shard {} have no record in epoch {}, so it has nothing to repeat; use "
                      "`remainder: drop`, or shard by rows",
                      fewest - shards.begin(), pass_->epoch)};
    }
    pass_->known = true;
    return {};
  }

 private:
  const std::shared_ptr<const Program> program_;
  const std::int64_t index_;
  const std::int64_t count_;
  const std::shared_ptr<Pass> pass_;
};

/// The last order of records: gives exactly `wanted` records per pass. Ends a pass that has more, and repeats a pass
/// that has fewer. Fails with Code::data when the files gave another number of records than was counted.
class Quota final : public Handles {
 public:
  Quota(std::shared_ptr<Pass> pass, std::unique_ptr<Handles> upstream, Reader& reader)
      : pass_{std::move(pass)}, upstream_{std::move(upstream)}, reader_{reader} {}

  void begin(std::int64_t epoch) override {
    *pass_->batches = {};
    *pass_ = {.epoch = epoch, .batches = pass_->batches};
    done_ = 0;
    round_ = 0;
    upstream_->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    while (!pass_->known || done_ < pass_->wanted) {
      FOREBAY_TRY(const std::size_t count, upstream_->pull(out));
      if (count == 0) {
        if (!pass_->known) return count;  // an order upstream ended the pass without asking for a file
        FOREBAY_DO(again());
        continue;
      }
      const std::size_t kept = std::min(count, static_cast<std::size_t>(pass_->wanted - done_));
      reader_.drop(out.first(count).subspan(kept));
      done_ += static_cast<std::int64_t>(kept);
      round_ += static_cast<std::int64_t>(kept);
      if (kept > 0) return kept;
    }
    return std::size_t{0};
  }

  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    if (!pass_->known) return Handles::skip(n, reader);
    while (done_ < pass_->wanted) {
      FOREBAY_TRY(const std::int64_t count, upstream_->skip(std::min(n, pass_->wanted - done_), reader));
      done_ += count;
      round_ += count;
      if (count > 0) return count;
      FOREBAY_DO(again());
    }
    return std::int64_t{0};
  }

 private:
  /// Begins the same pass once more.
  Result<void> again() {
    if (round_ != pass_->own) {
      return Error{Code::data, Detail::failed_precondition,
                   fmt::format("shard: its files gave {} records in epoch {}, and {} when they were counted; a file "
                               "changed during the run",
                               round_, pass_->epoch, pass_->own)};
    }
    round_ = 0;
    upstream_->begin(pass_->epoch);
    return {};
  }

  const std::shared_ptr<Pass> pass_;
  const std::unique_ptr<Handles> upstream_;
  Reader& reader_;
  std::int64_t done_ = 0;   // records given in this pass
  std::int64_t round_ = 0;  // records given since upstream began the pass
};

/// Whether an order gives rows for ever.
bool endless(const std::vector<Ordering>& orders) {
  return std::ranges::any_of(orders, [](const Ordering& order) { return order.count && !order.count(0); });
}

/// Whether the records of the files tell how many rows each shard has.
bool counted(const Program& program) {
  constexpr std::int64_t some = 1000;
  const auto tells = [](const Ordering& order) { return order.selects || !order.count || order.count(some); };
  return program.branches.empty() && !program.made && !program.windows && !program.interleave.count &&
         countable(program.record_orders) && std::ranges::all_of(program.record_orders, tells) &&
         program.batching.make_sized && program.batching.max_rows;
}

/// Whether a pass has an end.
Result<void> check_ends(const Program& program, const std::string& where) {
  if (program.made) return check_ends(*program.made, where);
  for (std::size_t i = 0; i < program.branches.size(); ++i)
    FOREBAY_DO(check_ends(program.branches[i], fmt::format("{}branch {}: ", where, i)));
  if (!endless(program.record_orders) && !endless(program.file_orders)) return {};
  return refuse(
      fmt::format("shard: {}an order gives rows for ever, so a pass has no end at which shards by file could be made "
                  "equal; say how often it repeats, or shard by rows",
                  where));
}

/// The passes of a plan whose files do not tell how many rows they give are gone through for every shard, which takes
/// passes that end.
Result<void> check_walked(const Program& program) {
  const Batching& batching = program.batching;
  if (batching.asks)
    return refuse(
        "shard: a function of the program says how many rows each batch has, so shards by file cannot have as many "
        "batches; shard by rows");
  if (batching.numbers || batching.counts)
    return refuse(
        "shard: `seq_idx`, `epoch_end` and `max_total_num_seqs` count the sequences of a pass, and a shard by file has "
        "its own only; leave them out, or shard by rows");
  if (batching.make_sized && batching.remainder == Remainder::repeat)
    return refuse(
        "shard: the files of this plan do not tell how many rows they give, so none can be repeated where a shard has "
        "fewer; set the batch's `remainder` to drop or pad, or shard by rows");
  if (program.epochs != 1 && !program.hard_epochs)
    return refuse(
        "shard: the files of this plan do not tell how many rows they give, so shards by file are made equal at the "
        "end of every epoch; set `epoch_boundary` to hard, or shard by rows");
  return check_ends(program, "");
}

/// A shard whose rows the counts of the files tell: a pass has as many as Pass::wanted says.
Program counted_shard(const Program& program, std::int64_t index, std::int64_t count) {
  const auto pass = std::make_shared<Pass>();
  const auto whole = std::make_shared<const Program>(program);  // outlives the argument
  Program out = with_own_files(program, index, count, Counting{whole, index, count, pass});
  out.early.counted = counted_filters(program);
  out.record_orders.push_back({.make = [pass](OrderContext context) -> std::unique_ptr<Handles> {
                                 return std::make_unique<Quota>(pass, std::move(context.upstream), *context.reader);
                               },
                               .count = [pass](std::int64_t) { return pass->wanted_of_pass(); }});
  set_own_batches(out, count, pass->batches);
  return out;
}

/// The program of the files of a shard, whose passes are as long as they are.
Program walked_program(const Program& program, std::int64_t index, std::int64_t count) {
  Program out = own_files(program, index, count);
  out.hard_epochs = true;
  Batching& batching = out.batching;
  batching.fixed = false;
  batching.batches = [](std::int64_t) -> std::optional<std::int64_t> { return std::nullopt; };
  if (!batching.make_sized) return out;
  const std::int64_t rows = rows_of_shard(batching, count);
  batching.max_rows = rows;
  batching.make = [make = batching.make_sized, rows](const BatcherContext& context) { return make(context, rows); };
  return out;
}

/// Any other shard: its passes have as many batches as those of the others, which ShardPasses counts.
FileShard walked_shard(const Program& program, std::int64_t index, std::int64_t count, const RunOptions& options) {
  std::vector<std::shared_ptr<const Program>> shards;
  for (std::int64_t shard = 0; shard < count; ++shard) {
    auto each = std::make_shared<Program>(walked_program(program, shard, count));
    each->batch_orders.clear();
    each->identity = Program::Identity::none;
    shards.push_back(std::move(each));
  }
  const std::int64_t memory = options.memory / FileShard::part_for_passes;
  const auto passes = std::make_shared<ShardPasses>(std::move(shards), memory,
                                                    RunMeans{.index_dir = options.index_dir,
                                                             .requests = options.requests,
                                                             .cache = {options.cache_dir, options.cache_size}});
  Program out = walked_program(program, index, count);
  Batching& batching = out.batching;
  const bool sized = batching.make_sized != nullptr;
  const EvenPasses even{.shard = static_cast<std::size_t>(index),
                        .pads = !sized || batching.remainder == Remainder::pad,
                        .rows = sized ? *batching.max_rows : 0,
                        .begun_rows = sized ? 0 : empty_rows(batching),
                        .epochs = program.epochs};
  batching.asks = AskedFunction{.name = "batches of a pass", .function = passes->function()};
  batching.make = [make = batching.make, even, passes](const BatcherContext& context) {
    return even_batches(make(context), context, even, passes);
  };
  return {.program = std::make_shared<const Program>(std::move(out)), .passes = passes};
}

}  // namespace

Result<void> check_file_shard(const Program& program, std::int64_t count) {
  FOREBAY_DO(check_own_batches(program, {.count = count, .by = ShardBy::file}));
  if (!counted(program)) FOREBAY_DO(check_walked(program));
  return check_own_files(program, count);
}

FileShard file_shard(const Program& program, std::int64_t index, std::int64_t count, const RunOptions& options) {
  FileShard out;
  if (counted(program)) {
    out.program = std::make_shared<const Program>(counted_shard(program, index, count));
  } else {
    out = walked_shard(program, index, count, options);
  }
  auto own = std::make_shared<Program>(*out.program);
  own->stream = stream_of(program, {.index = index, .count = count, .by = ShardBy::file});
  out.program = std::move(own);
  return out;
}

}  // namespace forebay::engine
