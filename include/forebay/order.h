// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/attribute.h>
#include <forebay/describe.h>
#include <forebay/function.h>
#include <forebay/gauge.h>
#include <forebay/placing.h>
#include <forebay/record.h>

namespace forebay {

class Reader;

/// A stream of handles, in passes. An order is a stream that pulls from an upstream.
///
///     begin(epoch) ─► pull ─► pull ─► … ─► 0: the pass is over ─► begin(epoch of the next pass)
///
/// An order owns its upstream; the run owns the last order. Only one thread calls at a time, but not always the same
/// one: no locks are needed, and no thread-local state is allowed.
class Handles {
 public:
  virtual ~Handles() = default;
  /// Writes the next handles to the front of `out` and returns their number. 0 always means the end of the pass. The
  /// handles before an error are returned first, and the next call fails. A failed call changes nothing, so the caller
  /// may repeat the call. Where a source has no rows yet, or the engine wants its thread back, the call fails with
  /// Code::cancelled: orders and batchers pass that error on, and the engine repeats the call later (ADR 0020).
  [[nodiscard]] virtual Result<std::size_t> pull(std::span<Handle> out) = 0;
  /// Drops the rest of the present pass and begins pass `epoch`, in the upstream too. Called before the first `pull`.
  virtual void begin(std::int64_t epoch) = 0;
  /// Passes over up to `n` > 0 of the next handles and returns their number; 0 always means the end of the pass. Fails
  /// as `pull` does. This one pulls and drops; an order that knows the number of its elements answers from that.
  [[nodiscard]] virtual Result<std::int64_t> skip(std::int64_t n, Reader& reader);
};

/// Names a record by its file and its number in that file.
struct RecordName {
  std::uint32_t file = 0;   ///< `block` of the file's handle.
  std::int64_t record = 0;  ///< From 0.
};

/// The place of a window among those of its sequence.
struct WindowNumber {
  std::int64_t number = 0;  ///< From 0.
  std::int64_t count = 0;   ///< Of all windows of the sequence; 0 when the windows of the plan do not know it.
};

/// Gives orders and batchers the records of files, and accounts for their memory.
///
/// The engine owns the reader. The reader outlives the orders, which call it on the thread that calls them.
class Reader {
 public:
  using Stream = std::int32_t;
  virtual ~Reader() = default;
  /// Hints that this file is read soon; workers may open and scan the file ahead. `read` returns its records, or the
  /// error of opening. The caller calls `close` once for each stream.
  virtual Stream open(Handle file) = 0;
  /// Writes the handles of the file's next records and returns their number; 0 at the end of the file. May scan the
  /// file or wait for a scan. An error names the file and the offset in bytes.
  [[nodiscard]] virtual Result<std::size_t> read(Stream stream, std::span<Handle> out) = 0;
  [[nodiscard]] virtual bool ready(Stream stream) = 0;  ///< Whether `read` would not wait.
  virtual void close(Stream stream) = 0;
  /// Passes over up to `n` > 0 of the file's next records and returns their number; 0 at its end. Fails as `read` does.
  [[nodiscard]] virtual Result<std::int64_t> skip(Stream stream, std::int64_t n);
  virtual void drop(std::span<const Handle> records) = 0;      ///< Releases records that no batch uses.
  virtual void hold(std::span<const Handle> records) = 0;      ///< Counts each once more: a batch uses it again.
  [[nodiscard]] virtual std::int64_t files_ahead() const = 0;  ///< Number of files to open early.

  /// Charges `bytes` to the memory budget, for memory that an order holds besides records. The charge ends when the
  /// returned pointer is destroyed. Fails with Code::data, resource_exhausted when `bytes` exceed half of the budget.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> charge([[maybe_unused]] std::int64_t bytes) {
    return std::shared_ptr<void>{};
  }

  /// Returns the number of records of each file. Reads the index of the file, or makes one, and does not retain it.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> count(std::span<const Handle> files) = 0;

