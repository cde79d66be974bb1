// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <span>

#include <forebay/staging.h>

#include "columns/crc32c.h"
#include "engine/memory/buffer_pool.h"

namespace forebay {

ReceivedMemory::ReceivedMemory(std::int64_t keep, const std::shared_ptr<PinnedMemory>& pinned)
    : pool_{std::make_shared<engine::BufferPool>(keep, nullptr, pinned)} {}

Result<ReceivedBytes> ReceivedMemory::copy(std::span<const std::byte> bytes) {
  try {
    const std::shared_ptr<std::byte> memory = pool_->lend_pinned(bytes.size());
    if (!bytes.empty()) std::memcpy(memory.get(), bytes.data(), bytes.size());
    const std::uint32_t checksum = columns::crc32c({memory.get(), bytes.size()});
    return ReceivedBytes{
        .tensor = {.dtype = DType::uint8, .shape = Shape{{std::ssize(bytes)}}, .data = memory.get(), .owner = memory},
        .checksum = checksum};
  } catch (const engine::NoPinnedMemory& missing) {
    return missing.error;
  }
}

std::int64_t ReceivedMemory::pinned() const { return pool_->pinned(); }

}  // namespace forebay
