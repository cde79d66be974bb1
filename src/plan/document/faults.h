// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/json_codec.h>

#include "base/keep.h"

/// Collects the faults of a document. Planning goes on after a fault, so that the user sees all faults at once.
namespace forebay::plan {

using Faults = std::vector<Error>;

/// Adds a config fault at the place of `found`. (fault_value does the same and begins the message with the value's
/// name.)
void complain(const Json& found, std::string message, Faults& faults);
/// The same of a stage that cannot stand where it does, unless the rows before it are made first. The user is told only
/// where there is no other fault: with one, nobody can say whether they could be.
void misplace(const Json& stage, std::string message, Faults& faults);
[[nodiscard]] bool is_misplaced(const Error& fault);

/// One error for all faults, sorted by line and column; files are in the order of their first fault.
[[nodiscard]] Error together(Faults faults);

/// Adds the faults of `found` that are not in `faults` yet.
void keep_new(const Faults& found, Faults& faults);

/// The search for faults ends at this many: more are not read at once.
inline constexpr std::size_t max_faults = 100;

/// One item of a list, and the JSON that it was read from.
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
