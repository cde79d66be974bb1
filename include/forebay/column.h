// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forebay/schema.h>

namespace forebay {

/// Cancellation hook. Long-running code polls it about every 16 MiB.
class StopCheck {
 public:
  static constexpr std::size_t interval = std::size_t{16} << 20;  ///< Bytes of work between two polls.
  /// Returns while the work is wanted. Throws when it is not; the result of the work is then unspecified.
  virtual void look() const = 0;
  static void look(const StopCheck* check) {  ///< Null: never cancelled.
    if (check != nullptr) check->look();
  }

 protected:
  ~StopCheck() = default;
};

/// Growable bytes. Owned storage keeps its capacity when it is cleared, so a recycled column allocates nothing,
/// and has `slack` writable bytes after its end. Bound storage writes straight into rows of a batch and never grows.
/// Large storage grows in steps and polls its StopCheck before each.
class Storage {
 public:
  static constexpr std::size_t slack = 64;

  Storage() = default;
  Storage(Storage&& other) noexcept;
  Storage& operator=(Storage&& other) noexcept;
  ~Storage();

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool bound() const { return bound_; }
  template <class T>
  [[nodiscard]] T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  template <class T>
  [[nodiscard]] std::span<const T> span() const {
    return {as<T>(), size_ / sizeof(T)};
  }

  void bind(std::byte* memory, std::size_t capacity);  ///< From now on the bytes live in `memory`; size becomes 0.
  void clear() { size_ = 0; }
  /// Changes the size. Existing bytes stay, new bytes are unset. Growth doubles. Bound storage must have room.
  std::byte* resize(std::size_t size) {
    if (size > capacity_) grow(size);
    size_ = size;
    return data_;
  }
  /// Adds `size` unset bytes at the end and returns where they begin.
  std::byte* extend(std::size_t size) {
    const std::size_t old = size_;
    return resize(old + size) + old;
  }
  template <class T>
  void push(T value) {
    *reinterpret_cast<T*>(extend(sizeof(T))) = value;
  }
  [[nodiscard]] std::size_t capacity() const { return bound_ ? 0 : capacity_; }  ///< Owned bytes, for the budget.
  void ask(const StopCheck* check) { check_ = check; }  ///< Polled from now on; null: none. Not moved with the bytes.
  [[nodiscard]] const StopCheck* check() const { return check_; }

 private:
  void grow(std::size_t size);
  void reserve(std::size_t size);

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // bytes whose pages exist
  std::size_t reserved_ = 0;
  const StopCheck* check_ = nullptr;
  bool bound_ = false;
};

/// N rows of one tensor. A row has the shape of the spec, with its own sizes in the unknown dims.
///
/// * Known shape: `values` is `[rows, …]`, row-major.
/// * Unknown dims: `values` holds the rows one after the other, each row-major. `row_splits` is int64 [rows + 1], in
///   elements; `dims` is int64 [rows, unknown dims].
/// * Strings have no `values`: element i is `bytes[byte_splits[i], byte_splits[i + 1])`, with `byte_splits` int64
///   [elements + 1].
struct Column {
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t rows = 0;
  Storage values;
  Storage row_splits;
  Storage dims;
  Storage byte_splits;
  Storage bytes;
  std::vector<Column> parts;  ///< Companion columns (ColumnSpec::parts), each with as many rows as this one.

  Column() = default;
  explicit Column(const ColumnSpec& spec);

  [[nodiscard]] bool fixed() const { return shape.known(); }
  [[nodiscard]] std::int64_t elements() const;  ///< Elements of all rows.
  [[nodiscard]] std::size_t row_bytes() const;  ///< Bytes of one row; only for known shapes that are not strings.
  [[nodiscard]] Shape row_shape(std::int64_t row) const;  ///< The actual sizes of this row.
  [[nodiscard]] std::span<const std::byte> string(std::int64_t element) const;

  /// Empties the column and its parts, so that rows can be appended; capacities stay.
  void clear();
  /// A fixed numeric column of `count` rows with unset values.
  void set_rows(std::int64_t count);
  /// Ends a row of a variable column after its elements were appended. `unknown_sizes`: its sizes in the unknown dims.
  void end_row(std::span<const std::int64_t> unknown_sizes);
  /// Appends one string element.
  void push_string(std::span<const std::byte> value);
  void ask(const StopCheck* check);  ///< Sets the check of all storages, parts included.
};

/// All columns of a plan, by id, with the same rows. A column that no stage needs stays empty.
struct ColumnBlock {
  std::int64_t rows = 0;  ///< Rows of every column in use.
  std::vector<Column> columns;

  Column& operator[](ColumnId id) { return columns[static_cast<std::size_t>(id)]; }
  const Column& operator[](ColumnId id) const { return columns[static_cast<std::size_t>(id)]; }
};

}  // namespace forebay
