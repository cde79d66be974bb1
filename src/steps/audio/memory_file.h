// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

namespace forebay::steps {

/// A file in memory, as libraries read it: a header of ours, then bytes of the file.
struct MemoryFile {
  std::string header;
  std::span<const std::byte> rest;
  std::int64_t at = 0;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(header.size() + rest.size()); }

  /// Moves as `fseek` does, within the file, and returns the new place; -1: there is no such place.
  std::int64_t seek(std::int64_t offset, int whence) {
    const std::int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? at : size();
    std::int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to)) return -1;
    return at = std::clamp<std::int64_t>(to, 0, size());
  }

  /// Copies up to `count` bytes, and returns how many; fewer: the file ends there.
  std::int64_t read(void* to, std::int64_t count) {
    auto* const out = static_cast<char*>(to);
    const auto ours_end = static_cast<std::int64_t>(header.size());
    const std::int64_t wanted = std::clamp<std::int64_t>(count, 0, size() - at);
    const std::int64_t ours = std::clamp<std::int64_t>(ours_end - at, 0, wanted);
    if (ours > 0) std::memcpy(out, header.data() + at, static_cast<std::size_t>(ours));
    if (wanted > ours)
      std::memcpy(out + ours, rest.data() + (at + ours - ours_end), static_cast<std::size_t>(wanted - ours));
    at += wanted;
    return wanted;
  }
};

}  // namespace forebay::steps
