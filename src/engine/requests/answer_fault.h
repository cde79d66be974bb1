// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include <forebay/error.h>

namespace forebay::engine {

/// Checks the answer of a FileSystem to a request for `asked` bytes, which are in the file. Returns the error, if any.
inline std::optional<Error> answer_fault(const Result<std::size_t>& count, std::size_t asked) {
  if (!count.ok()) return count.error();
  if (*count > asked) return Error{Code::internal, "a file system answered with more bytes than it was asked for"};
  if (*count > 0) return std::nullopt;
  return Error{Code::data, Detail::failed_precondition,
               "the file changed while it was read: it ends before the size that it had"};
}

}  // namespace forebay::engine
