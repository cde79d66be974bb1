// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <forebay/error.h>
#include <forebay/json.h>

namespace forebay::cli {

/// Writes to standard output. Code::io when that is not possible, once `flush_output` is called.
void print(std::string_view text);
void print_line(std::string_view text);
[[nodiscard]] Result<void> flush_output();

/// Every single fault an error stands for; itself when it is only one.
[[nodiscard]] std::vector<Error> faults_of(const Error& error);
/// {code, detail, message, and what is known of file, line, column, pointer, record, offset, feature}
[[nodiscard]] Json error_json(const Error& error);

/// 0 is success, 2 usage or config (and a foreign state), 3 data, 4 I/O, 130 interrupted, 1 a bug.
[[nodiscard]] int exit_code(const Error& error);

}  // namespace forebay::cli
