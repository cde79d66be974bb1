// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/file_system.h"

namespace forebay::io {

/// A file whose bytes are waited for when they are read, wherever it lies: for a plan or a tool that looks into it, and
/// asks for nothing ahead. `file` must outlive it.
class AwaitedFile final : public RandomAccessFile {
 public:
  explicit AwaitedFile(const RandomAccessFile& file) : RandomAccessFile{file.path(), file.identity()}, file_{file} {}
  Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const override {
    return file_.read_some(out, offset);
  }
  void want(ByteRange) override {}
  Result<void> unchanged() const override { return file_.unchanged(); }

 private:
  const RandomAccessFile& file_;
};

}  // namespace forebay::io
