// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <forebay/error.h>
#include <forebay/json.h>

namespace forebay::cli {

/// Writes to standard output. If that fails, `flush_output` returns a Code::io error.
void print(std::string_view text);
void print_line(std::string_view text);
[[nodiscard]] Result<void> flush_output();

/// The single faults of an error; the error itself if it has only one.
[[nodiscard]] std::vector<Error> faults_of(const Error& error);
/// {code, detail, message, and the known ones of file, line, column, pointer, record, offset, feature}
[[nodiscard]] Json error_json(const Error& error);

/// The exit code: 0 success, 2 usage or config (and a state of another run), 3 data, 4 I/O, 130 interrupted, 1 a bug.
[[nodiscard]] int exit_code(const Error& error);

}  // namespace forebay::cli
