// SPDX-License-Identifier: Apache-2.0
#include "sources/arrow/batch_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay::arrow {
namespace {

constexpr std::int64_t max_values = std::int64_t{1} << 40;  // of a batch: elements of lists of one size

/// A code of a dictionary, which is an integer of any size.
std::int64_t code_at(const View& view, const ValueType& type, std::int64_t i) {
  const std::byte* const data = view.buffer(1);
  const std::int64_t place = view.at() + i;
  switch (type.dtype) {
    case DType::int8:
      return number_at<std::int8_t>(data, place);
    case DType::uint8:
      return number_at<std::uint8_t>(data, place);
    case DType::int16:
      return number_at<std::int16_t>(data, place);
    case DType::uint16:
      return number_at<std::uint16_t>(data, place);
    case DType::int32:
      return number_at<std::int32_t>(data, place);
    case DType::uint32:
      return number_at<std::uint32_t>(data, place);
    default:
      return number_at<std::int64_t>(data, place);  // above 2^63 it is negative, and refused
  }
}

/// Copies element `from` of an array.
void copy_element(const View& view, const ValueType& type, std::int64_t from, std::byte* to) {
  if (type.layout == Layout::bits) {
    *to = bit_at(view.buffer(1), view.at() + from) ? std::byte{1} : std::byte{0};
  } else if (type.layout == Layout::truths) {
    *to = number_at<std::uint8_t>(view.buffer(1), view.at() + from) != 0 ? std::byte{1} : std::byte{0};
  } else if (type.layout == Layout::widened) {
    const std::int64_t wide = number_at<std::int32_t>(view.buffer(1), view.at() + from);
    std::memcpy(to, &wide, sizeof(wide));
  } else {
    const auto width = static_cast<std::size_t>(type.width);
    std::memcpy(to, view.buffer(1) + (view.at() + from) * type.width, width);
  }
}

}  // namespace

std::int32_t Categories::code_of(std::string_view value) {
  const auto [at, added] = codes_.try_emplace(std::string{value}, static_cast<std::int32_t>(values_.size()));
  if (added) values_.emplace_back(value);
  return at->second;
}

Error BatchReader::null_at(std::int64_t row) const {
  const std::string name = quote(column_.name);
  return Error{Code::data, Detail::invalid_argument,
               fmt::format("column {} has a null; give its nulls a value with 'nulls', or a column that says where "
                           "they are with 'present'",
                           name),
               Place{.record = row, .feature = column_.name}};
}

std::int64_t BatchReader::row_of(std::int64_t element) const {
  const std::int64_t outer = element / std::max<std::int64_t>(1, column_.fixed_count());
  return splits_ == nullptr ? outer : std::upper_bound(splits_, splits_ + rows_ + 1, outer) - splits_ - 1;
}

Result<RowColumn> BatchReader::read() {
  RowColumn out;
  FOREBAY_TRY(const View top, reach());
  Elements elements{.view = top};
  if (column_.list != Column::List::none) {
    FOREBAY_TRY(elements, items_of(top, out));
  } else {
    elements.valid = valid_;
  }
  FOREBAY_DO(go_into_fixed(elements));
  if (splits_ != nullptr) split_rows(out);
  FOREBAY_DO(decode(std::move(elements), out));
  return out;
}

/// Goes through the structs to the array of the column. The nulls of all of them are nulls of the row.
Result<View> BatchReader::reach() {
  const ArrowArray* array = &kept_.batch();
  std::int64_t first = 0;
  rows_ = array->length;
  for (const std::int64_t child : column_.path) {
    FOREBAY_TRY(const View at, view_of(array, first, rows_, array->n_buffers > 0 ? 1 : 0, array->n_children));
    if (child >= array->n_children) return bad_array("a batch has fewer columns than the schema");
    take_out_nulls(at, valid_);
    first += array->offset;
    array = array->children[child];
  }
  return view_of(array, first, rows_, 0, array == nullptr ? 0 : array->n_children);
}

