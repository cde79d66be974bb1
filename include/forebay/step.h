// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <forebay/column.h>
#include <forebay/error.h>
#include <forebay/row_identity.h>

/// The contract of steps: columns → columns, row by row.
///
///     rows of a ticket ──┬── rows a … b ─► step 1 ─► step 2 ─► … ─► rows a … b of the batch
///                        └── rows b … c ─► step 1 ─► step 2 ─► …
///
/// The engine cuts the rows of a ticket into ranges and applies all steps of the plan to one range after the other, so
/// that little memory lies between two steps. A step sees the rows of one range only. How the rows are cut depends on
/// the number of threads and on the time that earlier rows took, so no output may depend on it.
namespace forebay {

/// What a step keeps between the calls of one worker: a decoder of a library, scratch memory. It never affects results.
class StepMemory {
 public:
  virtual ~StepMemory() = default;
  /// Bytes of the memory that grows with the rows; the engine counts them in the budget.
  [[nodiscard]] virtual std::int64_t bytes() const { return 0; }
};

/// Tells which rows a step has.
class RowIdentities {
 public:
  [[nodiscard]] virtual RowIdentity of(std::int64_t row) const = 0;
  /// The key of the row's record (Source::key).
  [[nodiscard]] virtual std::string key(std::int64_t row) const = 0;

 protected:
  ~RowIdentities() = default;
};

/// Takes the rows that a step cannot make out of corrupt data, when `on_corrupt` is skip_row.
class RowFaults {
 public:
  /// The step makes the row's outputs zero or empty and goes on. Of several faults of a row the first one counts.
  virtual void add(std::int64_t row, Error error) = 0;

 protected:
  ~RowFaults() = default;
};

/// The memory budget of a run, for a step that allocates as much as its data says.
class StepBudget {
 public:
  /// Counts `bytes` until the result is dropped. Fails with Code::data, resource_exhausted when the budget cannot hold
  /// them at all.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> charge(std::int64_t bytes) const = 0;

 protected:
  ~StepBudget() = default;
};

/// Takes what people should know of rows that are made all the same (Loader::take_notice).
class StepNotes {
 public:
  /// The text is told once in a run, with the key of the first row that it was added for.
  virtual void add(std::int64_t row, const std::string& text) = 0;

 protected:
  ~StepNotes() = default;
};

/// What a step is told about the rows of one call. Rows count from the first one of the call.
struct StepContext {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;               ///< Number of the step in the plan, which is part of every draw.
  const RowIdentities* rows = nullptr;  ///< Null in early work.
  const StopCheck* stop = nullptr;      ///< Polled by steps that take long, every millisecond or so.
  RowFaults* faults = nullptr;          ///< Null unless `on_corrupt` is skip_row: then the first bad row is an error.
  const StepBudget* budget = nullptr;   ///< Null: no limit.
  StepNotes* notes = nullptr;           ///< Null: nobody is told.

  /// 64 uniform bits for one decision about a row. `purpose` numbers the decisions of the step, below 2^20.
  [[nodiscard]] std::uint64_t draw(std::int64_t row, std::uint64_t purpose) const {
    const RowIdentity identity = rows == nullptr ? RowIdentity{.record = row} : rows->of(row);
    return draw_of_row(seed, identity, (std::uint64_t{1} << 40) + (step << 20) + purpose);
  }
};

/// Turns columns into columns, row by row. Immutable; any number of workers call it at once, each with its own memory.
class Step {
 public:
  virtual ~Step() = default;
  [[nodiscard]] virtual std::unique_ptr<StepMemory> memory() const { return nullptr; }  ///< Of one worker; may be null.
  /// Reads the columns in `Bound::reads` and fills the columns that it made. All have the rows of the call. Fixed
  /// numeric outputs already have their rows; variable and string outputs are empty. Row i of an output depends on row
  /// i of the inputs and on draws for row i only. The place of an error has the `row`. With skip_row, the engine
  /// repeats a failed call for each row alone, unless the error is about memory (resource_exhausted).
  [[nodiscard]] virtual Result<void> apply(ColumnBlock& rows, const StepContext& context, StepMemory* memory) const = 0;
  /// The same step that fills only those of its columns that are `used`; null: it fills all of them. The planner asks
  /// once, when the document is complete.
  [[nodiscard]] virtual Result<std::unique_ptr<Step>> projected(
      [[maybe_unused]] const std::function<bool(ColumnId)>& used) const {
    return nullptr;
  }
};

}  // namespace forebay
