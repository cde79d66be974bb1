// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/combine.h>
#include <forebay/generated.h>
#include <forebay/plugin.h>
#include <forebay/window.h>

#include "base/draw.h"
#include "columns/take/take.h"
#include "engine/program/on_corrupt.h"
#include "engine/program/position.h"
#include "expression/expression.h"

namespace forebay::engine {

/// One tensor of the batch and how the rows of its column become it.
struct Output {
  ColumnId id = 0;
  ColumnSpec spec;                 ///< With the final delivery.
  std::optional<Padding> padding;  ///< Sizes and value when `spec.delivery` is padded.
  bool after_batch = false;        ///< Made by a step on the whole batch.
};

/// A step, its place in the document and the columns that it reads and makes.
struct PlacedStep {
  std::shared_ptr<const Step> step;
  std::string name;
  std::string pointer;  ///< JSON pointer to the step in the document, for errors.
  std::vector<ColumnId> reads;
  std::vector<ColumnId> makes;
  bool draws = false;        ///< Bound::draws
  bool expensive = false;    ///< Bound::expensive
  bool asks_record = false;  ///< It needs StepContext::rows, and draws nothing.
};

/// An integer per record that an order needs.
struct EarlyAttribute {
  expression::Expression value;  ///< Boolean or integer; or a string, for which `lookup` has an integer.
  std::string name;              ///< Of the order, for errors.
  std::size_t steps = 0;         ///< Number of EarlyWork::steps before the order.
  std::size_t stages = 0;        ///< Number of steps of the document before the order.
  std::uint64_t made_by = 0;     ///< Hash of all that decides its values besides the file; 0: it is never stored.
  TextLookup lookup = {};
};

/// An integer of each frame of a record, which an order of the rows needs that are frames (Windowing::frames).
struct FrameAttribute {
  expression::Expression value;      ///< Boolean or integer. Reads columns of the rows.
  std::string name;                  ///< Of the order, for errors.
  std::size_t steps = 0;             ///< Number of EarlyWork::steps before the windows.
  std::vector<ColumnId> reads = {};  ///< Columns of the records that those of the rows are made of.
  std::vector<ColumnId> keys = {};   ///< Those of them that are cut; at least one.
};

/// Work on the records of a block when it is read, because the order depends on its results.
struct EarlyWork {
  std::shared_ptr<const Decoder> decoder;  ///< Null when no column is needed.
  std::vector<ColumnId> decoded;           ///< Columns that the decoder fills.
  std::vector<PlacedStep> steps;           ///< Those that make columns of the attributes, in order.
  std::vector<EarlyAttribute> attributes;  ///< Of all orders, in order.
  std::vector<FrameAttribute> frame_attributes = {};
  /// The first attributes are conditions of filters that stand before an order that reads by index: a record for which
  /// one of them is 0 has no number, so that order never meets it.
  std::size_t selecting = 0;
  /// The attributes whose records `IndexedReader::count` counts: those for which all are not 0.
  std::vector<std::size_t> counted = {};
  std::uint64_t checked_by = 0;  ///< Hash of all that decides which records may be skipped; 0: it is never stored.

  /// Whether no order looks into the records.
  [[nodiscard]] bool empty() const { return attributes.empty() && frame_attributes.empty(); }
};

/// A column whose rows are spans of the elements of another one.
struct TakenColumn {
  ColumnId from = 0;            ///< Column of the elements.
  ColumnId to = 0;              ///< Column of the rows.
  std::size_t axis = 0;         ///< Of RowSpans::spans.
  bool frame = false;           ///< Each span is one frame, and `to` lacks the time axis of `from`.
  columns::Unfold unfold = {};  ///< Frames of `to` are several of `from`.
};

/// How rows are made of spans of elements, instead of one record each.
///
///     records ─ decode ─► elements ─ element_steps ─► elements ─ take ─► rows ─ Program::late ─► rows
///     row blocks ─────────────┘
///
/// The first two are done by the tickets, for the elements of each. With `early` they are done when a block is read,
/// because its windows come in many batches, and the tickets take from the decoded block.
struct Taking {
  std::vector<PlacedStep> element_steps;  ///< Steps on whole elements, in order.
  std::vector<TakenColumn> cut;
  std::vector<ColumnId> whole;  ///< Columns that each row gets entirely, from RowSpans::whole.
  std::vector<GeneratedColumn> generated;
  std::size_t axes = 1;
  bool early = false;  ///< Only in plans with attributes. Tickets still decode what no check of a block has decoded.
};

/// Where the length of a key of each element is known from.
struct KeyLength {
  std::optional<std::int64_t> constant = {};  ///< All elements have this length.
  std::size_t attribute = 0;                  ///< Else, of records: the number in EarlyWork::attributes.
};

/// An integer of each window that an order or the batcher asks for.
struct WindowAttribute {
  std::optional<expression::Expression> lengths;  ///< An expression over lengths and generated columns of windows.
  std::size_t early = 0;                   ///< Else an attribute of the element: number in EarlyWork::attributes.
  std::optional<std::size_t> frames = {};  ///< Set: of its frame instead. Number in EarlyWork::frame_attributes.
};

/// An axis of RowSpans::spans in a plan whose batcher packs windows.
struct RowAxis {
  std::size_t axis = 0;  ///< Of the windows.
  bool packs = false;    ///< Rows get the parts of windows that the batcher places; else their first window entirely.
};

/// The window stage of a plan.
struct Windows {
  Windowing windowing;
  std::vector<KeyLength> lengths;           ///< Of Windowing::keys.
  std::vector<WindowAttribute> attributes;  ///< Of the orders after the stage and of the batcher, in order.
  std::size_t orders_before = 0;            ///< Windows over sequences: number of record orders before the stage.
  std::uint64_t purpose = 0;                ///< Of the draws.
  /// With a batcher that packs windows: the axes of the rows, those that it packs first. After them comes one more
  /// axis, whose spans are the parts that the batcher has placed, for generated columns. Else empty.
  std::vector<RowAxis> row_axes = {};
};

/// A column of the rows of a combination.
struct MergedColumn {
  ColumnId id = 0;
  std::vector<ColumnId> from;   ///< By branch: the column of its rows; `filled` where it lacks the tensor.
  std::vector<std::byte> fill;  ///< One element, for the rows of branches that lack the tensor.

