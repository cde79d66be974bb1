// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <forebay/plugin.h>

#include "plan/document/pipeline_document.h"

namespace forebay::plan {

/// An item of `steps` that acts on columns.
struct StepStage {
  Stage stage;
  const StepType* type = nullptr;  ///< Null: the item names no plug-in, so it may do anything.
};

/// An order. It is bound at once, because orders do not depend on columns.
struct OrderStage {
  Stage stage;
  Ordering ordering;
  std::size_t steps_before = 0;  ///< Number of Stages::before that stand before it.
};

/// The plug-ins of a pipeline document, sorted by what they act on. Points into the document and the registry, which
/// must outlive it.
struct Stages {
  std::optional<Stage> source_stage;
  const SourceType* source = nullptr;
  const CombineType* combination = nullptr;  ///< Instead of `source`: the source stage combines branches.
  std::optional<Stage> decoder_stage;
  const DecoderType* decoder = nullptr;
  std::vector<OrderStage> file_orders;
  std::optional<OrderStage> interleave;  ///< Unset: one file after the other.
  std::vector<OrderStage> record_orders;
  std::vector<StepStage> before;  ///< Steps before the batch.
  std::optional<Stage> batch_stage;
  const BatcherType* batcher = nullptr;
  std::vector<StepStage> after;  ///< Steps after the batch.
};

/// A whole document, or a branch of a combination, which makes no batches.
enum class DocumentKind : std::uint8_t { whole, branch };

/// Looks up every plug-in of a document, and checks that each stands where it may stand.
[[nodiscard]] Stages read_stages(const Json& document, const Registry& registry, Faults& faults,
                                 DocumentKind kind = DocumentKind::whole);

/// The order of a document without `interleave`: one file after the other.
[[nodiscard]] Ordering in_file_order(const Registry& registry);

/// The type of that name, or null.
template <class Type>
const Type* find_type(const std::vector<Type>& types, std::string_view name) {
  for (const Type& type : types) {
    if (type.description.name == name) return &type;
  }
  return nullptr;
}

}  // namespace forebay::plan
