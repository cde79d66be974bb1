// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <forebay/error.h>

#include "engine/memory/allocator.h"
#include "engine/memory/buffer_pool.h"
#include "engine/order/shards/shard_passes.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay::engine {

/// What a program of C++ may put in the place of parts of a run. Staging on a device needs both: batches in memory that
/// the device copies from, and each batch as soon as it is made.
struct RunParts {
  std::shared_ptr<Allocator> allocator;  ///< For all memory of the run that is charged; null: of the system.
  /// Called with each batch that was made without an error, once, before it waits for `next`: by the thread that has
  /// finished it, so batches come in any order and several at once. Its work is off the consumer's way, but its thread
  /// does no other work meanwhile. An error, or what it throws, is that of the batch. A batch that a close or a skipped
  /// epoch drops afterwards is not delivered; its content lives on as long as it has an owner.
  std::function<Result<void>(const std::shared_ptr<const Batch::Content>&)> finished;
  std::shared_ptr<ShardPasses> passes = {};  ///< Of a shard by file: stopped when the run is closed.
  // Of a run that makes rows for another one (made_rows.h):
  std::shared_ptr<BufferPool> pool = {};  ///< The memory and the budget of that run; null: its own.
  /// Called from any thread, with the mutex of the run held, when `next` has something to give: a batch, the end or an
  /// error.
  std::function<void()> ready = {};
  bool gives_short = false;  ///< A batch that an error of the order cuts short is given before that error.
};

}  // namespace forebay::engine