  static constexpr ColumnId filled = -1;
};

/// An output whose batches are padded.
struct MarkedFrames {
  std::size_t output = 0;     ///< Of Program::outputs.
  std::int64_t at_least = 0;  ///< Frames of every batch.
};

class KnownVersions;

/// What a combination was until a restart changed it: its branches were the first `branches` of those of today, up to
/// row `row` of pass `pass`.
struct EarlierCombining {
  std::int64_t pass = 0;
  std::int64_t row = 0;
  std::size_t branches = 0;
  std::string changing;  ///< Program::changing
  Combining combining;
};

/// All that the engine needs to run a plan, as plain data. The planner makes it; nothing changes it afterwards, so any
/// thread may read it.
struct Program {
  Source source;
  std::shared_ptr<const Decoder> decoder;
  std::vector<Ordering> file_orders;
  Ordering interleave;
  std::vector<Ordering> record_orders;
  /// The document lists `interleave` behind so many of the record orders, and behind the windows over sequences where
  /// `windows_in_parts` is set: they act within each part.
  std::size_t orders_in_parts = 0;
  bool windows_in_parts = false;
  EarlyWork early;  ///< For the attributes of `record_orders`, `windows` and `batching`.
  std::optional<Windows> windows;
  Batching batching;
  std::size_t batcher_attribute = 0;       ///< Of EarlyWork::attributes: the first one of Batching::attributes.
  Schema schema;                           ///< Every column by id.
  std::vector<ColumnId> decoded;           ///< Columns that the decoder fills.
  std::optional<Taking> taking;            ///< Set: rows are spans of elements.
  std::vector<PlacedStep> late;            ///< Steps on rows inside the ticket, in order.
  std::vector<Output> batched;             ///< Columns joined into a batch: outputs, and inputs of `after`.
  std::vector<Ordering> batch_orders;      ///< On cut batches, in order.
  std::vector<PlacedStep> after;           ///< Steps on the whole batch, in order.
  std::vector<Output> outputs;             ///< Tensors of the batch, in order.
  std::optional<std::int64_t> epochs = 1;  ///< Empty: for ever.
  std::uint64_t seed = 0;
  bool hard_epochs = false;  ///< Batches do not straddle epochs.
  bool deterministic = true;
  /// How rows are told from each other, for steps that draw. `epochs` needs the pass of each row; `occurrences` also
  /// how often the record came in the pass, because an order or the batcher may repeat it.
  enum class Identity : std::uint8_t { none, epochs, occurrences };
  Identity identity = Identity::none;   ///< What the run keeps: none where no step draws.
  Identity telling = Identity::epochs;  ///< What it takes to tell all rows apart.
  OnCorrupt on_corrupt;
  std::int64_t threads = 0;  ///< Defaults of the run, from the document.
  std::int64_t memory = 0;
  std::int64_t prefetch = 0;
  Shard shard;
  std::int64_t files_a_pass = 0;  ///< Files of a pass of this process; 0: all files of the source.
  std::int64_t dealt = 1;         ///< Processes among which the elements of a pass are dealt (ADR 0024).
  /// The branches of a combination; empty: the plan has one source. A branch is a program from its source to its last
  /// step before the combination: it has no batching and no outputs. `source` of the whole program only lists the files
  /// of all branches, one branch after the other; `record_orders` and `late` are those after the combination.
  std::vector<Program> branches;
  Combining combining;
  std::string changing = {};  ///< The options of CombineType::may_change, as a JSON object; empty: there are none.
  /// Binds the combination as it was, with these options and so many branches.
  std::function<Result<Combining>(const std::string& changing, std::size_t branches)> bind_again = {};
  std::vector<EarlierCombining> earlier = {};  ///< Of a run that restarts have changed, in order.
  /// The plan whose rows are the source (made_rows.h); null: the source reads data.
  std::shared_ptr<const Program> made = {};
  /// The part of the source with the rows that `made` makes of the files of shard `index` of `count`.
  std::function<RowPart(std::int64_t index, std::int64_t count)> made_of = {};
  /// Set: its batches are those of the plan around it, too (BatchEnds). Each block of its rows is one batch, and two
  /// kinds of columns come behind its outputs: whether a row is the last of its batch, and the frames that the batch
  /// has at least, of each output that is here.
  std::optional<std::vector<MarkedFrames>> marks_batches = {};
  bool equal_files = false;    ///< Side by side: orders go by files, and those of all branches have equally many rows.
  bool takes_batches = false;  ///< A combination whose branches mark their batches: a turn is a whole batch.
  bool makes_rows = false;     ///< Its batches are the rows of another plan: no device copies from them.
  bool repeat = false;         ///< Of a branch: it begins its next epoch by itself.
  std::vector<MergedColumn> merged;  ///< The columns in `decoded` of a combination.
  /// Of the files of stores: what the plan has found, and of a loader what its runs have, too. Null: nothing.
  std::shared_ptr<KnownVersions> known = {};
  std::uint64_t stream = 0;  ///< Hash of all that a state compares of a plan; shards by file or element have their own.
};

/// Whether an order goes through the rows of a pass more than once.
[[nodiscard]] inline bool repeats(const Program& program) {
  const auto repeat = [](const Ordering& order) { return order.repeats; };
  return program.repeat || program.interleave.repeats || std::ranges::any_of(program.file_orders, repeat) ||
         std::ranges::any_of(program.record_orders, repeat);
}

/// Whether orders reach the records of the source by number, so that a run needs the places of all.
[[nodiscard]] inline bool reaches_by_number(const Program& program) {
  const auto by_number = [](const Ordering& order) { return order.random_access; };
  return by_number(program.interleave) || std::ranges::any_of(program.record_orders, by_number);
}

/// Whether something stands before `interleave` that acts within each part.
[[nodiscard]] inline bool acts_in_parts(const Program& program) {
  return program.orders_in_parts > 0 || program.windows_in_parts;
}

/// The program that reads the sources of a plan: the innermost of those that make rows for each other.
[[nodiscard]] inline const Program& innermost(const Program& program) {
  return program.made ? innermost(*program.made) : program;
}

/// Whether the rows of a plan come from branches one of which has its turn each time.
[[nodiscard]] inline bool takes_turns(const Program& program) {
  return static_cast<bool>(innermost(program).combining.make);
}

/// Whether the program or a branch of it has rows that another plan makes.
[[nodiscard]] inline bool has_made_rows(const Program& program) {
  return program.made || std::ranges::any_of(program.branches, has_made_rows);
}

/// Whether each pass begins all branches anew, so that a pass can be gone through without those before it.
[[nodiscard]] inline bool passes_are_alike(const Program& program) {
  if (program.branches.empty() || !program.combining.make) return true;
  const auto some = [&program](const EarlierCombining& earlier) {
    return earlier.combining.leaves_out || earlier.branches < program.branches.size() ||
           earlier.combining.end.when != PassEnd::When::all;
  };
  if (program.combining.leaves_out || std::ranges::any_of(program.earlier, some)) return false;
  return program.combining.end.when == PassEnd::When::all &&
         std::ranges::none_of(program.branches, [](const Program& branch) { return branch.repeat; });
}

/// Whether a state of a shard fits that shard alone: by file, the branches of each have gone on as far as their own
/// files say.
[[nodiscard]] inline bool has_own_states(const Program& program, const Shard& shard) {
  return shard.count > 1 && shard.by == ShardBy::file && !passes_are_alike(program);
}

/// `Program::stream` of a run of `program` with this shard. Shards by row and by batch have the stream of the whole
/// run.
[[nodiscard]] inline std::uint64_t stream_of(const Program& program, const Shard& shard) {
  if (!own_stream(shard)) return program.stream;
  const std::uint64_t kind = shard.by == ShardBy::element ? 0x656c656d656e74 : 0;  // "element"
  const std::uint64_t all = mix((program.stream ^ kind) + static_cast<std::uint64_t>(shard.count));
  return has_own_states(program, shard) ? mix(all + static_cast<std::uint64_t>(shard.index)) : all;
}

/// The number of the first file of branch `branch` in the list of all files.
[[nodiscard]] inline std::size_t first_file(const Program& program, std::size_t branch) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < branch; ++i) out += program.branches[i].source.files.size();
  return out;
}

/// The number of elements that come out of `orders` when `n` go in; empty when an order cannot say.
[[nodiscard]] inline std::optional<std::int64_t> count_after(const std::vector<Ordering>& orders, std::int64_t n) {
  for (const Ordering& order : orders) {
    if (!order.count) continue;
    const auto out = order.count(n);
    if (!out) return std::nullopt;
    n = *out;
  }
  return n;
}

}  // namespace forebay::engine
