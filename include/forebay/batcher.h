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

#include <forebay/batch_rows.h>
#include <forebay/batchers/batch.h>
#include <forebay/describe.h>
#include <forebay/generated.h>
#include <forebay/order.h>
#include <forebay/row_identity.h>

namespace forebay {

/// What a call of Batcher::cut gave.
enum class Cut : std::uint8_t {
  batch,        ///< A batch; it may have 0 rows.
  end_of_pass,  ///< The stream has ended, and so has the batcher: it holds nothing.
};

/// Cuts a stream of handles into batches. The engine owns the batcher and calls it on one thread at a time.
///
/// A pass may begin inside of a batch: the stream then goes on, and BatchRows::pass changes. A batcher that looks at
/// its elements must be able to begin there again, in a restart:
///
///     pass e begins: carried() ─► [3, 120]        three rows that are open, of 120 frames: integers, no elements
///     restart:       resume([3, 120]) ─► cut ─► … the batches with these three rows are dropped, the later ones are
///                                                 the same as before
class Batcher {
 public:
  virtual ~Batcher() = default;
  /// Cuts the next batch: adds its rows to `out`, which is empty at first. After an error of `in`, the caller repeats
  /// the call with the same `out`, and the batch continues from there. `in` gives 0 handles at the end of the stream;
  /// the batcher then cuts batches of what it holds, one with each call.
  [[nodiscard]] virtual Result<Cut> cut(Handles& in, BatchRows& out) = 0;

  /// What the batcher holds, as integers that are not negative: at most 4,096. Called at the beginning of a pass, in
  /// the middle of a `pull` of `cut`. Empty: nothing but the rows of `out` and of the call itself.
  [[nodiscard]] virtual std::vector<std::int64_t> carried() const { return {}; }
  /// Sets what `carried` returned at the beginning of a pass, in place of elements of earlier passes. Called before the
  /// first `cut`. Fails with Code::state for integers that this batcher never returns.
  [[nodiscard]] virtual Result<void> resume([[maybe_unused]] std::span<const std::int64_t> carried) { return {}; }
  /// The pass of the oldest element that the batcher holds after a call of `cut`, if that is earlier than the pass of
  /// the stream. A restart begins with that pass.
  [[nodiscard]] virtual std::optional<std::int64_t> oldest() const { return std::nullopt; }
};

/// The arguments of a batcher's constructor.
struct BatcherContext {
  Reader& reader;                   ///< Outlives the batcher.
  std::size_t first_attribute = 0;  ///< Number of the first one of Batching::attributes.
  bool endless = false;             ///< Passes follow each other for ever.
  std::int64_t first = 0;           ///< Number of the first batch that `cut` gives.
  Ask ask = {};                     ///< Asks the function of Batching::asks.
  std::uint64_t seed = 0;           ///< Of the run, for draws.
  bool windows = false;             ///< Elements are windows over sequences: several may lie in one record.
  /// What tells an element from all others of its pass; `epoch` and `occurrence` are 0. Unset where branches are
  /// combined.
  std::function<RowIdentity(const Handle& element)> identity = {};
  /// Adds the place of an element to an error. Unset as `identity` is.
  std::function<Error(const Handle& element, const Error& error)> at = {};
  Gauge* gauge = nullptr;  ///< For the rows that wait in the batcher. Outlives it; null: nobody asks.
};

/// How the batch pads one tensor; see the option `pad` of `batch`.
struct Padding {
  Shape shape;   ///< Target sizes, unknown_dim = the batch's maximum.
  Scalar value;  ///< Empty: 0, false or "".
};

/// A state that the program keeps for each sequence; see the option `states` of `stateful`.
struct StateSpec {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;     ///< Of one sequence; all sizes known.
  Scalar initial;  ///< Every element of the state of a new sequence. Empty: 0 or false.
};

/// A bound batcher: makes the running batcher and describes its batches. Immutable; any thread may call.
struct Batching {
  std::function<std::unique_ptr<Batcher>(BatcherContext)> make;
  /// Makes the batcher with batches of `rows` rows, for shards of whole files. Unset: the size cannot be changed.
  std::function<std::unique_ptr<Batcher>(BatcherContext, std::int64_t rows)> make_sized = {};
  /// Makes the batcher of shard `index` of `count`, which deals the elements itself: each shard goes through all of
  /// them, and has as many batches as the others. For shards by element, at most `max_dealt`. Unset: `make_sized`
  /// serves them, and without that one batcher of `make` for each shard.
  std::function<std::unique_ptr<Batcher>(BatcherContext, std::int64_t index, std::int64_t count)> make_dealt = {};
  std::int64_t max_dealt = 0;
  std::int64_t pads_to = 0;                   ///< Not 0: every batch has so many rows, some of them empty.
  bool fixed = false;                         ///< Every batch but a last one has `max_rows`.
  Remainder remainder = Remainder::keep;      ///< For a last batch that is not full.
  std::optional<std::int64_t> max_rows = {};  ///< Rows of a batch at most; unset: no limit.
  std::function<std::optional<std::int64_t>(std::int64_t)> batches;  ///< Number of batches of n rows of a pass.
  std::vector<std::pair<std::string, Padding>> padding;              ///< By tensor; only with `pad`.
  std::vector<ColumnId> reads = {};                                  ///< Columns that it needs, delivered or not.
  std::vector<ColumnId> hides = {};                                  ///< Columns that are no tensors of the batch.
  std::optional<Delivery> delivery;                                  ///< For all variable columns; unset: as decoded.
  /// The attributes that the batcher asks its Reader for, such as length(x): integers.
  std::vector<Attribute> attributes = {};
  /// The columns whose rows are made of spans (BatchRows::span): all have the same number of frames in an element. Each
  /// row gets the others entirely, from its first element. Empty: rows are whole elements.
  std::vector<ColumnId> packs = {};
  /// With `packs`: columns that say which span of the row each frame belongs to, by name. No other tensor has the name.
  std::vector<std::pair<Generated, std::string>> generated = {};
  bool counts = false;  ///< It counts the sequences of each pass, and leaves out those above a limit.
  /// The batcher numbers the sequences of each pass (BatchRows::number).
  bool numbers = false;
  /// The last batch of an epoch gets one empty row more; see the option `epoch_end`. Only with `numbers`.
  bool epoch_end = false;
  std::int64_t carries = 0;                ///< The batcher overrides `carried` and `resume`: so many integers at most.
  std::optional<AskedFunction> asks = {};  ///< The function of the program that the batcher asks.
  bool marked = false;                     ///< The rows say where batches end.
  /// Not 0: each batch has so many rows, and row i goes on with the sequence of row i of the batch before. Elements are
  /// windows over sequences that know their count (Windowing::counts), in the order in which they were cut.
  std::int64_t lanes = 0;
  std::vector<StateSpec> states = {};  ///< With lanes: the states that the program keeps for the sequences.
};

/// A batcher plug-in: its description, and the function that checks its options and binds them.
struct BatcherType {
  Description description;
  std::function<Result<Batching>(const Json& options, const Schema& in)> bind;
  template <class Options>
  using Bind = Result<Batching> (*)(const Options&, const Schema&);
};

}  // namespace forebay
