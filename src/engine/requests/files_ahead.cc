// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/files_ahead.h"

#include <algorithm>
#include <utility>

namespace forebay::engine {

FilesAhead::~FilesAhead() { clear(); }

/// How many bytes are asked for with the version of a file; 0: none.
std::int64_t FilesAhead::likely_bytes() {
  const std::int64_t bytes = requests_->cache() ? 0 : requests_->window()->likely();
  return bytes > 0 && share_.take(bytes) ? bytes : 0;
}

void FilesAhead::ask(std::uint32_t number, FileSystem& system, const std::string& path) {
  File& file = files_.emplace_back(File{.number = number, .system = &system, .path = path, .version = nullptr});
  file.bytes = asked_ ? asked_->take(number) : nullptr;
  if (!file.bytes) file.held = likely_bytes();
  file.version = requests_->find(system, path, file.held);
}

void FilesAhead::clear() {
  while (!files_.empty()) pop();
}

/// Gives back the room of bytes that were to come with versions, which are asked for without them.
void FilesAhead::let_go_of_others() {
  for (File& file : files_) {
    if (file.held == 0 || file.bytes) continue;
    share_.give_back(std::exchange(file.held, 0));
    file.version = requests_->find(*file.system, file.path);
  }
}

/// In the order of the files: those behind the first one must not take the room that it needs.
void FilesAhead::advance(std::int64_t max) {
  for (File& file : files_) {
    if (!file.version->ready()) return;
    if (whole(file) != nullptr || !has_bytes(file)) continue;
    const std::int64_t size = file.version->version().size;
    share_.give_back(std::exchange(file.held, 0));
    if (size > max) return;
    const bool first = &file == &files_.front();
    if (first && !share_.may_take(size)) let_go_of_others();
    if (!share_.take(size)) return;
    file.held = size;
    auto target = std::make_shared<const RequestTarget>(RequestTarget{.system = file.system,
                                                                      .path = file.path,
                                                                      .version = file.version->version(),
                                                                      .file = file.number,
                                                                      .keeping = Keeping::in_order});
    file.bytes = requests_->ask(std::move(target), {.offset = 0, .bytes = size}, first);
  }
}

bool FilesAhead::ready() const {
  if (files_.empty()) return true;
  const File& file = files_.front();
  if (!has_bytes(file)) return file.version->ready();
  if (const Request* const bytes = whole(file)) return bytes->ready();
  const bool others = std::ranges::any_of(files_, [](const File& one) { return one.held > 0 && !one.bytes; });
  return others || share_.may_take(file.version->version().size);
}

bool FilesAhead::bytes_ready() const {
  const File& file = files_.front();
  if (!has_bytes(file)) return true;
  const Request* const bytes = whole(file);
  return bytes != nullptr && bytes->ready();
}

Result<std::span<const std::byte>> FilesAhead::bytes() const {
  const Request* const bytes = whole(files_.front());
  if (bytes == nullptr) return std::span<const std::byte>{};
  if (bytes->error()) return *bytes->error();
  return bytes->bytes();
}

std::int64_t FilesAhead::bytes_there(std::int64_t max) const {
  std::int64_t out = 0;
  for (const File& file : files_) {
    const Request* const bytes = whole(file);
    if (bytes == nullptr || !bytes->ready() || !has_bytes(file)) break;
    const std::int64_t size = file.version->version().size;
    if (size > max - out) break;
    out += size;
  }
  return out;
}

void FilesAhead::pop() {
  const File& file = files_.front();
  if (has_bytes(file)) requests_->window()->saw(file.version->version().size);
  share_.give_back(file.held);
  files_.pop_front();
}

}  // namespace forebay::engine
