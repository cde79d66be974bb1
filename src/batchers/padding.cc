// SPDX-License-Identifier: Apache-2.0
#include "batchers/padding.h"

namespace forebay::batchers {

Result<bool> read_padding(const Pad& pad, const Schema& in, Batching& batching) {
  if (const bool* all = std::get_if<bool>(&pad)) return *all;
  std::vector<Error> faults;
  std::size_t index = 0;
  for (const PadTensor& entry : std::get<std::vector<PadTensor>>(pad)) {
    const std::string name = std::to_string(index++);
    if (faults.size() >= max_item_faults) break;
    faults.insert(faults.end(), entry.faults.begin(), entry.faults.end());
    if (!entry.faults.empty()) continue;
    const auto column = in.find(entry.tensor);
    if (!column.ok()) {
      faults.push_back(column.error().at(Field{"pad", name, "tensor"}));
      continue;
    }
    const std::size_t rank = in[*column].shape.rank();
    const Shape shape = entry.shape.value_or(Shape{std::vector<std::int64_t>(rank, unknown_dim)});
    if (shape.rank() != rank) {
      faults.push_back(Error{Code::config, Detail::invalid_argument,
                             "expected " + std::to_string(rank) + " pad dimensions for tensor " + entry.tensor +
                                 ", got " + std::to_string(shape.rank())}
                           .at(Field{"pad", name, "shape"}));
      continue;
    }
    batching.padding.emplace_back(entry.tensor, Padding{.shape = shape, .value = entry.value});
    batching.reads.push_back(*column);
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return !batching.padding.empty();
}

Result<bool> read_delivery(const Pad& pad, bool require_equal, const Schema& in, Batching& batching) {
  FOREBAY_TRY(const bool pads, read_padding(pad, in, batching));
  if (pads && require_equal)
    return Error{Code::config, Detail::invalid_argument, "`pad` and `require_equal` exclude each other"};
  if (pads) batching.delivery = Delivery::padded;
  if (require_equal) batching.delivery = Delivery::equal;
  return pads;
}

}  // namespace forebay::batchers
