// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/files_ahead.h"

#include <utility>

namespace forebay::engine {

FilesAhead::~FilesAhead() { clear(); }

void FilesAhead::ask(std::uint32_t number, FileSystem& system, const std::string& path) {
  files_.push_back({.number = number,
                    .system = &system,
                    .path = path,
                    .version = requests_->find(system, path),
                    .bytes = asked_ ? asked_->take(number) : nullptr});
}

void FilesAhead::clear() {
  while (!files_.empty()) pop();
}

/// In the order of the files: those behind the first one must not take the room that it needs.
void FilesAhead::advance(std::int64_t max) {
  for (File& file : files_) {
    if (!file.version->ready()) return;
    if (file.bytes || !has_bytes(file)) continue;
    const std::int64_t size = file.version->version().size;
    if (size > max || !share_.take(size)) return;
    file.held = size;
    auto target = std::make_shared<const RequestTarget>(RequestTarget{.system = file.system,
                                                                      .path = file.path,
                                                                      .version = file.version->version(),
                                                                      .file = file.number,
                                                                      .keeping = Keeping::in_order});
    file.bytes = requests_->ask(std::move(target), {.offset = 0, .bytes = size}, &file == &files_.front());
  }
}

bool FilesAhead::ready() const {
  if (files_.empty()) return true;
  const File& file = files_.front();
  if (!has_bytes(file)) return file.version->ready();
  return file.bytes ? file.bytes->ready() : share_.may_take(file.version->version().size);
}

bool FilesAhead::bytes_ready() const {
  const File& file = files_.front();
  return !has_bytes(file) || (file.bytes && file.bytes->ready());
}

Result<std::span<const std::byte>> FilesAhead::bytes() const {
  const File& file = files_.front();
  if (!file.bytes) return std::span<const std::byte>{};
  if (file.bytes->error()) return *file.bytes->error();
  return file.bytes->bytes();
}

std::int64_t FilesAhead::bytes_there(std::int64_t max) const {
  std::int64_t out = 0;
  for (const File& file : files_) {
    if (!file.bytes || !file.bytes->ready() || file.bytes->range().bytes > max - out) break;
    out += file.bytes->range().bytes;
  }
  return out;
}

void FilesAhead::pop() {
  share_.give_back(files_.front().held);
  files_.pop_front();
}

}  // namespace forebay::engine
