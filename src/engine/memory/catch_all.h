// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>

#include <forebay/error.h>

namespace forebay::engine {

// What a machine without memory gets, whatever data it was at. Made beforehand: then no error can be made either.
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

/// What the StopCheck of a run throws.
struct Closed {};

/// Runs a task; its failure when it threw. Plug-ins may throw what they like, and nothing may leave a thread.
template <class Task>
std::optional<Error> catch_all(Task task, const Error& no_memory = no_memory_for_batch) {
  try {
    try {
      task();
      return std::nullopt;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const Closed&) {
      return was_closed;
    } catch (const std::exception& thrown) {
      return Error{Code::internal, std::string{"unexpected: "} + thrown.what()};
    } catch (...) {
      return Error{Code::internal, "unexpected: an exception that is no std::exception"};
    }
  } catch (const std::bad_alloc&) {  // of the task, or of the words for what it threw
    return no_memory;
  }
}

/// The error with its file, or as it is when there is no memory for that.
inline Error in_file(const Error& error, const std::string& file) {
  try {
    return error.at(Place{.file = file});
  } catch (const std::bad_alloc&) {
    return error;
  }
}

}  // namespace forebay::engine
