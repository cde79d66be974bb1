// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <forebay/plan.h>
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
///
/// Returns the part with those rows. It opens the rows of one pass, from a row on, with a run that has a share of the
/// budget and of the threads of the run around it (ReadContext::share).
[[nodiscard]] RowPart made_part(std::string name, std::shared_ptr<const Program> program);

/// The same of the files of shard `index` of `count` (own_files.h).
[[nodiscard]] RowPart made_part_of(const std::string& name, const std::shared_ptr<const Program>& program,
                                   std::int64_t index, std::int64_t count);

/// Tells a program that its source is the rows of `made`, under this name.
void set_made(const std::string& name, const std::shared_ptr<const Program>& made, Program& out);
/// Puts another program in the place of the one whose rows are the source of `out`.
void replace_made(const std::shared_ptr<const Program>& made, Program& out);

/// Whether files of stores are those that the plan has found, or are asked for again.
enum class FindFiles : std::uint8_t { as_planned, anew };
/// The plan, whose runs ask for the version of each file of a store once, all together (KnownVersions). A plan without
/// such files is as it was.
[[nodiscard]] Plan finding_files_once(const Plan& plan, FindFiles files);

}  // namespace forebay::engine
