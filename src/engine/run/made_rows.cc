// SPDX-License-Identifier: Apache-2.0
#include "engine/run/made_rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/blocks/run_share.h"
#include "engine/order/shards/own_files.h"
#include "engine/program/plan_access.h"
#include "engine/requests/known_versions.h"
#include "engine/run/scheduler.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

using Content = std::shared_ptr<const Batch::Content>;

struct MadePlan {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Program> by_row;  ///< The same with batches of one row; null: its batches stay whole.
  bool alike = true;                      ///< As passes_are_alike.
};

/// The program with batches of one row.
std::shared_ptr<const Program> by_row(const Program& program) {
  auto out = std::make_shared<Program>(program);
  out->batching.make = [make = program.batching.make_sized](const BatcherContext& context) { return make(context, 1); };
  out->batching.max_rows = 1;
  out->batching.batches = [](std::int64_t rows) { return std::optional{rows}; };
  return out;
}

/// A run of the plan. It outlives the reader of a pass where the next pass goes on from there.
struct MadeRun {
  std::unique_ptr<Scheduler> scheduler;
  std::int64_t epoch = 0;  ///< The pass that is read.
  std::int64_t drop = 0;   ///< Rows of that pass that nobody wants.
  Content ahead = {};      ///< The first batch of a later pass.
  RunShare::Counts told = {};
};

/// A batch as a row block, with what the columns point to.
struct BatchRowsOf {
  Content content;
  std::vector<std::vector<std::int64_t>> splits;
  std::vector<std::uint8_t> ends;      // by row: 1 for the last one
  std::vector<std::int64_t> frames{};  // by output of Program::marks_batches
};

/// Where the elements of each row begin, of rows with unknown dims.
std::vector<std::int64_t> splits_of(const Tensor& sizes, const Shape& shape, std::int64_t rows) {
  const auto unknown = static_cast<std::int64_t>(shape.unknown());
  const std::span<const std::int64_t> dims = sizes.as<std::int64_t>();
  std::vector<std::int64_t> out{0};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t elements = shape.count();
    for (std::int64_t i = 0; i < unknown; ++i) elements *= dims[static_cast<std::size_t>(row * unknown + i)];
    out.push_back(out.back() + elements);
  }
  return out;
}

/// The rows of a batch. Those that skip_row took out are empty ones behind them.
std::int64_t rows_of(const Content& content) { return content->layout.rows - std::ssize(content->skipped); }

/// The frames that an output has at least in the batch.
std::int64_t frames_of(const Content& content, const MarkedFrames& marked, std::int64_t rows) {
  const std::size_t output = marked.output;
  const auto unknown = static_cast<std::int64_t>(content->program->outputs[output].spec.shape.unknown());
  const std::span<const std::int64_t> dims = content->lengths[output]->as<std::int64_t>();
  std::int64_t out = marked.at_least;
  for (std::int64_t row = 0; row < rows; ++row) out = std::max(out, dims[static_cast<std::size_t>(row * unknown)]);
  for (const BatchRows::Longest& longest : content->layout.longest) {
    if (longest.column == content->program->outputs[output].id) out = std::max(out, longest.frames);
  }
  return out;
}

/// Adds the columns of Program::marks_batches.
void mark(const Content& content, std::int64_t rows, BatchRowsOf& kept, RowBlock& out) {
  kept.ends.assign(static_cast<std::size_t>(out.rows), 0);
  kept.ends.back() = 1;
  out.columns.push_back({.data = reinterpret_cast<const std::byte*>(kept.ends.data()), .row_stride = 1});
  for (const MarkedFrames& marked : *content->program->marks_batches)
    kept.frames.push_back(frames_of(content, marked, rows));
  for (const std::int64_t& frames : kept.frames)
    out.columns.push_back({.data = reinterpret_cast<const std::byte*>(&frames), .row_stride = 0});
}

