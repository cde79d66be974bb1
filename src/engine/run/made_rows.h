// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <forebay/rows.h>

#include "engine/program/program.h"

namespace forebay::engine {

/// A plan whose rows are the source of another plan. It makes batches of a few rows, in hard epochs, and delivers dense
/// and ragged tensors only, so that a batch is a row block as it is:
///
///     files ─► orders, windows, combinations … ─► batches ─► row blocks ─► orders, windows … of the other plan
///     ╰──────── a run of its own, made by open_made ───────╯
///
/// This is how stages stand behind others for which the engine has no way without it (ADR 0066). It costs one copy of
/// the rows, and a restart makes again what its orders held.
struct MadePlan {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Program> by_row;  ///< The same with batches of one row.
  /// Whether each pass begins all sources anew, so that a pass can be made without those before it.
  bool alike = true;
};

/// Opens the rows of one pass, from a row on. The reader is a run with a share of the budget and of the threads of the
/// run that opens it (ReadContext::share).
[[nodiscard]] std::function<Result<std::unique_ptr<PartReader>>(ReadContext)> open_made(MadePlan plan);

}  // namespace forebay::engine
