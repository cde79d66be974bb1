// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

namespace forebay::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(std::string_view text) {
  print(text);
  std::fputc('\n', stdout);
}

Result<void> flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return Error{Code::io, "cannot write to standard output: " + std::generic_category().message(errno)};
}

std::vector<Error> faults_of(const Error& error) {
  return error.faults().empty() ? std::vector{error} : error.faults();
}

Json error_json(const Error& error) {
  Json out = Json::object();
  out.set("code", std::string{to_string(error.code())});
  out.set("detail", std::string{to_string(error.detail())});
  out.set("message", error.message());
  const Place& place = error.place();
  if (!place.file.empty()) out.set("file", place.file);
  if (place.line > 0) out.set("line", place.line);
  if (place.column > 0) out.set("column", place.column);
  if (place.column > 0 || !place.pointer.empty()) out.set("pointer", place.pointer);
  if (place.record >= 0) out.set("record", place.record);
  if (place.offset >= 0) out.set("offset", place.offset);
  if (!place.feature.empty()) out.set("feature", place.feature);
  return out;
}

int exit_code(const Error& error) {
  switch (error.code()) {
    case Code::config:
    case Code::state:
      return 2;
    case Code::data:
      return 3;
    case Code::io:
      return 4;
    case Code::cancelled:
      return 130;
    case Code::internal:
      return 1;
  }
  return 1;
}

}  // namespace forebay::cli
