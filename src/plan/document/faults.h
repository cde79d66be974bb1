// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/json_codec.h>

#include "base/keep.h"

/// Collecting what is wrong with a document: planning goes on after a fault, so that one run names all of them.
namespace forebay::plan {

using Faults = std::vector<Error>;

/// A config fault at the place of `found`, in the given words (fault_value puts the value's name in front).
void complain(const Json& found, std::string message, Faults& faults);

/// One error for all of them, by line and column; files in the order in which they are first named.
[[nodiscard]] Error together(Faults faults);

/// "; did you mean 'x'?", or nothing when no candidate is near.
[[nodiscard]] std::string hint(std::string_view name, std::span<const std::string> candidates);

/// The same, and what there is: "; did you mean 'x'? <words>: x, y, z".
[[nodiscard]] std::string among(std::string_view name, std::span<const std::string> candidates, std::string_view words);

/// Where looking for more faults ends: what a person reads at once.
inline constexpr std::size_t max_faults = 100;

/// One item of a list that was read, and where it stood.
template <class T>
struct Item {
  T value;
  const Json* json = nullptr;
};

/// Reads the items of a list one by one, so that a wrong one does not hide the others.
template <class T>
std::vector<Item<T>> read_items(const Json* list, Faults& faults) {
  std::vector<Item<T>> out;
  if (list == nullptr || !list->is(Json::Kind::array)) return out;
  const std::size_t before = faults.size();
  for (const Json& json : list->items()) {
    if (auto value = JsonCodec<T>::read(json, faults)) out.push_back({*std::move(value), &json});
    if (faults.size() - before >= max_item_faults) break;
  }
  return out;
}

}  // namespace forebay::plan
