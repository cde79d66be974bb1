// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>

#include <forebay/error.h>

namespace forebay::engine {

/// Runs a task; its failure when it threw. Plug-ins may throw what they like, and nothing may leave a thread.
template <class Task>
std::optional<Error> guarded(Task task) {
  try {
    task();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Error{Code::data, Detail::resource_exhausted,
                 "the machine has no memory left for this batch; lower `memory`, `prefetch` or the batch size"};
  } catch (const std::exception& thrown) {
    return Error{Code::internal, std::string{"unexpected: "} + thrown.what()};
  } catch (...) {
    return Error{Code::internal, "unexpected: an exception that is no std::exception"};
  }
}

}  // namespace forebay::engine