/// Row `first` of the batch and those after it.
std::shared_ptr<const RowBlock> block_of(const Content& content, std::int64_t first) {
  const auto kept = std::make_shared<BatchRowsOf>();
  kept->content = content;
  kept->splits.resize(content->values.size());
  auto out = std::make_shared<RowBlock>();
  const std::int64_t rows = rows_of(content);
  out->rows = rows - first;
  for (std::size_t i = 0; i < content->values.size(); ++i) {
    const Tensor& values = content->values[i].values;
    const Shape& shape = content->program->outputs[i].spec.shape;
    const bool text = values.dtype == DType::string;
    RowColumn column{.data = text ? nullptr : values.data, .byte_splits = values.byte_splits, .bytes = values.bytes};
    if (!shape.known()) {
      const Tensor& sizes = *content->lengths[i];
      kept->splits[i] = splits_of(sizes, shape, rows);
      column.row_splits = kept->splits[i].data() + first;
      column.dims = sizes.as<std::int64_t>().data() + first * static_cast<std::int64_t>(shape.unknown());
    } else if (text) {
      column.byte_splits += first * shape.count();
    } else {
      column.row_stride = shape.count() * static_cast<std::int64_t>(size_of(values.dtype));
      column.data += first * column.row_stride;
    }
    out->columns.push_back(std::move(column));
  }
  if (content->program->marks_batches) mark(content, rows, *kept, *out);
  out->owner = kept;
  return out;
}

std::shared_ptr<const MadePlan> plan_of(std::shared_ptr<const Program> program) {
  MadePlan out{.program = program,
               .by_row = program->marks_batches ? nullptr : by_row(*program),
               .alike = passes_are_alike(*program)};
  return std::make_shared<const MadePlan>(std::move(out));
}

class MadeReader final : public PartReader {
 public:
  MadeReader(std::shared_ptr<const MadePlan> plan, ReadContext context)
      : plan_{std::move(plan)}, context_{std::move(context)} {
    auto kept = std::static_pointer_cast<MadeRun>(std::exchange(context_.share->kept, nullptr));
    if (kept && kept->epoch == context_.epoch && context_.first == 0) {
      run_ = std::move(kept);
    } else {
      kept.reset();  // before another run takes memory
      begin(plan_->program, context_.first);
    }
  }

  Result<Got> read(std::shared_ptr<const RowBlock>& out) override {
    while (true) {
      bool timed_out = false;
      Result<Content> next = run_->ahead ? std::exchange(run_->ahead, nullptr)
                                         : run_->scheduler->next(std::chrono::milliseconds{0}, timed_out);
      tell();
      if (timed_out) return Got::nothing_yet;
      if (!next.ok()) {
        if (by_row_ || !plan_->by_row || !plan_->alike) return next.error();
        begin(plan_->by_row, context_.first + given_);  // to give the rows before the error, too
        by_row_ = true;
        continue;
      }
      const Content& batch = *next;
      if (!batch || batch->layout.epoch > context_.epoch) return end(batch);
      const std::int64_t rows = rows_of(batch);
      const std::int64_t drop = std::min(run_->drop, rows);
      run_->drop -= drop;
      if (drop == rows) continue;
      given_ += rows - drop;
      context_.share->made.push_back({.before = context_.first + given_, .mixed = batch->layout.after.mixed});
      out = block_of(batch, drop);
      return Got::rows;
    }
  }

 private:
  /// Begins a run at row `row` of the pass. What the run before has skipped is met again, and told once.
  void begin(const std::shared_ptr<const Program>& program, std::int64_t row) {
    RunShare::Counts told;
    if (run_) told.skipped = std::move(run_->told.skipped);
    run_.reset();
    run_ = std::make_shared<MadeRun>();
    run_->told = std::move(told);
    run_->epoch = context_.epoch;
    Position start{.from = context_.epoch};
    std::shared_ptr<const Program> own = program;
    if (plan_->alike) {
      // Where rows may be taken out of batches, or these have any number of rows, the batch of a row is found by making
      // those before it.
      const bool equal = !program->marks_batches || (program->batching.fixed && program->batch_orders.empty());
      const bool found = equal && program->on_corrupt.policy != Corrupt::skip_row;
      const std::int64_t rows = found ? program->batching.max_rows.value_or(1) : INT64_MAX;
      start.epoch = context_.epoch;
      start.next = row / rows;
      start.branches.assign(program->branches.size(), BranchCursor{.epoch = context_.epoch});
      auto one_pass = std::make_shared<Program>(*program);
      one_pass->epochs = context_.epoch + 1;
      own = std::move(one_pass);
      row %= rows;
    }
    run_->drop = row;
    const RunShare& share = *context_.share;
    const RunOptions options{.threads = share.means.threads,
                             .memory = share.pool->limit(),
                             .shard_count = 1,
                             .batch_count = 1,
                             .index_dir = share.means.index_dir,
                             .requests = share.means.requests,
                             .cache_dir = share.means.cache.folder,
                             .cache_size = share.means.cache.bytes};
    run_->scheduler =
        std::make_unique<Scheduler>(std::move(own), options, std::move(start), usual_stuck_after,
                                    RunParts{.pool = share.pool, .ready = context_.wake, .gives_short = true});
  }

