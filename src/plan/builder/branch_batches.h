// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include <forebay/json.h>
#include <forebay/plugin.h>

namespace forebay::plan {

/// Whether the source of a document or branch combines branches that all make batches, and it makes batches of their
/// rows: a turn of the combination is a whole batch.
[[nodiscard]] bool takes_batches(const Json& document, const Registry& registry);

/// A document or branch whose source combines branches that all make batches, and which makes none itself. Its batches
/// are theirs:
///
///     mix: [read, batch], [read, buckets]     mix: [read, batch], [read, buckets] ─► batch_ends
///
/// Any other one is `written` itself, also where branches pad in unlike ways; else it lies in `kept`.
[[nodiscard]] const Json& with_batches_of_branches(const Json& written, const Registry& registry,
                                                   std::deque<Json>& kept);

/// The step that makes the batches of `document`, which has a batcher, of rows that say where these end.
[[nodiscard]] Json batches_again(const Json& document, const Registry& registry);

/// Whether `document` is one that with_batches_of_branches made.
[[nodiscard]] bool passes_batches_on(const Json& document);

/// The tensor of branch `branch` that says where its batches end. Side by side, each branch has one of its own.
[[nodiscard]] std::string batch_end_of(std::size_t branch, bool side_by_side);
/// Whether a tensor tells only how the batches of a branch were cut.
[[nodiscard]] bool is_of_batches(std::string_view tensor);

}  // namespace forebay::plan
