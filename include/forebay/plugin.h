// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <forebay/column.h>
#include <forebay/describe.h>
#include <forebay/record.h>

/// The contracts of the six kinds of plug-in. Every one is single-threaded by contract; formats, decoders and steps are
/// const while running, because any number of workers call them at once.
namespace forebay {

/// What an operator's binding gives back: the operator, and the columns that there are after it.
template <class Operator>
struct Bound {
  std::unique_ptr<Operator> op;
  Schema out;
};

// ---------------------------------------------------------------- formats: bytes → records

/// What a scan found.
struct Scanned {
  std::size_t consumed = 0;  ///< Bytes dealt with; the next scan starts behind them.
  /// Bytes that must be there before anything more can be found; 0 when the scan stopped at its limit or at the end.
  std::size_t wanted = 0;
};

class Format {
 public:
  virtual ~Format() = default;
  /// Finds the records at the beginning of `bytes`, appends their extents (offsets from the beginning of `bytes`) and
  /// stops after the record that reaches `limit` bytes. `offset` is where `bytes` begin in the (uncompressed) file;
  /// `last` says that the file ends where they end, `available` how many bytes are there from `bytes` on (bounds
  /// before trust). An error says where; records found before it are in `records` and are delivered first.
  [[nodiscard]] virtual Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last,
                                             std::size_t limit, std::vector<Extent>& records) const = 0;
  /// Checks a record's payload, whose bytes are hot. The checksum, if there is one, stands next to it.
  [[nodiscard]] virtual Result<void> verify(Record record) const = 0;
  /// Where the record begins whose payload begins at `payload`, in the (uncompressed) file.
  [[nodiscard]] virtual std::int64_t record_offset(std::int64_t payload) const { return payload; }
};

/// How a file's bytes are packed.
enum class Compression : std::uint8_t { none, gzip, zlib, automatic };
template <> struct EnumNames<Compression> { static constexpr std::array<std::string_view, 4> names{"none", "gzip", "zlib", "auto"}; };

/// What a source describes: which files, in what order, how packed, and how they split into records.
struct Source {
  std::vector<std::string> files;   ///< Patterns expanded, relative paths resolved.
  Compression compression = Compression::none;
  std::shared_ptr<const Format> format;
};

struct SourceType {
  Description description;
  /// `folder` is what relative paths are relative to.
  std::function<Result<Source>(const Json& options, const std::string& folder)> bind;
  template <class Options> using Bind = Result<Source> (*)(const Options&, const std::string&);
};

// ---------------------------------------------------------------- decoders: records → columns

/// What a decoder remembers between calls of one worker (layouts it saw, scratch); never affects results.
class DecoderMemory {
 public:
  virtual ~DecoderMemory() = default;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual std::unique_ptr<DecoderMemory> memory() const = 0;
  /// Decodes `records` into rows first_row… of the columns in `wanted`: fixed numeric columns already have their rows
  /// and are written in place; strings and variable columns are appended to. The others are not touched.
  /// An error's place has `row` (index in `records`) and `feature`; columns are then unspecified.
  [[nodiscard]] virtual Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                            DecoderMemory& memory) const = 0;
};

struct DecoderType {
  Description description;
  /// `wanted` are the names of the columns somebody uses (projection); empty means all.
  std::function<Result<Bound<Decoder>>(const Json& options, const std::vector<std::string>& wanted)> bind;
  template <class Options> using Bind = Result<Bound<Decoder>> (*)(const Options&, const std::vector<std::string>&);
};

// ---------------------------------------------------------------- steps: columns → columns

class Step {
 public:
  virtual ~Step() = default;
  /// Reads columns of the schema it was bound to and fills the ones it made. All have the block's number of rows; fixed
  /// numeric outputs already have their rows, variable and string outputs are empty. Sees whole columns.
  [[nodiscard]] virtual Result<void> apply(ColumnBlock& block) const = 0;
};

struct StepType {
  Description description;
  std::function<Result<Bound<Step>>(const Json& options, const Schema& in)> bind;
  template <class Options> using Bind = Result<Bound<Step>> (*)(const Options&, const Schema&);
};

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
  virtual void drop(std::span<const Handle> records) = 0;  ///< Nobody will ask for these.
  [[nodiscard]] virtual std::int64_t files_ahead() const = 0;  ///< How many files it is worth to announce early.
};

/// What an order is built with, once per run.
struct OrderContext {
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;       ///< Differs between the orders of a plan: part of every draw.
  bool deterministic = true;
  std::unique_ptr<Handles> upstream;
  Reader* reader = nullptr;        ///< Outlives the order.
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
  template <class Options> using Bind = Result<Ordering> (*)(const Options&);
};

// ---------------------------------------------------------------- batchers: handles → batches

class Batcher {
 public:
  virtual ~Batcher() = default;
  /// Appends the records of the next batch to `rows` (at most `rows_most` of the layout) and says how many rows the
  /// batch has: more than `rows` when it is filled up with empty rows, 0 when the pass is over and nothing is left.
  /// After an error of `in` the call can be repeated with the same `rows`, and goes on where it was.
  [[nodiscard]] virtual Result<std::int64_t> cut(Handles& in, std::vector<Handle>& rows) = 0;
};

/// How one tensor is padded, see the `batch` step.
struct Padding {
  Shape shape;            ///< Target sizes, unknown_dim = the batch's maximum.
  Json value;             ///< Null: 0, false or "".
};

struct Batching {
  std::function<std::unique_ptr<Batcher>(Reader&)> make;
  std::int64_t most_rows = 0;                              ///< Of one batch.
  std::function<std::optional<std::int64_t>(std::int64_t)> batches;  ///< Of n rows in one run of them.
  std::vector<std::pair<std::string, Padding>> padding;    ///< By tensor; only with `pad`.
  std::optional<Delivery> delivery;                        ///< For all variable columns; unset: as decoded.
};

struct BatcherType {
  Description description;
  std::function<Result<Batching>(const Json& options, const Schema& in)> bind;
  template <class Options> using Bind = Result<Batching> (*)(const Options&, const Schema&);
};

// ---------------------------------------------------------------- registration

template <class Type, class Options>
[[nodiscard]] Describer<Type, Options> describe(std::string name, std::string doc, typename Type::template Bind<Options> bind) {
  return Describer<Type, Options>{std::move(name), std::move(doc), bind};
}

/// All plug-ins of a process: those of src/plugins.def and those a program adds before it plans.
class Registry {
 public:
  static Registry& global();
  void add(SourceType type);
  void add(DecoderType type);
  void add(StepType type);
  void add(OrderType type);
  void add(BatcherType type);

  [[nodiscard]] const std::vector<SourceType>& sources() const { return sources_; }
  [[nodiscard]] const std::vector<DecoderType>& decoders() const { return decoders_; }
  [[nodiscard]] const std::vector<StepType>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<OrderType>& orders() const { return orders_; }
  [[nodiscard]] const std::vector<BatcherType>& batchers() const { return batchers_; }

 private:
  Registry();
  std::vector<SourceType> sources_;
  std::vector<DecoderType> decoders_;
  std::vector<StepType> steps_;
  std::vector<OrderType> orders_;
  std::vector<BatcherType> batchers_;
};

}  // namespace forebay
