// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/file_shard.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

Error refuse(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

Error too_few_files(std::int64_t files, std::int64_t count) {
  return refuse(
      fmt::format("shard: a pass goes through {} {}, which cannot be shared out among {} shards by file; take "
                  "at most {}, write more files, or shard by rows",
                  files, files == 1 ? "file" : "files", count, files));
}

/// The counts of the present pass of a shard. Shared by OwnFiles and Quota; used by the order plane only.
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

/// An order of files: passes on every count-th file, from file `index` on, of the files that upstream gives. The first
/// pull lists all files and counts their records. Fails with Code::config when there are too few files.
class OwnFiles final : public Handles {
 public:
  OwnFiles(const Program& program, std::int64_t index, std::int64_t count, std::shared_ptr<Pass> pass,
           std::unique_ptr<Handles> upstream, Reader& reader)
      : program_{program},
        index_{index},
        count_{count},
        pass_{std::move(pass)},
        upstream_{std::move(upstream)},
        reader_{reader} {}

  void begin(std::int64_t epoch) override {
    files_.clear();
    listed_ = false;
    next_ = static_cast<std::size_t>(index_);
    upstream_->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (!listed_) FOREBAY_DO(list());
    if (!pass_->known) FOREBAY_DO(share());
    std::size_t pulled = 0;
    for (; pulled < out.size() && next_ < files_.size(); next_ += static_cast<std::size_t>(count_))
      out[pulled++] = files_[next_];
    return pulled;
  }

 private:
  Result<void> list() {
    while (true) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, upstream_->pull({&file, 1}));
      if (count == 0) break;
      files_.push_back(file);
    }
    if (std::ssize(files_) < count_) return too_few_files(std::ssize(files_), count_);
    listed_ = true;
    return {};
  }

  /// Counts the records of all files and sets `pass_`. Each process computes the same numbers from the same files, so
  /// the processes need not communicate.
  Result<void> share() {
    FOREBAY_TRY(const auto records, reader_.count(files_));
    std::vector<std::int64_t> shards(static_cast<std::size_t>(count_));
    for (std::size_t i = 0; i < records.size(); ++i) shards[i % shards.size()] += records[i];
    for (std::int64_t& shard : shards) {
      const auto out = count_after_filters(program_.record_orders, shard);
      if (!out)
        return refuse("shard: an order of the document gives for ever, or more than 2^63 records; shard by rows");
      shard = *out;
    }
    const std::int64_t rows = rows_of_shard(program_.batching, count_);
    const std::int64_t max = *std::max_element(shards.begin(), shards.end());
    const auto fewest = std::min_element(shards.begin(), shards.end());
    const std::int64_t min = *fewest;
    pass_->own = shards[static_cast<std::size_t>(index_)];
    *pass_->batches = {.known = true, .batches = batches_for(max, rows)};
    pass_->wanted = program_.batching.remainder == Remainder::drop     ? min
                    : program_.batching.remainder == Remainder::repeat ? max
                                                                       : pass_->own;
    // Every shard fails here: one that continued would wait for ever for the shard without records.
    if (max > 0 && min == 0 && program_.batching.remainder == Remainder::repeat) {
      return Error{
          Code::data, Detail::failed_precondition,
          fmt::format("shard: the files of shard {} have no record in epoch {}, so it has nothing to repeat; use "
                      "`remainder: drop`, or shard by rows",
                      fewest - shards.begin(), pass_->epoch)};
    }
    pass_->known = true;
    return {};
  }

  const Program& program_;
  const std::int64_t index_;
  const std::int64_t count_;
  const std::shared_ptr<Pass> pass_;
  const std::unique_ptr<Handles> upstream_;
  Reader& reader_;
  std::vector<Handle> files_;  // the files of all shards
  bool listed_ = false;
  std::size_t next_ = 0;
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

}  // namespace

Result<void> check_file_shard(const Program& program, std::int64_t count) {
  const Shard shard{.count = count, .by = ShardBy::file};
  if (!program.branches.empty()) return refuse(fmt::format("shard: {}", combined_file_shard));
  if (program.batching.make_sized && program.batching.max_rows) {
    if (program.windows) return refuse(fmt::format("shard: {}", windowed_file_shard));
    if (!countable(program.record_orders)) return refuse(fmt::format("shard: {}", filtered_file_shard));
  }
  if (program.interleave.count)
    return refuse(
        "shard: shards by file count the records of their files, and the order that opens the files of this "
        "plan need not give each of them once; shard by rows");
  FOREBAY_DO(check_own_batches(program, shard));
  const auto files = count_after(program.file_orders, static_cast<std::int64_t>(program.source.parts()));
  if (files && *files < count) return too_few_files(*files, count);
  return {};
}

std::shared_ptr<const Program> file_shard(const Program& program, std::int64_t index, std::int64_t count) {
  auto out = std::make_shared<Program>(program);
  out->early.counted = counted_filters(program);
  const auto pass = std::make_shared<Pass>();
  // A copy of the whole program, for OwnFiles and the interleave: they outlive the argument.
  const auto whole = std::make_shared<const Program>(program);
  out->interleave.make = [whole, index, count, pass](OrderContext context) {
    context.upstream =
        std::make_unique<OwnFiles>(*whole, index, count, pass, std::move(context.upstream), *context.reader);
    return whole->interleave.make(std::move(context));
  };
  out->record_orders.push_back({.make = [pass](OrderContext context) -> std::unique_ptr<Handles> {
                                  return std::make_unique<Quota>(pass, std::move(context.upstream), *context.reader);
                                },
                                .count = [pass](std::int64_t) { return pass->wanted_of_pass(); }});
  set_own_batches(*out, count, pass->batches);
  out->stream = stream_of(program, {.count = count, .by = ShardBy::file});
  out->files_a_pass = std::max<std::int64_t>(1, static_cast<std::int64_t>(program.source.parts()) / count);
  return out;
}

}  // namespace forebay::engine
