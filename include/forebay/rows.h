// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/error.h>
#include <forebay/function.h>
#include <forebay/schema.h>

/// Rows that come ready, in columns: the other kind of source beside files whose records are decoded.
namespace forebay {

namespace engine {
struct RunShare;
}

/// One column of a row block: a view of memory that the block's owner keeps.
///
/// * Numbers of a known shape: row i begins at `data + i · row_stride`. Any alignment and any stride.
/// * Numbers with unknown dims: row i is the elements from `row_splits[i]` to `row_splits[i + 1]`, row-major without
///   gaps from `data` on. `dims` has its sizes, [rows, unknown dims].
/// * Strings: element i is `bytes[byte_splits[i], byte_splits[i + 1])`. Rows have as many elements as their shape, or
///   those that `row_splits` says.
struct RowColumn {
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0;             ///< Bytes from a row to the next: 0, negative or overlapping are allowed.
  std::vector<std::int64_t> strides = {};  ///< Bytes along each axis of a row; empty: row-major without gaps.
  bool swapped = false;                    ///< The bytes of every number are in the other order than this machine's.
  const std::int64_t* row_splits = nullptr;
  const std::int64_t* dims = nullptr;
  const std::int64_t* byte_splits = nullptr;
  const std::byte* bytes = nullptr;
};

/// Rows in columns. The engine only reads the memory, from any thread, and never past the last element.
struct RowBlock {
  std::int64_t rows = 0;
  std::vector<RowColumn> columns;     ///< In the order of the source's schema.
  std::shared_ptr<const void> owner;  ///< Owns the memory of the columns.
};

/// Reads the rows of a part one after the other, block by block. The run that opened it owns it and calls it on one
/// thread at a time.
class PartReader {
 public:
  enum class Got : std::uint8_t { rows, nothing_yet, end };
  virtual ~PartReader() = default;
  /// Sets `out` to the next rows, at least one, for `rows`. Never waits: without rows it returns `nothing_yet`, and
  /// calls `wake` of its context once when that has changed. An error ends the part after the rows before it.
  [[nodiscard]] virtual Result<Got> read(std::shared_ptr<const RowBlock>& out) = 0;
};

/// What a PartReader gets of its run.
struct ReadContext {
  /// May be called from any thread while the reader exists, also inside `read`.
  std::function<void()> wake;
  std::int64_t epoch = 0;                        ///< Of the pass that reads the part.
  std::int64_t first = 0;                        ///< The row to begin with, for a part that `seeks`.
  std::shared_ptr<engine::RunShare> share = {};  ///< What the run lends to readers of the engine itself.
};

/// The files of a run that reads a part in files.
class PartFiles {
 public:
  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  ///< Keeps the bytes, which are checked as long as somebody owns them.
  };
  virtual ~PartFiles() = default;
  /// A whole file, mapped. Another process may change or cut it: then bytes are wrong, or zeros, and the run fails. So
  /// they are copied before they are decoded. Fails with Code::io when the file cannot be opened or mapped.
  [[nodiscard]] virtual Result<Bytes> map(const std::string& path) = 0;
  /// Memory that counts against the budget of the run. Fails with resource_exhausted when it does not fit.
  [[nodiscard]] virtual Result<std::shared_ptr<std::byte>> memory(std::int64_t bytes) = 0;
  virtual void look() const = 0;  ///< As StopCheck::look: called at least every 16 MiB.
};

/// A part of a row source: rows that follow one another. It has one of `rows`, `map` and `open`.
struct RowPart {
  std::string name;                           ///< Stands for the path of a file in origins, keys and errors.
  std::shared_ptr<const RowBlock> rows = {};  ///< All rows, when they are in memory.
  /// Begins to read the rows. Fails when the part is read already and can be read only once at a time.
  std::function<Result<std::unique_ptr<PartReader>>(ReadContext)> open = {};
  std::vector<std::shared_ptr<const RowBlock>> more = {};  ///< Rows in memory that follow `rows`, in their order.
  std::optional<std::int64_t> count = {};  ///< Of a part with `open` its rows, when they are known; with `map` always.
  bool seeks = false;                      ///< `open` can begin with any row of the part.

  /// Makes all rows of files, when a run uses the part first. Not called by two threads for one run.
  std::function<Result<std::shared_ptr<const RowBlock>>(PartFiles&)> map = {};