  /// The pass is over.
  Result<Got> end(const Content& batch) {
    if (plan_->alike) return Got::end;
    run_->ahead = batch;
    ++run_->epoch;
    context_.share->kept = run_;
    return Got::end;
  }

  /// Tells the run what was read since the last call, and what people should know.
  void tell() {
    RunShare::Counts now = run_->scheduler->read();
    now.skipped.raise_to(run_->told.skipped);
    if (std::string line = run_->scheduler->take_notice(); !line.empty()) context_.share->note(std::move(line));
    const Lock lock{context_.share->mutex};
    RunShare::Counts& all = context_.share->read;
    all.bytes_read += now.bytes_read - run_->told.bytes_read;
    all.skipped.add(now.skipped, run_->told.skipped);
    run_->told = std::move(now);
  }

  const std::shared_ptr<const MadePlan> plan_;
  ReadContext context_;
  std::shared_ptr<MadeRun> run_;
  std::int64_t given_ = 0;  // rows
  bool by_row_ = false;     // batches have one row, since an error
};

Result<std::unique_ptr<PartReader>> open_made(std::shared_ptr<const MadePlan> plan, ReadContext context) {
  return std::unique_ptr<PartReader>{std::make_unique<MadeReader>(std::move(plan), std::move(context))};
}

}  // namespace

RowPart made_part(std::string name, std::shared_ptr<const Program> program) {
  RowPart out{.name = std::move(name)};
  out.open = [plan = plan_of(std::move(program))](ReadContext context) { return open_made(plan, std::move(context)); };
  out.seeks = true;
  return out;
}

RowPart made_part_of(const std::string& name, const std::shared_ptr<const Program>& program, std::int64_t index,
                     std::int64_t count) {
  RowPart out{.name = fmt::format("{}, shard {} of {}", name, index, count)};
  // Made when it is opened: of all shards, a run opens one.
  out.open = [program, index, count](ReadContext context) {
    return open_made(plan_of(std::make_shared<const Program>(own_files(*program, index, count))), std::move(context));
  };
  out.seeks = true;
  return out;
}

void set_made(const std::string& name, const std::shared_ptr<const Program>& made, Program& out) {
  out.made = made;
  out.made_of = [name, made](std::int64_t index, std::int64_t count) { return made_part_of(name, made, index, count); };
}

void replace_made(const std::shared_ptr<const Program>& made, Program& out) {
  const std::string& name = out.source.files.front();
  auto rows = std::make_shared<RowSource>(*out.source.rows);
  rows->parts.front() = made_part(name, made);
  out.source.rows = std::move(rows);
  set_made(name, made, out);
}

namespace {

bool reads_stores(const Program& program) {
  if (program.made) return reads_stores(*program.made);
  if (!program.branches.empty()) return std::ranges::any_of(program.branches, reads_stores);
  const auto of_store = [](const std::string& file) { return stores::file_system_of(file) != nullptr; };
  return !program.source.rows && std::ranges::any_of(program.source.files, of_store);
}

void set_known(const std::shared_ptr<KnownVersions>& known, Program& out) {
  out.known = known;
  for (Program& branch : out.branches) set_known(known, branch);
  if (!out.made) return;
  auto made = std::make_shared<Program>(*out.made);
  set_known(known, *made);
  replace_made(made, out);
}

}  // namespace

Plan finding_files_once(const Plan& plan, FindFiles files) {
  if (!reads_stores(program_of(plan))) return plan;
  auto parts = std::make_shared<PlanAccess::Parts>(PlanAccess::parts(plan));
  auto program = std::make_shared<Program>(*parts->program);
  const bool as_planned = program->known && files == FindFiles::as_planned;
  set_known(as_planned ? program->known->copy() : std::make_shared<KnownVersions>(), *program);
  parts->program = std::move(program);
  return PlanAccess::make(std::move(parts));
}

}  // namespace forebay::engine
