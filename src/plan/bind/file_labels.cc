// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/file_labels.h"

#include <memory>

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

}  // namespace

const sources::LabelledFiles* labels_of(const Source& source) {
  const auto* const files = dynamic_cast<const sources::LabelledFiles*>(source.format.get());
  return files == nullptr || files->tensor.empty() ? nullptr : files;
}

void add_labels(const sources::LabelledFiles& files, const Stages& stages, BoundColumns& columns, Faults& faults) {
  if (columns.schema.find(files.tensor).ok()) {
    complain(*stages.source_stage->options,
             fmt::format("the decoder has a tensor {}, too; give the labels another name", quote(files.tensor)),
             faults);
    return;
  }
  const ColumnId column = columns.schema.put({.name = files.tensor, .dtype = DType::int64, .shape = {}});
  columns.late.push_back({.step = std::make_shared<LabelOfFile>(files, column),
                          .name = std::string{label_step},
                          .pointer = stages.source_stage->json->place().pointer,
                          .reads = {},
                          .makes = {column},
                          .draws = true});
}

}  // namespace forebay::plan
