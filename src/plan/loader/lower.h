// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "plan/loader/loader_document.h"

namespace forebay::plan {

/// The pipeline document of a loader document. Every value has the place of the value in the loader document, or in the
/// manifest, that it is from, so that later faults point into these files.
[[nodiscard]] Json lower(const CheckedLoader& loader);

/// A pattern that matches this path only: the path itself, unless it has wildcards.
[[nodiscard]] std::string literal(std::string_view path);
[[nodiscard]] bool has_wildcards(std::string_view path);

/// The error of planning a lowered document, in the loader document's words.
[[nodiscard]] Error in_loader_words(const Error& error, const CheckedLoader& loader);

}  // namespace forebay::plan
