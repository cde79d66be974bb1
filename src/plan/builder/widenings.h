// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string_view>

#include <forebay/json.h>
#include <forebay/plugin.h>

namespace forebay::plan {

/// The plug-in of a stage; empty: it names none, or several.
[[nodiscard]] std::string_view stage_name(const Json& stage);

/// A document or branch in which a step that widens windows stands behind those of the branches instead of behind
/// their combination, which changes none of them:
///
///     mix: [read, chunk], [read, chunk] ─► context     mix: [read, chunk, context], [read, chunk, context]
///
/// Without such a step `written` itself; else it lies in `kept`.
/// And one in which equal steps that cut segments stand behind a `concat` instead of in its branches, where `stateful`
/// follows them: the segments of a sequence stay together.
[[nodiscard]] const Json& with_widenings_moved(const Json& written, const Registry& registry, std::deque<Json>& kept);

}  // namespace forebay::plan
