// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <forebay/arrow.h>

#include "sources/arrow/columns.h"
#include "sources/arrow/views.h"

namespace forebay::arrow {

/// A record batch, and what was made of it: the memory of a row block.
class Kept {
 public:
  explicit Kept(ArrowArray& batch) : batch_{batch} { batch.release = nullptr; }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (batch_.release != nullptr) batch_.release(&batch_);
  }
  [[nodiscard]] const ArrowArray& batch() const { return batch_; }
  /// Unset memory for so many integers or bytes, and for at least one.
  [[nodiscard]] std::int64_t* integers(std::int64_t count) {
    return keep(std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(count) + 1));
  }
  [[nodiscard]] std::byte* bytes(std::int64_t count) {
    bytes_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count) + 1));
    return bytes_.back().get();
  }
  std::int64_t* keep(std::unique_ptr<std::int64_t[]> integers) {
    integers_.push_back(std::move(integers));
    return integers_.back().get();
  }

 private:
  ArrowArray batch_;
  std::vector<std::unique_ptr<std::int64_t[]>> integers_;
  std::vector<std::unique_ptr<std::byte[]>> bytes_;
};

/// The values of a column that is delivered as codes, by code. Grows with the dictionaries of the batches.
class Categories {
 public:
  std::int32_t code_of(std::string_view value);
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }

 private:
  std::vector<std::string> values_;
  std::unordered_map<std::string, std::int32_t> codes_;
};

/// Reads one tensor of a record batch into columns of a row block.
class BatchReader {
 public:
  /// `categories`: of a column that is delivered as codes. All arguments must outlive this object.
  BatchReader(const Column& column, Kept& kept, Categories* categories)
      : column_{column}, kept_{kept}, categories_{categories} {}

  /// Fails with the first row of the batch that cannot be delivered as Place::record.
  [[nodiscard]] Result<RowColumn> read();
  /// The boolean column that says which rows are no nulls. Called after `read`.
  [[nodiscard]] RowColumn present() const;

 private:
  /// The elements of all rows. `picked`: their numbers in the array, when some are left out.
  struct Elements {
    View view;
    Valid valid = {};  // of the view
    std::vector<std::int64_t> picked = {};
    bool picks = false;
    [[nodiscard]] std::int64_t count() const { return picks ? std::ssize(picked) : view.count; }
    [[nodiscard]] std::int64_t number(std::int64_t i) const { return picks ? picked[static_cast<std::size_t>(i)] : i; }
    [[nodiscard]] bool is_valid(std::int64_t number) const {
      return valid.empty() || valid[static_cast<std::size_t>(number)] != 0;
    }
  };
  [[nodiscard]] Result<View> reach();
  [[nodiscard]] Result<Elements> items_of(const View& lists, RowColumn& out);
  void split_rows(RowColumn& out) const;
  [[nodiscard]] Result<void> go_into_fixed(Elements& elements);
  [[nodiscard]] Result<void> decode(Elements elements, RowColumn& out);
  [[nodiscard]] Result<void> check_nulls(const Elements& elements) const;
  [[nodiscard]] Result<void> read_values(const Elements& elements, RowColumn& out);
  void read_numbers(const Elements& elements, RowColumn& out);
  [[nodiscard]] Result<void> read_strings(const Elements& elements, RowColumn& out);
  [[nodiscard]] Result<void> read_codes(const Elements& found, RowColumn& out);
  [[nodiscard]] Result<Elements> look_up(const Elements& codes) const;
  [[nodiscard]] bool rows_are_elements() const { return column_.list == Column::List::none && column_.fixed.empty(); }
  [[nodiscard]] Error null_at(std::int64_t row) const;
  [[nodiscard]] std::int64_t row_of(std::int64_t element) const;

  const Column& column_;
  Kept& kept_;
  Categories* const categories_;
  std::int64_t rows_ = 0;
  Valid valid_;                           // of the rows
  const std::int64_t* splits_ = nullptr;  // of lists: the first of `fixed` lists, or element, of each row
};

}  // namespace forebay::arrow
