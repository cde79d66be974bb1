// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/checks.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include <forebay/messages.h>
#include <forebay/scalar.h>

#include "columns/scalar.h"
#include "engine/order/shards/shard_counts.h"
#include "plan/builder/bound_document.h"
#include "plan/data_files.h"
#include "plan/document/on_corrupt.h"
#include "plan/document/shard.h"

namespace forebay::plan {

namespace {

bool random_access(const OrderStage& order) { return order.ordering.random_access; }

/// Records need a decoder; rows that come ready have none.
void check_decoder(const BoundDocument& bound, Faults& faults) {
  const Stages& stages = bound.stages;
  if (bound.source.rows && stages.decoder_stage) {
    complain(*stages.decoder_stage->json,
             fmt::format("the rows of '{}' come ready; leave 'decode' out", stages.source_stage->plugin), faults);
  } else if (!bound.source.rows && !stages.decoder_stage && stages.source != nullptr && bound.source.format) {
    complain(bound.json, "missing required option 'decode'", faults);
  }
}

/// Rows that come one after the other can be read in their order only, and most of them once.
void check_access(const BoundDocument& bound, Faults& faults) {
  if (!bound.source.rows || bound.source.rows->resident()) return;
  const Stages& stages = bound.stages;
  const std::string& name = stages.source_stage->plugin;
  if (bound.document.epochs != 1 && !bound.source.rows->repeats) {
    const Json* epochs = bound.json.find("epochs");
    complain(epochs != nullptr ? *epochs : *stages.source_stage->options,
             fmt::format("the rows of '{}' can be read once, so 'epochs' must be 1{}", name,
                         bound.combines() == Combines::is_branch ? ", and the branch cannot repeat" : ""),
             faults);
  }
  const auto check = [&](const OrderStage& order) {
    if (!random_access(order)) return;
    if (bound.source.rows->collects && stages.selecting.empty()) return;
    const bool sorts = !order.ordering.attributes.empty();
    complain(*order.stage.options,
             fmt::format("the rows of '{}' come one after the other and cannot be reached in any order; {}", name,
                         sorts ? "sort those of a buffer instead, with 'laplace'"
                               : fmt::format("give '{}' a buffer", order.stage.plugin)),
             faults);
  };
  if (stages.interleave) check(*stages.interleave);
  std::ranges::for_each(stages.record_orders, check);
}

/// Orders and windows before `interleave` act within each file, so the source must have files.
void check_parts(const BoundDocument& bound, Faults& faults) {
  const Stages& stages = bound.stages;
  const bool windows = bound.columns.windows && stages.windows.front().before_interleave &&
                       bound.columns.windows->windowing.grain == WindowGrain::sequences;
  if (stages.source == nullptr || paths_field(stages.source->description) != nullptr) return;
  if (stages.orders_in_parts == 0 && !windows) return;
  complain(*stages.interleave->stage.options,
           fmt::format("'{}' takes files in turn, and '{}' has none; leave it out", stages.interleave->stage.plugin,
                       stages.source_stage->plugin),
           faults);
}

/// Attributes are computed when records are read, or when a file is indexed.
void check_attributes(const BoundDocument& bound, Faults& faults) {
  const Stages& stages = bound.stages;
  const bool by_index = (stages.interleave && random_access(*stages.interleave)) ||
                        std::ranges::any_of(stages.record_orders, random_access);
  if (bound.source.files_a_part == 0 || !by_index) return;
  for_each_order(stages, [&](const OrderStage& order) {
    if (order.ordering.attributes.empty()) return;
    complain(*order.stage.options,
             fmt::format("'{}' needs to look into the files of '{}' before they are read in any order, and they have "
                         "no index; give the shuffle a buffer",
                         order.stage.plugin, stages.source_stage->plugin),
             faults);
  });
}

/// A draw belongs to one record and its pass. Spans of elements have no draw of their own, and a batcher that holds
/// elements does not know from which pass they came.
void check_draws(const BoundDocument& bound, Faults& faults) {
  const PipelineDocument& document = bound.document;
  const bool one_pass = document.epoch_boundary == EpochBoundary::hard || document.epochs == 1;
  const char* why = nullptr;
  if (bound.columns.taking) {
    why = ", and the rows of this plan are made of spans of records; leave its random options out";
  } else if (bound.columns.batching.carries && !one_pass) {
    why = " and epoch, and these batches mix epochs; say \"epoch_boundary\": \"hard\"";
  }
  if (why == nullptr) return;
  const auto check = [&](const engine::PlacedStep& step) {
    if (!step.draws) return;
    faults.push_back(Error{Code::config, Detail::invalid_argument,
                           fmt::format("'{}' draws at random for each record{}", step.name, why)}
                         .at(Place{.pointer = step.pointer}));
  };
  std::ranges::for_each(bound.columns.late, check);
  std::ranges::for_each(bound.columns.after, check);
}

/// What a tensor of a batch is that a step cannot read behind the batcher; empty: dense numbers, which it can.
const char* not_dense(const BoundColumns& columns, ColumnId id) {
  if (static_cast<std::size_t>(id) >= columns.at_batch.size()) return "";  // a step behind the batcher makes it
  const ColumnSpec& spec = columns.at_batch[id];
  if (spec.dtype == DType::string) return "strings";
  const auto found = std::ranges::find(columns.batched, id, &engine::Output::id);
  const ColumnSpec& delivered = found == columns.batched.end() ? spec : found->spec;
  if (delivered.shape.known()) return "";
  return delivered.delivery == Delivery::ragged ? "ragged" : delivered.delivery == Delivery::sparse ? "sparse" : "";
}

/// Behind the batcher the engine gives steps dense numbers, in the memory of the batch, and nothing else.
void check_after(const BoundDocument& bound, Faults& faults) {
  for (const engine::PlacedStep& step : bound.columns.after) {
    for (const ColumnId id : step.reads) {
      const std::string_view found = not_dense(bound.columns, id);
      if (found.empty()) continue;
      faults.push_back(
          Error{Code::config, Detail::invalid_argument,
                fmt::format("'{}' reads {}, which is {} in a batch, and a step behind the batcher reads dense "
                            "numbers; put '{}' before '{}'",
                            step.name, quote(bound.columns.schema[id].name), found, step.name,
                            bound.stages.batch_stage->plugin)}
              .at(Place{.pointer = step.pointer}));
      break;
    }
  }
}

void check_skips(const BoundDocument& bound, Faults& faults) {
  const Json* const json = bound.json.find("on_corrupt");
  if (json == nullptr || (!bound.columns.taking && bound.combines() != Combines::is_branch)) return;
  if (bound.made) return;  // records are skipped where the rows are made
  Faults none;
  if (read_on_corrupt(*json, none).policy != engine::Corrupt::skip_row) return;
  complain(*json,
           bound.columns.taking
               ? "\"skip_row\" takes whole rows out, and the rows of this plan are made of spans of records; use "
                 "\"skip_record\""
               : "\"skip_row\" takes rows out of the batches of all branches; say it for the whole document",
           faults);
}

/// Files are counted where records lie in them.
void check_file_orders(const BoundDocument& bound, Faults& faults) {
  if (!bound.source.rows && bound.source.files_a_part == 0) return;
  for (const OrderStage& order : bound.stages.file_orders) {
    if (order.ordering.grain != Grain::files) continue;
    complain(*order.stage.options,
             bound.source.rows
                 ? fmt::format("'{}' counts files, and the rows of '{}' lie in none; count rows, with '{}'",
                               order.stage.plugin, bound.stages.source_stage->plugin, "take' or 'skip")
                 : fmt::format("'{}' counts files, and each file of '{}' is one record; count rows, with '{}'",
                               order.stage.plugin, bound.stages.source_stage->plugin, "take' or 'skip"),
             faults);
  }
}

}  // namespace

void check_source(const BoundDocument& bound, Faults& faults) {
  check_file_orders(bound, faults);
  check_decoder(bound, faults);
  check_access(bound, faults);
  check_attributes(bound, faults);
}

namespace {

/// Where an epoch ends is known of hard epochs, and when the run has one only.
void check_epoch_end(const BoundDocument& bound, Faults& faults) {
  const PipelineDocument& document = bound.document;
  if (!bound.columns.batching.epoch_end || document.epoch_boundary == EpochBoundary::hard || document.epochs == 1)
    return;
  const Json& options = *bound.stages.batch_stage->options;
  complain(*options.find("epoch_end"),
           "`epoch_end` marks where an epoch ends, and these batches mix epochs; say \"epoch_boundary\": \"hard\"",
           faults);
}

}  // namespace

void check_rows(const BoundDocument& bound, Faults& faults) {
  check_parts(bound, faults);
  check_after(bound, faults);
  check_draws(bound, faults);
  check_epoch_end(bound, faults);
  check_skips(bound, faults);
}

namespace {

/// Whether the initial value of each state fits its type.
void check_initial_states(const BoundDocument& bound, Faults& faults) {
  const Json* const states = bound.stages.batch_stage->options->find("states");
  if (states == nullptr) return;
  for (const StateSpec& state : bound.columns.batching.states) {
    const Json initial = JsonCodec<Scalar>::write(state.initial);
    const auto element = columns::element_from(initial, state.dtype);
    if (element.ok()) continue;
    complain(*states->find(state.name)->find("initial"),
             fmt::format("state {}: {}", quote(state.name), element.error().message()), faults);
  }
}

}  // namespace

void check_lanes(const BoundDocument& bound, Faults& faults) {
  const Stages& stages = bound.stages;
  const BoundColumns& columns = bound.columns;
  if (columns.batching.lanes == 0) return;
  const std::string& name = stages.batch_stage->plugin;
  if (columns.windows ? !columns.windows->windowing.counts : stages.windows.empty()) {
    complain(*stages.batch_stage->options,
             fmt::format("'{}' follows sequences from segment to segment; put {{\"unroll\": {{\"num_unroll\": …}}}} "
                         "directly before it{}",
                         name, columns.windows ? ", in place of the other window steps" : ""),
             faults);
  } else if (columns.windows && columns.windows->orders_before < stages.record_orders.size()) {
    const OrderStage& order = stages.record_orders[columns.windows->orders_before];
    complain(
        *order.stage.options,
        fmt::format("'{}' stands between '{}' and '{}', which needs all segments of a sequence in their order; "
                    "move it before '{}'",
                    order.stage.plugin, stages.windows.front().stage.plugin, name, stages.windows.front().stage.plugin),
        faults);
  }
  for (const OrderStage& order : stages.batch_orders) {
    complain(*order.stage.options,
             fmt::format("'{}' moves batches, and '{}' needs them one after the other, because each goes on with the "
                         "sequences of the one before; leave it out",
                         order.stage.plugin, name),
             faults);
  }
  check_initial_states(bound, faults);
}

void check_shard(const BoundDocument& bound, Faults& faults) {
  const Json* json = bound.json.find("shard");
  if (json != nullptr && (bound.columns.batching.lanes > 0 || bound.columns.batching.marked)) {
    Faults unclear;
    const auto refusal = engine::shard_refusal(bound.columns.batching, read_shard(*json, unclear));
    if (!refusal.empty()) complain(*json, std::string{refusal}, faults);
    return;
  }
  const auto rows = bound.columns.batching.max_rows;
  if (json == nullptr || !rows) return;
  Faults none;
  const engine::Shard shard = read_shard(*json, none);
  const bool whole = engine::own_stream(shard) && !bound.columns.batching.make_sized;  // each shard has whole batches
  if (whole || !shard.source.empty() || *rows % shard.count == 0) return;
  complain(*json, engine::shard_misfit(*rows, shard.count), faults);
}

}  // namespace forebay::plan
