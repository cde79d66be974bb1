// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
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

/// A window step. It is bound with the columns.
struct WindowItem {
  Stage stage;
  const WindowType* type = nullptr;
  std::size_t steps_before = 0;    ///< Number of Stages::before that stand before it.
  std::size_t orders_before = 0;   ///< Number of Stages::record_orders that stand before it.
  bool before_interleave = false;  ///< The document lists `interleave` after it.
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
  std::vector<OrderStage> selecting;     ///< Filters before an `interleave` that reads by index.
  std::optional<OrderStage> interleave;  ///< Unset: one file after the other.
  std::vector<OrderStage> record_orders;
  std::size_t orders_in_parts = 0;  ///< Those of them that the document lists before `interleave`.
  std::vector<WindowItem> windows;
  std::vector<StepStage> before;  ///< Steps before the batch.
  std::optional<Stage> batch_stage;
  const BatcherType* batcher = nullptr;
  std::vector<OrderStage> batch_orders;  ///< Orders on batches, after the batch.
  std::vector<StepStage> after;          ///< Steps after the batch.
  std::shared_ptr<const Json> decided;   ///< The decoder's options with those that the source decides, or null.
};

/// Section of a plan's hash: the options of the decoder with those that the source decides.
inline constexpr std::string_view decided_section = "fields";

/// Gives the decoder the options that the source decides. A fault for each that the document gives as well.
void decide_options(const Source& source, Stages& stages, Faults& faults);

/// Calls `look` for every order that may need attributes, in the order of the attributes of a program.
template <class Look>
void for_each_order(const Stages& stages, const Look& look) {
  for (const OrderStage& order : stages.selecting) look(order);
  if (stages.interleave) look(*stages.interleave);
  for (const OrderStage& order : stages.record_orders) look(order);
}

[[nodiscard]] std::vector<Ordering> orderings(const std::vector<OrderStage>& stages);

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
