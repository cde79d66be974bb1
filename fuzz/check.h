// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/record.h>
#include <forebay/step.h>

/// Helpers of the fuzz targets. A broken claim ends the process: a fuzzer detects that.
namespace forebay::fuzz {

inline void check(bool holds, std::string_view claim) {
  if (holds) return;
  std::fprintf(stderr, "not true: %.*s\n", static_cast<int>(claim.size()), claim.data());
  __builtin_trap();
}

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A copy with exactly the readable slack that decoders need.
inline std::vector<std::byte> with_slack(std::span<const std::byte> bytes) {
  std::vector<std::byte> copy(bytes.size() + record_slack);
  copy.assign(bytes.begin(), bytes.end());
  copy.resize(bytes.size() + record_slack);
  return copy;
}

/// Collects the rows that a step could not make.
class Faults final : public RowFaults {
 public:
  void add(std::int64_t row, Error error) override {
    check(!error.message().empty(), "a fault says why");
    bad.push_back(row);
  }
  std::vector<std::int64_t> bad;
};

/// A file that disappears with the process; `fill` replaces its content.
class ScratchFile {
 public:
  ScratchFile() : file_{std::tmpfile()} { check(file_ != nullptr, "a temporary file can be made"); }
  void fill(std::span<const std::byte> bytes) {
    check(::ftruncate(::fileno(file_), 0) == 0, "the temporary file can be emptied");
    std::rewind(file_);
    check(std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size(), "the temporary file can be written");
    std::fflush(file_);
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(::fileno(file_)); }

 private:
  std::FILE* file_;
};

}  // namespace forebay::fuzz
