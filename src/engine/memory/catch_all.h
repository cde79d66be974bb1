// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>

#include <forebay/error.h>

#include "engine/memory/pinned_memory.h"

namespace forebay::engine {

// The errors for std::bad_alloc. They are made at the start of the program, as an error cannot be made without memory.
inline const Error no_memory_for_batch{
    Code::io, Detail::resource_exhausted,
    "the machine has no memory left for this batch; lower `memory`, `prefetch` or the batch size"};
inline const Error no_memory_for_order{
    Code::io, Detail::resource_exhausted,
    "the machine has no memory left to decide the order of the records; lower `memory`, the buffers of shuffles or the "
    "batch size"};
inline const Error no_memory_for_scan{
    Code::io, Detail::resource_exhausted,
    "the machine has no memory left to read this file; lower `memory`, `threads` or `prefetch`"};
inline const Error no_memory_for_index{
    Code::io, Detail::resource_exhausted,
    "the machine has no memory left for the index of this file; lower `memory` or use a shuffle buffer, which needs no "
    "index"};
inline const Error no_memory_for_run{Code::io, Detail::resource_exhausted,
                                     "the machine has no memory left for this run; lower `memory`, `threads` or "
                                     "`prefetch`"};
inline const Error no_memory_for_file{Code::io, Detail::resource_exhausted,
                                      "the machine has no memory left to look through this file; use fewer threads, or "
                                      "end other programs"};

inline const Error was_closed{Code::cancelled, "the pipeline was closed"};

/// Thrown by the StopCheck of a run that was closed.
struct Closed {};

/// Runs a task and turns an exception into an error; empty when the task returned. Plug-ins may throw anything, and no
/// exception may leave a thread.
template <class Task>
std::optional<Error> catch_all(Task task, const Error& no_memory = no_memory_for_batch) {
  try {
    try {
      task();
      return std::nullopt;
    } catch (const NoPinnedMemory& missing) {
      return missing.error;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const Closed&) {
      return was_closed;
    } catch (const std::exception& thrown) {
      return Error{Code::internal, std::string{"unexpected: "} + thrown.what()};
    } catch (...) {
      return Error{Code::internal, "unexpected: an exception that is no std::exception"};
    }
  } catch (const std::bad_alloc&) {  // from the task, or from making the message above
    return no_memory;
  }
}

/// The error with its file added, or unchanged when there is no memory for that.
inline Error in_file(const Error& error, const std::string& file) {
  try {
    return error.at(Place{.file = file});
  } catch (const std::bad_alloc&) {
    return error;
  }
}

}  // namespace forebay::engine
