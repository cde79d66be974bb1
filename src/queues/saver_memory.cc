// SPDX-License-Identifier: Apache-2.0
#include "queues/saver_memory.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace forebay::queues {

namespace {

constexpr std::size_t saver_alignment = 64;
constexpr std::size_t max_free_blocks = 32;
constexpr std::size_t max_free_bytes = std::size_t{32} << 20;

std::size_t aligned(std::size_t bytes) { return (bytes + saver_alignment - 1) / saver_alignment * saver_alignment; }

/// Rounded up to one of four sizes for each power of two, so that blocks fit again.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(saver_alignment, std::bit_floor(bytes) / 4);
  return (bytes + step - 1) / step * step;
}

}  // namespace

/// A block while tensors use it.
struct SaverMemory::Lent {
  Lent(std::shared_ptr<SaverMemory> from, Block lent) : of{std::move(from)}, block{std::move(lent)} {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { of->give_back(std::move(block)); }
  std::shared_ptr<SaverMemory> of;
  Block block;
};

std::shared_ptr<std::byte> SaverMemory::lend(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  Block block;
  {
    const std::lock_guard lock{mutex_};
    free_.reserve(max_free_blocks);
    const auto found = std::ranges::find(free_, size, &Block::size);
    if (found != free_.end()) {
      block = std::move(*found);
      free_.erase(found);
      free_bytes_ -= size;
    }
  }
  if (!block.bytes) block = {std::make_unique_for_overwrite<std::byte[]>(size), size};
  const auto at = reinterpret_cast<std::uintptr_t>(block.bytes.get());
  std::byte* const first = block.bytes.get() + (aligned(at) - at);
  return {std::make_shared<Lent>(shared_from_this(), std::move(block)), first};
}

void SaverMemory::give_back(Block block) noexcept {
  const std::lock_guard lock{mutex_};
  if (block.size > max_free_bytes) return;
  while (!free_.empty() && (free_.size() == max_free_blocks || free_bytes_ + block.size > max_free_bytes)) {
    free_bytes_ -= free_.front().size;
    free_.erase(free_.begin());  // the oldest one
  }
  free_bytes_ += block.size;
  free_.push_back(std::move(block));  // `lend` has reserved the room
}

void SaverMemory::place(const std::vector<Tensor*>& tensors) {
  std::vector<std::size_t> places;
  std::size_t bytes = 0;
  for (const Tensor* tensor : tensors) {
    places.push_back(bytes);
    bytes += aligned(static_cast<std::size_t>(tensor->shape.count()) * size_of(tensor->dtype));
  }
  const std::shared_ptr<std::byte> block = lend(bytes + saver_alignment);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->dtype == DType::string) continue;
    tensors[i]->data = block.get() + places[i];
    tensors[i]->owner = block;
  }
}

}  // namespace forebay::queues
