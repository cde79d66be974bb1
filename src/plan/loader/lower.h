// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/loader/loader_document.h"

namespace forebay::plan {

/// The pipeline document that does what the loader asks for. Every value has the place of the loader document's (or
/// the manifest's) value it came from, so faults found later point into what the user wrote.
[[nodiscard]] Json lower(const CheckedLoader& loader);

/// A pattern that names this path and nothing else.
[[nodiscard]] std::string literal(const std::string& path);

/// The error of planning a lowered document, in the loader document's words.
[[nodiscard]] Error in_loader_words(const Error& error, const CheckedLoader& loader);

}  // namespace forebay::plan
