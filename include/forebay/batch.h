// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <forebay/complete_frac.h>
#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/row_identity.h>
#include <forebay/schema.h>

namespace forebay {

/// Whether elements of that type can be read as T: the same kind of number with the same size. Types without a C++ type
/// of their own are read as unsigned integers: bool as bytes, float16 and bfloat16 as their bits.
template <class T>
[[nodiscard]] constexpr bool readable_as(DType dtype) {
  using Plain = std::remove_cv_t<T>;
  if (size_of(dtype) != sizeof(Plain)) return false;
  if constexpr (std::is_same_v<Plain, bool>) {
    return dtype == DType::boolean;
  } else if constexpr (std::is_floating_point_v<Plain>) {
    return dtype == DType::float32 || dtype == DType::float64;
  } else if constexpr (std::is_unsigned_v<Plain>) {
    return dtype == DType::boolean || (dtype >= DType::uint8 && dtype <= DType::bfloat16);
  } else {
    return std::is_integral_v<Plain> && dtype >= DType::int8 && dtype <= DType::int64;
  }
}

/// An array of a batch. Copies share the memory, which returns to its pool when the last copy is destroyed. A tensor
/// may outlive its batch and its loader. Numeric data is row-major, 64-byte aligned and may be written to.
struct Tensor {
  DType dtype = DType::float32;
  Shape shape;                                ///< Batch axis first; all dims known.
  std::byte* data = nullptr;                  ///< Elements; null for strings.
  const std::int64_t* byte_splits = nullptr;  ///< Strings: count() + 1 offsets into `bytes`.
  const std::byte* bytes = nullptr;
  std::shared_ptr<void> owner;  ///< Shares ownership of the memory.

  /// The number of elements; a default-constructed tensor has none.
  [[nodiscard]] std::int64_t count() const { return data == nullptr && byte_splits == nullptr ? 0 : shape.count(); }
  /// The elements in row-major order; empty when they cannot be read as T (readable_as). Strings never can.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    if (data == nullptr || !readable_as<T>(dtype)) return {};
    return {reinterpret_cast<T*>(data), static_cast<std::size_t>(count())};
  }
  [[nodiscard]] std::string_view string(std::int64_t element) const;  ///< For strings; element < count().
};

/// One named entry of a batch.
struct Value {
  enum class Kind : std::uint8_t { dense, ragged, sparse };
  Kind kind = Kind::dense;
  Tensor values;  ///< The array; of a ragged or sparse value the flat values.
  /// Ragged: one tensor for each level, outermost first; int64, or int32 if the feature asks for it.
  std::vector<Tensor> row_splits;
  Tensor indices;  ///< Sparse: int64 [n, rank], the index of each value, sorted row-major; its first number is the row.
  Shape dense_shape;  ///< Sparse: the sizes of all axes, the batch axis first.
};

/// The origin of a row, or of one span of a row.
struct Origin {
  std::string_view file;     ///< Path that the run opened, or the name of a part of rows; valid while the batch lives.
  std::int64_t record = 0;   ///< Ordinal in the file or part.
  std::int64_t offset = 0;   ///< Byte offset of the record in the (uncompressed) file; of rows: the ordinal.
  std::int64_t window = -1;  ///< Number of the window; -1 in a plan without windows.
  std::int64_t start = 0;    ///< First frame of the record that is in the row.
};

/// A stretch of one record, and its place in a row. Where rows are made of spans, a row has none, one or several.
struct BatchSpan {
  Origin origin;
  std::int64_t length = 0;  ///< Frames of the record.
  std::int64_t at = 0;      ///< Frame of the row that has the first of them.
};

/// A row that is missing in a batch because its record is corrupt (`on_corrupt`: skip_row), and why.
struct SkippedOrigin {
  Origin origin;
  Error error;
};

class States;  ///< Internal to the engine.

/// One batch. Cheap to move; copies share the memory. A default-constructed or moved-from batch may only be destroyed,
/// or get another batch assigned.
class Batch {
 public:
  [[nodiscard]] std::int64_t rows() const;  ///< Length of the batch axis.
  /// Rows that came from records; the others are empty: rows that fill up a last batch, and as many as skip_row took
  /// out. Empty rows come last, unless rows are made of spans: then they may be anywhere.
  [[nodiscard]] std::int64_t valid_rows() const;
  [[nodiscard]] std::int64_t epoch() const;   ///< Pass of the first row that is not empty, from 0.
  [[nodiscard]] std::int64_t number() const;  ///< Ordinal of the batch in the run, from 0.