/// Writes where the rows of lists lie among their items, and returns the items.
Result<BatchReader::Elements> BatchReader::items_of(const View& lists, RowColumn& out) {
  FOREBAY_TRY(const View view, view_of(lists.array, lists.first, lists.count, 2, 1));
  take_out_nulls(view, valid_);
  std::int64_t* const offsets = kept_.integers(rows_ + 1);
  offsets[0] = 0;
  if (rows_ > 0 && view.buffer(1) == nullptr) return bad_array("its lists have no offsets");
  if (rows_ > 0)
    FOREBAY_DO(read_offsets(view.buffer(1), column_.list == Column::List::large, view.at(), rows_, offsets));
  const ArrowArray* const items = view.array->children[0];
  Elements elements;
  FOREBAY_TRY(elements.view,
              view_of(items, offsets[0], offsets[rows_] - offsets[0], 0, items == nullptr ? 0 : items->n_children));
  std::int64_t* const lengths = kept_.integers(rows_);
  std::int64_t* const splits = kept_.integers(rows_ + 1);
  splits[0] = 0;
  for (std::int64_t row = 0; row < rows_; ++row) {
    const bool is_null = !valid_.empty() && valid_[static_cast<std::size_t>(row)] == 0;
    if (is_null && !column_.filled) return null_at(row);
    lengths[row] = is_null ? 0 : offsets[row + 1] - offsets[row];
    splits[row + 1] = splits[row] + lengths[row];
  }
  elements.picks = splits[rows_] != elements.view.count;  // lists that are null have items, which are left out
  for (std::int64_t row = 0; elements.picks && row < rows_; ++row) {
    for (std::int64_t i = 0; i < lengths[row]; ++i) elements.picked.push_back(offsets[row] - offsets[0] + i);
  }
  splits_ = splits;
  out.dims = lengths;
  return elements;
}

/// Where the rows of lists begin, in elements. Called when the elements were counted and checked.
void BatchReader::split_rows(RowColumn& out) const {
  const std::int64_t each = column_.fixed_count();
  std::int64_t* const splits = kept_.integers(rows_ + 1);
  for (std::int64_t row = 0; row <= rows_; ++row) splits[row] = splits_[row] * each;
  out.row_splits = splits;
}

/// From lists of one size to their items.
Result<void> BatchReader::go_into_fixed(Elements& elements) {
  bool rows = column_.list == Column::List::none;  // the lists are those of the rows
  for (const std::int64_t size : column_.fixed) {
    FOREBAY_TRY(const View view, view_of(elements.view.array, elements.view.first, elements.view.count, 1, 1));
    take_out_nulls(view, elements.valid);
    if (std::exchange(rows, false)) valid_ = elements.valid;
    const std::int64_t places = view.at() + view.count;
    if (size > 0 && places > max_values / size) return bad_array(fmt::format("{} lists of {} items", places, size));
    const ArrowArray* const items = view.array->children[0];
    FOREBAY_TRY(elements.view,
                view_of(items, view.at() * size, view.count * size, 0, items == nullptr ? 0 : items->n_children));
    if (!elements.valid.empty()) {
      Valid spread;
      for (const std::uint8_t valid : elements.valid)
        spread.insert(spread.end(), static_cast<std::size_t>(size), valid);
      elements.valid = std::move(spread);
    }
    if (elements.picks) {
      std::vector<std::int64_t> spread;
      for (const std::int64_t place : elements.picked) {
        for (std::int64_t i = 0; i < size; ++i) spread.push_back(place * size + i);
      }
      elements.picked = std::move(spread);
    }
  }
  return {};
}

/// From codes to values, if there are codes, and to the column.
Result<void> BatchReader::decode(Elements elements, RowColumn& out) {
  FOREBAY_TRY(elements.view, values_view(elements.view.array, elements.view.first, elements.view.count,
                                         column_.codes ? *column_.codes : column_.values));
  take_out_nulls(elements.view, elements.valid);
  if (rows_are_elements()) valid_ = elements.valid;
  FOREBAY_DO(check_nulls(elements));
  if (!column_.codes) return read_values(elements, out);
  FOREBAY_TRY(const Elements found, look_up(elements));
  if (rows_are_elements()) {
    valid_.resize(static_cast<std::size_t>(rows_));
    for (std::int64_t i = 0; i < rows_; ++i)
      valid_[static_cast<std::size_t>(i)] = found.is_valid(found.number(i)) ? 1 : 0;
  }
  return column_.as_codes ? read_codes(found, out) : read_values(found, out);
}

Result<void> BatchReader::check_nulls(const Elements& elements) const {
  if (column_.filled || elements.valid.empty()) return {};
  for (std::int64_t i = 0; i < elements.count(); ++i) {
    if (!elements.is_valid(elements.number(i))) return null_at(row_of(i));
  }
  return {};
}

