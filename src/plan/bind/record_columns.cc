// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/record_columns.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

/// Writes the label of each row's file. The plan owns it; any number of workers call it at once.
class LabelOfFile final : public Step {
 public:
  LabelOfFile(const sources::LabelledFiles& files, ColumnId column) : labels_{files.labels}, column_{column} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    if (context.rows == nullptr) return Error{Code::internal, "labels of files are not known before the batch"};
    auto* const out = block[column_].values.as<std::int64_t>();
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const auto file = static_cast<std::size_t>(context.rows->of(row).part);
      if (file >= labels_.size()) return Error{Code::internal, "a row is of no file of the source"};
      out[row] = labels_[file];
    }
    return {};
  }

 private:
  const std::vector<std::int32_t> labels_;
  const ColumnId column_;
};

/// Writes the key of each row's record. Any number of workers call it at once.
class KeyOfRecord final : public Step {
 public:
  explicit KeyOfRecord(ColumnId column) : column_{column} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    if (context.rows == nullptr) return Error{Code::internal, "keys of records are not known before the batch"};
    Column& out = block[column_];
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const std::string key = context.rows->key(row);
      out.push_string(std::as_bytes(std::span{key}));
    }
    out.rows += block.rows;
    return {};
  }

 private:
  const ColumnId column_;
};

/// Adds one tensor. Null: there is one of that name, or it has no name.
std::optional<ColumnId> add_column(ColumnSpec spec, std::string_view option, const Stages& stages,
                                   BoundColumns& columns, Faults& faults) {
  if (!columns.schema.find(spec.name).ok()) return columns.schema.put(std::move(spec));
  const Json& options = *stages.source_stage->options;
  const Json* const at = options.find(option);
  complain(at != nullptr ? *at : options,
           fmt::format("there is a tensor {} of the records, too; choose another name", quote(spec.name)), faults);
  return std::nullopt;
}

void add_step(std::shared_ptr<const Step> step, std::string name, ColumnId column, const Stages& stages,
              BoundColumns& columns) {
  columns.late.push_back({.step = std::move(step),
                          .name = std::move(name),
                          .pointer = stages.source_stage->json->place().pointer,
                          .reads = {},
                          .makes = {column},
                          .asks_record = true});
}

}  // namespace

const sources::LabelledFiles* labels_of(const Source& source) {
  const auto* const files = dynamic_cast<const sources::LabelledFiles*>(source.format.get());
  return files == nullptr || files->tensor.empty() ? nullptr : files;
}

void add_record_columns(const Source& source, const Stages& stages, BoundColumns& columns, Faults& faults) {
  if (const auto* const labels = labels_of(source)) {
    const ColumnSpec spec{.name = labels->tensor,
                          .dtype = DType::int64,
                          .shape = {},
                          .logical = "category",
                          .categories = std::make_shared<const std::vector<std::string>>(labels->classes)};
    if (const auto column = add_column(spec, "label", stages, columns, faults))
      add_step(std::make_shared<LabelOfFile>(*labels, *column), "label_from", *column, stages, columns);
  }
  if (!source.record_key.empty()) {
    const ColumnSpec spec{.name = source.record_key, .dtype = DType::string, .shape = {}};
    if (const auto column = add_column(spec, "record_key", stages, columns, faults))
      add_step(std::make_shared<KeyOfRecord>(*column), "record_key", *column, stages, columns);
  }
}

}  // namespace forebay::plan