  [[nodiscard]] bool resident() const { return rows || map; }  ///< Any row can be reached.
  [[nodiscard]] std::int64_t in_memory() const;                ///< Rows of `rows` and `more`, or of `map`.
};

/// Rows that a program lends to a run. Immutable: any number of runs and threads may use it at once.
struct RowSource {
  Schema schema;  ///< The columns that a decoder would make.
  std::vector<RowPart> parts;
  bool repeats = false;  ///< Parts may be opened in every pass.
  bool exact = true;     ///< With `repeats`: the rows are the same each time; else a run has no state.
  bool ahead = false;    ///< Several parts may be open at once, so each is opened a little before its turn.
  /// An order that reaches rows by number may hold all rows of a pass in memory: they end, and nobody waits for them.
  bool collects = false;
  bool charged = false;  ///< The memory of the row blocks is in the budget of the run already.
  /// Rows that wait to be read, and how many may, for statistics. Any thread may call; empty: nothing waits.
  std::function<std::pair<std::int64_t, std::int64_t>()> waiting = {};
  std::string waiting_name = {};  ///< What statistics call them; empty: a feed.

  /// Whether all rows are in memory or mapped, so that every row can be reached.
  [[nodiscard]] bool resident() const;
  /// Whether the same rows can be read again, so that a run may have a state, and begin anew.
  [[nodiscard]] bool replays() const { return (repeats && exact) || resident(); }
};

struct Arrow;  // forebay/sources/arrow.h

/// A table of the program, whose columns the document chooses.
class RowTable {
 public:
  virtual ~RowTable() = default;
  /// The rows with the columns that the options ask for. Called when a document is planned, on any thread.
  [[nodiscard]] virtual Result<std::shared_ptr<const RowSource>> rows(const Arrow& options) const = 0;
};

/// An object of the program: rows, a table, or a function.
class BoundObject {
 public:
  BoundObject() = default;
  template <std::convertible_to<std::shared_ptr<const RowSource>> Rows>
  BoundObject(Rows rows) : rows_{std::move(rows)} {}  // NOLINT: rows are an object
  template <std::convertible_to<std::shared_ptr<const RowTable>> Table>
  BoundObject(Table table) : table_{std::move(table)} {}                                 // NOLINT: so is a table
  BoundObject(Function function) : function_{std::move(function)} {}                     // NOLINT: so is a function
  [[nodiscard]] const std::shared_ptr<const RowSource>& rows() const { return rows_; }   ///< Null: it is no rows.
  [[nodiscard]] const std::shared_ptr<const RowTable>& table() const { return table_; }  ///< Null: it is no table.
  [[nodiscard]] const std::optional<Function>& function() const { return function_; }

 private:
  std::shared_ptr<const RowSource> rows_;
  std::shared_ptr<const RowTable> table_;
  std::optional<Function> function_;
};

/// The objects of a program that a document names: `{"arrays": {"bind": "train"}}` reads `bindings["train"]`.
using Bindings = std::map<std::string, BoundObject, std::less<>>;

/// An array in the memory of the program. Its first axis counts the rows; with `row_splits` row i is the items from
/// `row_splits[i]` to `row_splits[i + 1]` of that axis, so rows have different lengths.
struct ArrayView {
  std::string name;  ///< Of the tensor.
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;         ///< With the row axis.
  const void* data = nullptr;              ///< Numbers: the first element, of any alignment. Strings: their bytes.
  std::vector<std::int64_t> strides = {};  ///< Numbers: bytes along each axis; empty: row-major without gaps.
  bool swapped = false;                    ///< Numbers: the bytes of each are in the other order.
  std::vector<std::int64_t> byte_splits =
      {};  ///< Strings: where each element begins in `data`, and where the last ends.
  /// [rows + 1]: 0 or more, ascending, at most the size of the first axis. Copied, with 16 bytes a row.
  std::optional<std::vector<std::int64_t>> row_splits = {};
};

/// Makes a source of one part from arrays of equal length. Copies nothing: `owner` keeps the arrays, which must not
/// change while a run reads them. `name` stands for a file name in origins and errors.
///
/// Fails with Code::config and every fault: no array, a name that is empty or given twice, an array without a row axis
/// or with more than 16 axes, unequal numbers of rows, negative sizes, strides, string offsets or row splits that do
/// not fit.
[[nodiscard]] Result<std::shared_ptr<const RowSource>> array_rows(std::vector<ArrayView> arrays,
                                                                  std::shared_ptr<const void> owner,
                                                                  std::string name = "arrays");

}  // namespace forebay