  // For orders that read any record of any file, instead of files from their beginning:
  /// Returns the number of records of each file. Reads the index of the file, or makes one, and retains it for
  /// `locate`.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> index(std::span<const Handle> files) = 0;
  /// Says how many of them the present pass gives, which its progress is measured by.
  virtual void expect_places([[maybe_unused]] std::int64_t places) {}
  /// Writes the handles of these records to `out`. `index` must have been called with their files. Reads nothing.
  [[nodiscard]] virtual Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) = 0;
  /// Reads the bytes of records that are not in memory, in the order of the files, and updates the handles. An order
  /// that holds many handles calls `fetch` for about `window()` of them at once. Returns false while a restart only
  /// repeats the order: then nothing was read, and the caller repeats the call before it passes the handles on.
  [[nodiscard]] virtual Result<bool> fetch(std::span<Handle> handles) = 0;
  [[nodiscard]] virtual std::int64_t window() const = 0;
  /// Asks for the bytes of records that a later `fetch` of the same handles reads, and does not wait. False: nothing
  /// was asked for yet, and the caller repeats the call at its next `fetch`. A failure comes with the `fetch`.
  [[nodiscard]] virtual Result<bool> expect([[maybe_unused]] std::span<const Handle> handles) { return true; }
  /// Number of windows for which an order calls `expect` before it fetches one.
  [[nodiscard]] virtual std::int64_t windows_ahead() const { return 0; }
  /// Writes an attribute of these records to `out`. `attribute` counts from OrderContext::first_attribute. Fails with
  /// Code::cancelled when interrupted; the caller may repeat the call.
  [[nodiscard]] virtual Result<void> attributes([[maybe_unused]] std::size_t attribute,
                                                [[maybe_unused]] std::span<const Handle> records,
                                                [[maybe_unused]] std::span<std::int64_t> out) {
    return Error{Code::internal, "this reader knows no attributes"};
  }
  /// The same for records of files for which `index` was called. Needs no handles, and reads nothing.
  [[nodiscard]] virtual Result<void> attributes_of([[maybe_unused]] std::size_t attribute,
                                                   [[maybe_unused]] std::span<const RecordName> names,
                                                   [[maybe_unused]] std::span<std::int64_t> out) {
    return Error{Code::internal, "this reader knows no attributes"};
  }
  /// Gives people a line (Loader::take_notice).
  virtual void note([[maybe_unused]] std::string line) {}
  /// The number of a window, of a handle that names one.
  [[nodiscard]] virtual WindowNumber window_number([[maybe_unused]] const Handle& window) const { return {}; }
};

/// The arguments of an order's constructor. The engine makes one per order and run.
struct OrderContext {
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;  ///< Differs between the orders of a plan. Part of every draw.
  bool deterministic = true;
  std::unique_ptr<Handles> upstream;
  Reader* reader = nullptr;         ///< Outlives the order.
  std::size_t first_attribute = 0;  ///< Number of the first one of Ordering::attributes.
  bool endless = false;             ///< The run has no end of its own: passes follow each other for ever.
  Ask ask = {};                     ///< Asks the function of Ordering::asks.
  Gauge* gauge = nullptr;           ///< For the buffer of the order, if it has one. Outlives it; null: nobody asks.
};

/// What an order takes and gives. `any`: files before `interleave`, records after it (without one, file after file is
/// read). `files_to_records`: takes files and gives their records.
/// `files`: files that are not open yet. `records`: records only. `batches`: cut batches, after the batcher.
enum class Grain : std::uint8_t { any, files, files_to_records, records, batches };

/// Consecutive batches that an order on batches decides about.
struct BatchBlock {
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;  ///< Differs between the orders of a plan. Part of every draw.
  std::int64_t epoch = 0;     ///< With hard epochs, whose batches are numbered anew in each; else 0.
  std::int64_t first = 0;     ///< Number of the first batch: of the epoch with hard epochs, else of the run.
  std::int64_t count = 0;     ///< Batches of the block. The last one of an epoch or run may have fewer than the others.
};

/// An order on batches: a function of numbers, which the engine applies to one block of cut batches after the other.
///
///     cut:       0 1 2 │ 3 4 5 │ 6          blocks of 3
///     delivered: 2 0 1 │ 4 3 5 │ 6          `pick` gives [2, 0, 1], [1, 0, 2], [0]
///
/// Nothing of a batch is read or decoded before it is picked. A restart cuts the block again in which it stands.
struct BatchOrdering {
  std::int64_t block = 1;  ///< Batches of a block: so many are held, as handles.
  /// Appends the batches to deliver, in their sequence: numbers from 0 to count - 1, each at most once.
  std::function<void(const BatchBlock& block, std::vector<std::int64_t>& out)> pick;
  std::optional<std::int64_t> stop = {};  ///< No batch from this number on is picked.
};

/// A bound order: makes the running order. Immutable; any thread may call.
struct Ordering {
  std::function<std::unique_ptr<Handles>(OrderContext)> make;
  Grain grain = Grain::any;
  bool repeats = false;        ///< May give an element several times in a pass.
  bool random_access = false;  ///< Reaches elements in any order (Reader::index), which not every source allows.
  /// Returns the number of elements of a pass whose upstream has `n`, or empty when the number is unknown. An unset
  /// function means `n`. Of 0 elements the number is unknown only when the order gives elements for ever.
  std::function<std::optional<std::int64_t>(std::int64_t n)> count = {};
  /// The attributes that the order asks its Reader for. Only orders of records, and orders that reach records in any
  /// order, may have any.
  std::vector<Attribute> attributes = {};
  std::optional<BatchOrdering> batches = {};  ///< Set for Grain::batches, instead of `make`; `count` counts batches.
  /// The order passes on exactly the records for which its only attribute is not 0, and keeps their order. Before an
  /// order with `random_access` it is applied when files are indexed, and never made.
  bool selects = false;
  std::optional<AskedFunction> asks = {};  ///< The function of the program that the order asks.
  bool keeps_order = false;                ///< Passes elements on in the order in which they come.
  bool counts_rows = false;                ///< Counts rows, and never stands before files are opened.
  Placing place = {};                      ///< Set where their numbers alone decide the places of elements.
};

/// An order plug-in: its description, and the function that checks its options and binds them.
struct OrderType {
  Description description;
  std::function<Result<Ordering>(const Json& options)> bind;
  template <class Options>
  using Bind = Result<Ordering> (*)(const Options&);
};

}  // namespace forebay
