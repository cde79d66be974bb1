// SPDX-License-Identifier: Apache-2.0
#include "plan/document/branch_document.h"

namespace forebay {

template <>
struct FieldsOf<plan::BranchDocument> {
  static const Fields<plan::BranchDocument>& get() {
    using Document = plan::BranchDocument;
    static const Fields<Document> fields =
        Fields<Document>{}
            .required("source", &Document::source, "Which records: {format: options}.")
            .field("decode", &Document::decode,
                   "How a record becomes tensors: {decoder: options}; left out where rows come ready.")
            .field("steps", &Document::steps,
                   "What happens before the combination: a list of {step or order: options}.")
            .field("repeat", &Document::repeat,
                   "The branch begins its next epoch by itself, in the middle of a pass of the combination.")
            .field("on_corrupt", &Document::on_corrupt,
                   "What a corrupt record of the branch does; null: as the document says.");
    return fields;
  }
};

namespace plan {

BranchDocument read_branch(const Json& json, Faults& faults) {
  return JsonCodec<BranchDocument>::read(json, faults).value_or(BranchDocument{});
}

PipelineDocument around_branch(PipelineDocument whole, const BranchDocument& branch) {
  if (branch.repeat) whole.epochs = std::nullopt;
  if (branch.on_corrupt) whole.on_corrupt = *branch.on_corrupt;
  return whole;
}

const std::vector<FieldInfo>& branch_infos() { return FieldsOf<BranchDocument>::get().infos(); }

Json branch_schema() { return JsonCodec<BranchDocument>::schema(); }

}  // namespace plan
}  // namespace forebay
