// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/asked_files.h"

#include <utility>

#include "stores/registry.h"

namespace forebay::engine {

AskedFiles::Asked AskedFiles::ask(std::uint32_t number) {
  const std::string& path = files_[number];
  const auto version = known_ ? known_->find(path) : std::nullopt;
  FileSystem* const system = version && version->size > 0 ? stores::file_system_of(path) : nullptr;
  if (system == nullptr || version->size > max_bytes_) return {};
  const Lock lock{mutex_};
  if (asked_.contains(number)) return {.bytes = version->size};
  if (bytes_ + version->size > max_bytes_) return {.bytes = version->size, .done = false};
  auto target = std::make_shared<const RequestTarget>(
      RequestTarget{.system = system, .path = path, .version = *version, .file = number, .keeping = Keeping::by_index});
  asked_[number] = requests_->ask(std::move(target), {.offset = 0, .bytes = version->size});
  bytes_ += version->size;
  return {.bytes = version->size};
}

std::shared_ptr<Request> AskedFiles::take(std::uint32_t number) {
  const Lock lock{mutex_};
  const auto found = asked_.find(number);
  if (found == asked_.end()) return nullptr;
  auto out = std::move(found->second);
  bytes_ -= out->range().bytes;
  asked_.erase(found);
  return out;
}

}  // namespace forebay::engine
