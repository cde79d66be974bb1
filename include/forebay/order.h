// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/describe.h>
#include <forebay/record.h>

namespace forebay {

// ---------------------------------------------------------------- orders: handles → handles

/// A stream of handles, in passes (epochs).
class Handles {
 public:
  virtual ~Handles() = default;
  /// Fills the front of `out` and says how many; 0 is the end of this pass, and only that. What came before an error is
  /// handed out first; an error changes nothing, so the call can be repeated.
  [[nodiscard]] virtual Result<std::size_t> pull(std::span<Handle> out) = 0;
  /// Forgets where it was and begins pass `epoch`, upstream included. Called before the first pull, too.
  virtual void begin(std::int64_t epoch) = 0;
};

/// A record by its place: the how-manieth of which file.
struct RecordName {
  std::uint32_t file = 0;  ///< `block` of its handle.
  std::int64_t record = 0;
};

/// What the engine lends to orders.
class Reader {
 public:
  using Stream = std::int32_t;
  virtual ~Reader() = default;
  /// Announces a file (named by its handle); it may be opened and scanned ahead. Records come from `read`.
  virtual Stream open(Handle file) = 0;
  /// The next records of that file; 0 is its end. Errors carry file and offset.
  [[nodiscard]] virtual Result<std::size_t> read(Stream stream, std::span<Handle> out) = 0;
  [[nodiscard]] virtual bool ready(Stream stream) = 0;  ///< Whether `read` would not wait.
  virtual void close(Stream stream) = 0;
  virtual void drop(std::span<const Handle> records) = 0;      ///< Nobody will ask for these.
  virtual void hold(std::span<const Handle> records) = 0;      ///< These will be asked for once more.
  [[nodiscard]] virtual std::int64_t files_ahead() const = 0;  ///< How many files it is worth to announce early.

  /// Accounts for memory that an order holds besides the records, as long as it keeps what it is given. Fails with
  /// Code::data, resource_exhausted when that is more than half of the memory budget.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> charge([[maybe_unused]] std::int64_t bytes) {
    return std::shared_ptr<void>{};
  }

  /// How many records each of these files gives, by its index, which is read or made now and not kept.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> count(std::span<const Handle> files) = 0;

  // Any record of any file, for orders that do not read files from their beginning.
  /// How many records each of these files has, by its index, which is read or made now.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> index(std::span<const Handle> files) = 0;
  /// The handles of records of files that `index` was given. Nothing is read.
  [[nodiscard]] virtual Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) = 0;
  /// Brings the bytes of records that are not in memory, in the order of the files; the handles may change. An order
  /// that holds many handles calls it for about `window` of them at once. Returns false while a restart only goes
  /// through the order again: then nothing was brought, and the call must be repeated before the handles are passed on.
  [[nodiscard]] virtual Result<bool> fetch(std::span<Handle> handles) = 0;
  [[nodiscard]] virtual std::int64_t window() const = 0;
};

/// What an order is built with, once per run.
struct OrderContext {
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;  ///< Differs between the orders of a plan: part of every draw.
  bool deterministic = true;
  std::unique_ptr<Handles> upstream;
  Reader* reader = nullptr;  ///< Outlives the order.
};

/// What an order acts on: files before the (explicit or implied) `interleave`, records behind it.
enum class Grain : std::uint8_t { any, files_to_records };

struct Ordering {
  std::function<std::unique_ptr<Handles>(OrderContext)> make;
  Grain grain = Grain::any;
  /// How many come out of `n` that go in, if that can be said; unset: the same number.
  std::function<std::optional<std::int64_t>(std::int64_t n)> count = {};
};

struct OrderType {
  Description description;
  std::function<Result<Ordering>(const Json& options)> bind;
  template <class Options>
  using Bind = Result<Ordering> (*)(const Options&);
};

// ---------------------------------------------------------------- batchers: handles → batches

/// Bytes that a batch takes for each row besides its tensors: the handle, and where the record lies.
inline constexpr std::int64_t bytes_a_row = 24;

class Batcher {
 public:
  virtual ~Batcher() = default;
  /// Appends the records of the next batch to `rows` (at most `Batching::max_rows`) and returns how many rows the batch
  /// has: more than `rows` when it is filled up with empty rows, 0 when the pass is over and nothing is left. Every
  /// record that is pulled belongs to this batch. After an error of `in` the call can be repeated with the same `rows`,
  /// and goes on where it was.
  [[nodiscard]] virtual Result<std::int64_t> cut(Handles& in, std::vector<Handle>& rows) = 0;
};

/// How one tensor is padded, see the `batch` step.
struct Padding {
  Shape shape;   ///< Target sizes, unknown_dim = the batch's maximum.
  Scalar value;  ///< Empty: 0, false or "".
};

struct Batching {
  std::function<std::unique_ptr<Batcher>(Reader&)> make;
  /// The same with batches of `rows` rows, for shards of whole files; unset: it cannot be done.
  std::function<std::unique_ptr<Batcher>(Reader&, std::int64_t rows)> make_sized = {};
  Remainder remainder = Remainder::keep;                             ///< Of a last batch that is not full.
  std::optional<std::int64_t> max_rows = {};                         ///< Of one batch; unset: any number.
  std::function<std::optional<std::int64_t>(std::int64_t)> batches;  ///< Of n rows in one run of them.
  std::vector<std::pair<std::string, Padding>> padding;              ///< By tensor; only with `pad`.
  std::vector<ColumnId> reads = {};                                  ///< Columns that it needs, delivered or not.
  std::optional<Delivery> delivery;                                  ///< For all variable columns; unset: as decoded.
};

struct BatcherType {
  Description description;
  std::function<Result<Batching>(const Json& options, const Schema& in)> bind;
  template <class Options>
  using Bind = Result<Batching> (*)(const Options&, const Schema&);
};

}  // namespace forebay
