// SPDX-License-Identifier: Apache-2.0
#include "queues/saver_memory.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace forebay::queues {

namespace {

constexpr std::size_t saver_alignment = 64;
constexpr std::size_t max_free_blocks = 8;

std::size_t aligned(std::size_t bytes) { return (bytes + saver_alignment - 1) / saver_alignment * saver_alignment; }

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
  Block block;
  {
    const std::lock_guard lock{mutex_};
    free_.reserve(max_free_blocks);
    // A block much larger than asked for would keep memory from the batches that need it.
    const auto fits = [&](const Block& free) { return free.size >= bytes && free.size / 4 <= bytes; };
    if (const auto found = std::ranges::find_if(free_, fits); found != free_.end()) {
      block = std::move(*found);
      *found = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!block.bytes) block = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  const auto at = reinterpret_cast<std::uintptr_t>(block.bytes.get());
  std::byte* const first = block.bytes.get() + (aligned(at) - at);
  return {std::make_shared<Lent>(shared_from_this(), std::move(block)), first};
}

void SaverMemory::give_back(Block block) noexcept {
  const std::lock_guard lock{mutex_};
  if (free_.size() == max_free_blocks) std::swap(free_.front(), block);   // the oldest one goes
  if (free_.size() < max_free_blocks) free_.push_back(std::move(block));  // `lend` has reserved the room
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
