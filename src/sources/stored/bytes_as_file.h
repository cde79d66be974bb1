// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "io/file_system.h"

namespace forebay::sources {

/// Bytes that a run has mapped, as a file: they are copied out of the mapping before they are decoded (ADR 0009).
class BytesAsFile final : public io::RandomAccessFile {
 public:
  BytesAsFile(std::string path, std::span<const std::byte> bytes)
      : RandomAccessFile{std::move(path), {.size = std::ssize(bytes)}}, bytes_{bytes} {}
  Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const override {
    const auto rest = bytes_.subspan(std::min(static_cast<std::size_t>(offset), bytes_.size()));
    const auto piece = rest.first(std::min(out.size(), rest.size()));
    std::copy(piece.begin(), piece.end(), out.begin());
    return piece.size();
  }
  void want(io::ByteRange) override {}
  Result<void> unchanged() const override { return {}; }  // the run asks its mappings

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace forebay::sources
