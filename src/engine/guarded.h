// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>

#include <forebay/error.h>

namespace forebay::engine {

inline Error no_memory_for_batch() {
  return {Code::data, Detail::resource_exhausted,
          "the machine has no memory left for this batch; lower `memory`, `prefetch` or the batch size"};
}
inline Error no_memory_for_file() { return {Code::io, Detail::resource_exhausted, "not enough memory"}; }

/// Runs a task; its failure when it threw. Plug-ins may throw what they like, and nothing may leave a thread.
template <class Task>
std::optional<Error> guarded(Task task, Error (*no_memory)() = no_memory_for_batch) {
  try {
    task();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& thrown) {
    return Error{Code::internal, std::string{"unexpected: "} + thrown.what()};
  } catch (...) {
    return Error{Code::internal, "unexpected: an exception that is no std::exception"};
  }
}

}  // namespace forebay::engine