  [[nodiscard]] const std::vector<std::string>& names() const;  ///< In schema order.
  /// The value with that name, or null. Valid while the batch lives.
  [[nodiscard]] const Value* find(std::string_view name) const;
  /// The dense array or flat values with that name; a tensor without elements if there is none.
  [[nodiscard]] const Tensor& tensor(std::string_view name) const;
  /// The size of each row in the unknown dims, without padding: int64 [rows] (one unknown dim) or [rows, unknown dims].
  /// Null for fixed tensors.
  [[nodiscard]] const Tensor* lengths(std::string_view name) const;
  /// Where a row comes from, or its first span; side by side, the row of the first branch. Of an empty row: no file,
  /// and record and offset -1.
  [[nodiscard]] Origin origin(std::int64_t row) const;
  /// The rows that skip_row took out, in their order. As many rows at the end of the batch are empty.
  [[nodiscard]] std::vector<SkippedOrigin> skipped() const;
  /// "path:offset" of the row's origin; see Format::key. Side by side: the keys of all branches, joined by "|".
  [[nodiscard]] std::string key(std::int64_t row) const;
  [[nodiscard]] std::string key(const Origin& origin) const;
  /// The identity of a row, which no other row of the run has. It does not depend on how rows are cut into batches. A
  /// row of spans has that of its first span, a row of `zip` that of the first branch, and an empty row part -1.
  /// It is exact with RunOptions::row_identities or a step that draws. Without them the epoch is the batch's, and
  /// repetitions of a record in one pass are not counted. Where windows have no number, `window` is the first frame.
  [[nodiscard]] RowIdentity identity(std::int64_t row) const;
  /// Whether rows are made of spans: of windows, or of several records.
  [[nodiscard]] bool has_spans() const;
  /// The origins of a row: one for each of its spans, or, side by side, one in each branch; none of an empty row.
  [[nodiscard]] std::vector<Origin> origins(std::int64_t row) const;
  /// The spans of a row along the first time axis, in order; none of an empty row. Only with `has_spans`.
  [[nodiscard]] std::vector<BatchSpan> spans(std::int64_t row) const;
  /// Of a combination: the number of the branch that gave the row; side by side, and with one source, 0.
  [[nodiscard]] std::int64_t branch(std::int64_t row) const;
  [[nodiscard]] bool combined() const;      ///< The plan combines branches …
  [[nodiscard]] bool side_by_side() const;  ///< … with `zip`: a row has an origin in each of them.
  /// Whether it is the last batch of its epoch; known with `epoch_boundary: hard` only, and not of feeds.
  [[nodiscard]] std::optional<bool> ends_epoch() const;

  // Of batches that number their sequences (`seq_idx` of the batcher).
  /// Of each row the number of its sequence in its pass, from 0; of an empty row -1. Else nothing.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> seq_idx() const;
  /// Whether the last row is the empty one that `epoch_end` adds; its `seq_idx` is the number of sequences of the
  /// epoch.
  [[nodiscard]] bool epoch_end() const;
  /// The done part of the epoch after this batch. Counted in sequences where the batcher numbers them; their number is
  /// known of rows in memory and of files that are read by index, without filters and windows. Else of what was read.
  [[nodiscard]] Fraction complete_frac() const;
  /// The frames of all rows of a tensor without padding: its sizes along the first axis; 0 for one without such an
  /// axis.
  [[nodiscard]] std::int64_t frames(std::string_view name) const;

  // States that follow sequences, in plans with `stateful`. Any thread may call.
  /// The state of the sequence of each row, [rows, shape…], as it is saved now: the initial value for rows that begin a
  /// sequence and for empty rows, else what was saved for the row of the batch before. Fails with Code::config,
  /// not_found, for an unknown name, and with Code::state when that was not saved yet, or when the states of this batch
  /// were saved since.
  [[nodiscard]] Result<Tensor> state(std::string_view name) const;
  /// Saves the states after this batch: `values` is [rows, shape…] of the declared dtype, and is copied. Rows whose
  /// sequence ends with this batch, and empty rows, are left out. Batches are saved in their order; Loader::state
  /// stands after the last batch of which every state was saved.
  [[nodiscard]] Result<void> save_state(std::string_view name, const Tensor& values) const;
  [[nodiscard]] std::vector<std::string> state_names() const;  ///< In the order of the document.

  /// Where a run goes on after this batch: a small JSON object for `Loader::state_at`, to be sent along with the values
  /// of a batch that goes to another process.
  [[nodiscard]] Json position() const;

  struct Content;  ///< Internal to the engine.
  Batch() = default;
  explicit Batch(std::shared_ptr<const Content> content, std::shared_ptr<States> states = {})
      : content_{std::move(content)}, states_{std::move(states)} {}

 private:
  std::shared_ptr<const Content> content_;
  std::shared_ptr<States> states_;  // of the run; null in plans without states
};

}  // namespace forebay
