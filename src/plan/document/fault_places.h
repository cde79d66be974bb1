// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/document/faults.h"

namespace forebay::plan {

/// The fault of binding `options` with the place of the very option that it is about, as far as that can be told: by a
/// pointer from the options on ("/files/0", without a line), by a pointer from the document's root, or by a message
/// that begins with the option's name ("tensor: there is none"), which the pointer then says.
[[nodiscard]] Error at_option(const Error& fault, const Json& options);

/// The value, or nothing and its faults kept, each with the place of the option that it is about.
template <class T>
std::optional<T> keep_at(Result<T> result, const Json& options, Faults& faults) {
  if (result.ok()) return *std::move(result);
  Faults found;
  keep(result.error(), found);
  for (const Error& fault : found) faults.push_back(at_option(fault, options));
  return std::nullopt;
}

/// Adds those of `found` that are not there yet.
void keep_new(const Faults& found, Faults& faults);

/// The value that the pointer leads to from `json` on; null where there is none.
[[nodiscard]] const Json* find_pointer(const Json& json, std::string_view pointer);

/// The first token of a pointer ("/a~1b/c" → "a/b"), which is taken off it.
[[nodiscard]] std::string take_token(std::string_view& pointer);

}  // namespace forebay::plan
