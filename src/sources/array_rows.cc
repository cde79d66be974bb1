// SPDX-License-Identifier: Apache-2.0
#include <forebay/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <forebay/messages.h>

namespace forebay {
namespace {

constexpr std::size_t max_axes = 16;  // of a row

Error bad_array(const ArrayView& array, const std::string& what) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("array {}: {}", quote(array.name), what)};
}

/// The number of elements of all rows; fails when it, or the bytes that it takes, is no 63-bit number.
Result<std::int64_t> elements_of(const ArrayView& array) {
  std::int64_t count = std::max<std::int64_t>(1, static_cast<std::int64_t>(size_of(array.dtype)));
  for (const std::int64_t size : array.shape) {
    if (size < 0) return bad_array(array, fmt::format("a size is negative: {}", size));
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(1, size), &count))
      return bad_array(array, fmt::format("[{}] has more than 2^63 bytes", fmt::join(array.shape, ",")));
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : array.shape) elements *= size;
  return elements;
}

Result<void> check_strings(const ArrayView& array, std::int64_t elements) {
  const auto& splits = array.byte_splits;
  if (std::ssize(splits) != elements + 1)
    return bad_array(array,
                     fmt::format("{} strings need {} byte splits, found {}", elements, elements + 1, splits.size()));
  if (splits.front() < 0 || !std::is_sorted(splits.begin(), splits.end()))
    return bad_array(array, "byte splits must be 0 or more, and ascend");
  if (splits.back() > 0 && array.data == nullptr) return bad_array(array, "its strings have no bytes");
  return {};
}

Result<void> check_row_splits(const ArrayView& array) {
  const std::vector<std::int64_t>& splits = *array.row_splits;
  if (splits.empty()) return bad_array(array, "row splits begin with the first item of the first row; found none");
  if (!std::is_sorted(splits.begin(), splits.end()))
    return bad_array(array, "row splits must ascend: each row begins where the one before ends");
  if (splits.front() < 0 || splits.back() > array.shape.front())
    return bad_array(array, fmt::format("row splits from {} to {} lie outside of the {} items", splits.front(),
                                        splits.back(), array.shape.front()));
  std::int64_t step = static_cast<std::int64_t>(size_of(array.dtype));
  for (std::size_t axis = array.strides.size(); axis-- > 0;) {
    if (array.shape[axis] > 1 && array.strides[axis] != step)
      return bad_array(array, "the items of rows of different lengths must follow one another without gaps");
    step *= array.shape[axis];
  }
  return {};
}

Result<void> check_array(const ArrayView& array) {
  if (array.name.empty()) return bad_array(array, "a name must not be empty");
  if (array.shape.empty()) return bad_array(array, "the first axis counts the rows, but it has no axis");
  if (array.shape.size() > max_axes + 1)
    return bad_array(array, fmt::format("{} axes; at most {} are allowed", array.shape.size(), max_axes + 1));
  FOREBAY_TRY(const std::int64_t elements, elements_of(array));
  if (array.dtype == DType::string) FOREBAY_DO(check_strings(array, elements));
  if (array.dtype != DType::string && elements > 0 && array.data == nullptr)
    return bad_array(array, "it has elements but no memory");
  if (!array.strides.empty() && array.strides.size() != array.shape.size())
    return bad_array(array, fmt::format("{} strides for {} axes", array.strides.size(), array.shape.size()));
  return array.row_splits ? check_row_splits(array) : Result<void>{};
}

std::int64_t rows_of_array(const ArrayView& array) {
  return array.row_splits ? std::ssize(*array.row_splits) - 1 : array.shape.front();
}

/// Whether the rows are row-major without gaps.
bool plain_rows(const ArrayView& array, const Shape& row) {
  auto step = static_cast<std::int64_t>(size_of(array.dtype));
  for (std::size_t axis = row.rank(); axis-- > 0;) {
    if (row[axis] != 1 && array.strides[axis + 1] != step) return false;
    step *= row[axis];
  }
  return true;
}

/// What the block's columns point into, besides the arrays.
struct Kept {
  std::shared_ptr<const void> arrays;
  std::vector<std::vector<std::int64_t>> integers;

