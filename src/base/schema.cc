// SPDX-License-Identifier: Apache-2.0
#include <forebay/schema.h>

#include <algorithm>

#include <fmt/format.h>
#include <forebay/messages.h>

namespace forebay {

std::size_t Shape::unknown() const {
  return static_cast<std::size_t>(std::count(dims_.begin(), dims_.end(), unknown_dim));
}

void Shape::assign(std::int64_t rows, const Shape& row) {
  dims_.assign(1, rows);
  dims_.insert(dims_.end(), row.dims_.begin(), row.dims_.end());
}

std::int64_t Shape::count() const {
  constexpr std::int64_t ceiling = std::int64_t{1} << 62;
  std::int64_t product = 1;
  bool zero = false;
  for (const std::int64_t dim : dims_) {
    if (dim == unknown_dim) continue;
    zero = zero || dim == 0;
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(dim, 1), &product) || product > ceiling)
      product = ceiling;
  }
  return zero ? 0 : product;
}

std::string Shape::text() const {
  std::string out = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    out += (i == 0 ? "" : ",") + (dims_[i] == unknown_dim ? std::string{"?"} : std::to_string(dims_[i]));
  }
  return out + "]";
}

Result<ColumnId> Schema::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const ColumnId id : visible_) {
    if ((*this)[id].name == name) return id;
    names.push_back((*this)[id].name);
  }
  const std::string hint = nearest(name, names);
  return Error{
      Code::config, Detail::invalid_argument,
      fmt::format("there is no tensor '{}'; {}{}", name, hint.empty() ? "" : fmt::format("did you mean '{}'? ", hint),
                  names.empty() ? "none is defined here" : fmt::format("defined here: {}", fmt::join(names, ", ")))};
}

ColumnId Schema::put(ColumnSpec column) {
  const auto id = static_cast<ColumnId>(columns_.size());
  const auto old =
      std::find_if(visible_.begin(), visible_.end(), [&](ColumnId at) { return (*this)[at].name == column.name; });
  columns_.push_back(std::move(column));
  if (old == visible_.end()) {
    visible_.push_back(id);
  } else {
    *old = id;
  }
  return id;
}

void Schema::hide(ColumnId id) { std::erase(visible_, id); }

void Schema::rename(ColumnId id, std::string name) { columns_[static_cast<std::size_t>(id)].name = std::move(name); }

void Schema::keep(std::vector<ColumnId> ids) { visible_ = std::move(ids); }

}  // namespace forebay
