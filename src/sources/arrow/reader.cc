// SPDX-License-Identifier: Apache-2.0
#include "sources/arrow/reader.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "sources/arrow/batch_reader.h"

namespace forebay {
namespace {

ColumnSpec spec_of(const arrow::Column& column) {
  ColumnSpec out{.name = column.name, .dtype = column.dtype()};
  std::vector<std::int64_t> sizes = column.sizes;
  if (column.list != arrow::Column::List::none) {
    sizes.insert(sizes.begin(), unknown_dim);
    out.delivery = Delivery::ragged;
  }
  out.shape = Shape{std::move(sizes)};
  out.logical = column.as_codes ? "category" : column.values.logical;
  return out;
}

/// The type of a column in one text: formats, and the names of the fields of structs.
std::string type_text(const ArrowSchema& type, int depth) {
  std::string out = type.format == nullptr ? "" : type.format;
  if (depth > 32) return out;
  if (type.dictionary != nullptr) out += fmt::format("={}", type_text(*type.dictionary, depth + 1));
  for (std::int64_t i = 0; type.children != nullptr && i < type.n_children; ++i) {
    const ArrowSchema* const child = type.children[i];
    if (child == nullptr) continue;
    const bool named = out.starts_with("+s") && child->name != nullptr;
    out += fmt::format("{}{}:{}", i == 0 ? "<" : ",", named ? child->name : "", type_text(*child, depth + 1));
  }
  return type.n_children > 0 ? out + ">" : out;
}

}  // namespace

Result<ArrowReader> ArrowReader::make(const ArrowSchema& schema, const Arrow& options, bool projected) {
  FOREBAY_TRY(auto plan, Plan::make(schema, options, false, projected));
  return ArrowReader{std::move(plan)};
}

Result<void> ArrowReader::check(const ArrowSchema& schema) const {
  const auto columns = static_cast<std::size_t>(std::max<std::int64_t>(0, schema.n_children));
  if (columns != plan_->fields.size() || (columns > 0 && schema.children == nullptr))
    return arrow::bad_array(fmt::format("a batch of {} columns, expected {}", columns, plan_->fields.size()));
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string found = schema.children[i] == nullptr ? "nothing" : type_text(*schema.children[i], 0);
    if (found == plan_->types[i]) continue;
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("column {} is of type {}, and the table was planned with {}", quote(plan_->fields[i]),
                             quote(found), quote(plan_->types[i]))};
  }
  return {};
}

Result<std::shared_ptr<ArrowReader::Plan>> ArrowReader::Plan::make(const ArrowSchema& schema, const Arrow& options,
                                                                   bool in_memory, bool projected) {
  FOREBAY_TRY(auto columns, arrow::columns_of(schema, options, in_memory));
  auto plan = std::make_shared<Plan>();
  for (arrow::Column& column : columns) {
    plan->schema.put(spec_of(column));
    if (column.present) {
      const std::string name = arrow::present_name(column.name);
      if (std::ranges::any_of(columns, [&](const arrow::Column& other) { return other.name == name; }))
        return Error{Code::config, Detail::invalid_argument, fmt::format("the table has a column {}", quote(name))};
      plan->schema.put({.name = name, .dtype = DType::boolean, .shape = {}});
    }
    const ArrowSchema* const top = schema.children[column.path.front()];
    const std::string field = top->name == nullptr ? "" : top->name;
    if (plan->fields.empty() || plan->fields.back() != field) {
      plan->fields.push_back(field);
      plan->types.push_back(type_text(*top, 0));
    }
    if (projected) column.path.front() = std::ssize(plan->fields) - 1;
  }
  plan->columns = std::move(columns);
  return plan;
}

ArrowReader::ArrowReader(std::shared_ptr<const Plan> plan) : plan_{std::move(plan)} {}
const Schema& ArrowReader::schema() const { return plan_->schema; }
const std::vector<std::string>& ArrowReader::fields() const { return plan_->fields; }

Result<std::shared_ptr<const RowBlock>> ArrowReader::read(ArrowArray& batch) const { return plan_->read(batch, {}, 0); }

Result<std::shared_ptr<const RowBlock>> ArrowReader::Plan::read(ArrowArray& batch,
                                                                std::span<arrow::Categories> categories,
                                                                std::int64_t first_row) const {
  if (batch.release == nullptr) return arrow::bad_array("it was released");
  auto kept = std::make_shared<arrow::Kept>(batch);
  const ArrowArray& whole = kept->batch();
  FOREBAY_DO(arrow::view_of(&whole, 0, whole.length, 0, whole.n_children));
  auto block = std::make_shared<RowBlock>();
  block->rows = whole.length;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    arrow::BatchReader reader{columns[i], *kept, categories.empty() ? nullptr : &categories[i]};
    auto column = reader.read();
    if (!column.ok()) {
      const Error& error = column.error();
      Place place = error.place();
      place.feature = columns[i].name;
      if (place.record >= 0) place.record += first_row;
      return Error{error.code(), error.detail(), error.message(), std::move(place)};
    }
    block->columns.push_back(*std::move(column));
    if (columns[i].present) block->columns.push_back(reader.present());
  }
  block->owner = std::move(kept);
  return std::shared_ptr<const RowBlock>{std::move(block)};
}

}  // namespace forebay
