// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// The candidate nearest to `name` by edit distance (case ignored), or empty when none is near.
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace forebay
