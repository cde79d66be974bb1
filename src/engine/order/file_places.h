// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/order.h>

#include "engine/order/open_parts.h"
#include "engine/program/program.h"
#include "engine/requests/cache/pass_times.h"

namespace forebay::engine {

/// The files of a source after its orders of files. `parts` answers the functions that these ask; null: none of them
/// asks one. `measured`: their buffers count among those of the run.
[[nodiscard]] std::unique_ptr<Handles> ordered_files(const Program& program, OpenParts* parts, bool measured);

/// When a run reads its files in pass `pass` and in the next one. The order of the list is assumed where orders of
/// files look into something, or give a file several times. `shared`: as of PassTimes.
[[nodiscard]] PassTimes pass_times(const Program& program, std::int64_t pass, bool shared);

}  // namespace forebay::engine