  const std::int64_t* keep(std::vector<std::int64_t> some) {
    integers.push_back(std::move(some));
    return integers.back().data();
  }
};

/// Fills in where the rows of different lengths lie, and how long they are.
void split_rows(const ArrayView& array, RowColumn& out, Kept& kept) {
  std::int64_t item = 1;  // elements
  for (std::size_t axis = 1; axis < array.shape.size(); ++axis) item *= array.shape[axis];
  std::vector<std::int64_t> splits = *array.row_splits;
  std::vector<std::int64_t> lengths;
  lengths.reserve(splits.size());
  for (std::size_t row = 0; row + 1 < splits.size(); ++row) lengths.push_back(splits[row + 1] - splits[row]);
  for (std::int64_t& split : splits) split *= item;
  out.row_splits = kept.keep(std::move(splits));
  out.dims = kept.keep(std::move(lengths));
}

RowColumn column_of(ArrayView& array, const Shape& row, Kept& kept) {
  RowColumn out;
  if (array.row_splits) split_rows(array, out, kept);
  if (array.dtype == DType::string) {
    out.byte_splits = kept.keep(std::move(array.byte_splits));
    out.bytes = static_cast<const std::byte*>(array.data);
    return out;
  }
  out.data = static_cast<const std::byte*>(array.data);
  const auto size = static_cast<std::int64_t>(size_of(array.dtype));
  if (array.row_splits) {
    out.swapped = array.swapped && size > 1;
    return out;
  }
  if (array.strides.empty()) {
    out.row_stride = row.count() * size;
  } else {
    out.row_stride = array.strides.front();
    if (!plain_rows(array, row)) out.strides.assign(array.strides.begin() + 1, array.strides.end());
  }
  out.swapped = array.swapped && size > 1;
  return out;
}

Result<std::int64_t> check_arrays(const std::vector<ArrayView>& arrays) {
  if (arrays.empty()) return Error{Code::config, Detail::invalid_argument, "there is no array"};
  std::vector<Error> faults;
  std::set<std::string> names;
  for (const ArrayView& array : arrays) {
    if (auto good = check_array(array); !good.ok()) {
      faults.push_back(good.error());
    } else if (rows_of_array(array) != rows_of_array(arrays.front())) {
      faults.push_back(bad_array(array, fmt::format("{} rows, but array {} has {}", rows_of_array(array),
                                                    quote(arrays.front().name), rows_of_array(arrays.front()))));
    }
    if (!names.insert(array.name).second) faults.push_back(bad_array(array, "the name is given twice"));
    if (faults.empty()) continue;
    if (arrays.front().shape.empty()) break;  // the numbers of rows cannot be compared
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return rows_of_array(arrays.front());
}

}  // namespace

Source rows_of(std::shared_ptr<const RowSource> rows) {
  Source out;
  for (const RowPart& part : rows->parts) out.files.push_back(part.name);
  out.rows = std::move(rows);
  return out;
}

Result<std::shared_ptr<const RowSource>> array_rows(std::vector<ArrayView> arrays, std::shared_ptr<const void> owner,
                                                    std::string name) {
  FOREBAY_TRY(const std::int64_t rows, check_arrays(arrays));
  auto kept = std::make_shared<Kept>();
  kept->arrays = std::move(owner);
  kept->integers.reserve(3 * arrays.size());  // columns point into them
  auto block = std::make_shared<RowBlock>();
  auto source = std::make_shared<RowSource>();
  block->rows = rows;
  for (ArrayView& array : arrays) {
    std::vector<std::int64_t> sizes(array.shape.begin() + (array.row_splits ? 0 : 1), array.shape.end());
    if (array.row_splits) sizes.front() = unknown_dim;
    Shape row{std::move(sizes)};
    block->columns.push_back(column_of(array, row, *kept));
    source->schema.put({.name = array.name,
                        .dtype = array.dtype,
                        .shape = std::move(row),
                        .delivery = array.row_splits ? Delivery::ragged : Delivery::equal});
  }
  block->owner = std::move(kept);
  source->parts.push_back({.name = std::move(name), .rows = std::move(block)});
  return std::shared_ptr<const RowSource>{std::move(source)};
}

}  // namespace forebay