/// The elements of the dictionary that the codes name. Nulls name the place after its end.
Result<BatchReader::Elements> BatchReader::look_up(const Elements& codes) const {
  const ArrowArray* const dictionary = codes.view.array->dictionary;
  if (dictionary == nullptr) return bad_array("its dictionary is missing");
  Elements out;
  FOREBAY_TRY(out.view, values_view(dictionary, 0, dictionary->length, column_.values));
  take_out_nulls(out.view, out.valid);
  out.valid.resize(static_cast<std::size_t>(out.view.count), 1);
  out.valid.push_back(0);
  out.picks = true;
  out.picked.reserve(static_cast<std::size_t>(codes.count()));
  for (std::int64_t i = 0; i < codes.count(); ++i) {
    const std::int64_t number = codes.number(i);
    const bool valid = codes.is_valid(number);
    const std::int64_t code = valid ? code_at(codes.view, *column_.codes, number) : out.view.count;
    if (code < 0 || code > out.view.count || (valid && code == out.view.count))
      return bad_array(fmt::format("code {} of a dictionary of {} values", code, out.view.count));
    out.picked.push_back(code);
  }
  FOREBAY_DO(check_nulls(out));
  return out;
}

Result<void> BatchReader::read_values(const Elements& elements, RowColumn& out) {
  if (column_.values.dtype == DType::string) return read_strings(elements, out);
  read_numbers(elements, out);
  return {};
}

void BatchReader::read_numbers(const Elements& elements, RowColumn& out) {
  const auto size = static_cast<std::int64_t>(size_of(column_.values.dtype));
  out.row_stride = column_.fixed_count() * size;
  if (column_.values.layout == Layout::numbers && !elements.picks && elements.valid.empty()) {
    out.data = elements.view.buffer(1);
    if (out.data != nullptr) out.data += elements.view.at() * size;
    return;
  }
  std::byte* to = kept_.bytes(elements.count() * size);
  out.data = to;
  for (std::int64_t i = 0; i < elements.count(); ++i, to += size) {
    const std::int64_t from = elements.number(i);
    if (elements.is_valid(from)) {
      copy_element(elements.view, column_.values, from, to);
    } else {
      std::memcpy(to, column_.filled->data(), static_cast<std::size_t>(size));
    }
  }
}

Result<void> BatchReader::read_strings(const Elements& elements, RowColumn& out) {
  FOREBAY_TRY(Strings strings, Strings::make(column_.values, elements.view));
  if (column_.values.layout != Layout::views && !elements.picks && elements.valid.empty()) {
    out.bytes = strings.bytes();
    out.byte_splits = kept_.keep(strings.take_splits());
    return {};
  }
  const auto string_at = [&](std::int64_t i) {
    const std::int64_t from = elements.number(i);
    if (elements.is_valid(from)) return strings[from];
    return std::string_view{reinterpret_cast<const char*>(column_.filled->data()), column_.filled->size()};
  };
  std::int64_t* const splits = kept_.integers(elements.count() + 1);
  splits[0] = 0;
  for (std::int64_t i = 0; i < elements.count(); ++i)
    splits[i + 1] = splits[i] + static_cast<std::int64_t>(string_at(i).size());
  std::byte* const bytes = kept_.bytes(splits[elements.count()]);
  for (std::int64_t i = 0; i < elements.count(); ++i) {
    const std::string_view text = string_at(i);
    if (!text.empty()) std::memcpy(bytes + splits[i], text.data(), text.size());
  }
  out.byte_splits = splits;
  out.bytes = bytes;
  return {};
}

/// Codes of this batch's dictionary become those of the column.
Result<void> BatchReader::read_codes(const Elements& found, RowColumn& out) {
  FOREBAY_TRY(const Strings strings, Strings::make(column_.values, found.view));
  std::vector<std::int32_t> map;
  for (std::int64_t i = 0; i < found.view.count; ++i)
    map.push_back(found.is_valid(i) ? categories_->code_of(strings[i]) : -1);
  map.push_back(-1);
  out.row_stride = column_.fixed_count() * std::int64_t{sizeof(std::int32_t)};
  std::byte* to = kept_.bytes(found.count() * std::int64_t{sizeof(std::int32_t)});
  out.data = to;
  for (const std::int64_t place : found.picked) {
    std::int32_t code = map[static_cast<std::size_t>(place)];
    if (code < 0)
      code = categories_->code_of({reinterpret_cast<const char*>(column_.filled->data()), column_.filled->size()});
    std::memcpy(to, &code, sizeof(code));
    to += sizeof(code);
  }
  return {};
}

RowColumn BatchReader::present() const {
  std::byte* const out = kept_.bytes(rows_);
  for (std::int64_t row = 0; row < rows_; ++row)
    out[row] = valid_.empty() ? std::byte{1} : std::byte{valid_[static_cast<std::size_t>(row)]};
  return {.data = out, .row_stride = 1};
}

}  // namespace forebay::arrow
