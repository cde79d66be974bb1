// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/whole_file_access.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::int64_t max_asked = std::int64_t{256} << 20;  // bytes
constexpr std::int64_t share_asked = 8;                      // of the budget

}  // namespace

WholeFileAccess::WholeFileAccess(const Program& program, std::shared_ptr<BufferPool> pool, BlockTable& table,
                                 const std::shared_ptr<Requests>& requests)
    : program_{program},
      pool_{std::move(pool)},
      table_{table},
      asked_{std::make_shared<AskedFiles>(
          program.source.files, requests, program.known,
          std::min({max_asked, pool_->limit() / share_asked, program.source.max_file_bytes}))} {}

AskedFiles::Asked WholeFileAccess::expect(std::span<const Handle> handles) {
  AskedFiles::Asked out;
  if (slot_ == BlockTable::nowhere) return out;
  for (const Handle& handle : handles) {
    if (handle.block != slot_) continue;
    const auto [bytes, done] = asked_->ask(handle.ordinal);
    out.bytes += bytes;
    out.done = out.done && done;
  }
  return out;
}

void WholeFileAccess::forget(std::span<const Handle> handles) {
  for (const Handle& handle : handles)
    if (handle.block == slot_ && slot_ != BlockTable::nowhere) static_cast<void>(asked_->take(handle.ordinal));
}

Result<std::vector<std::int64_t>> WholeFileAccess::count(std::span<const std::uint32_t> parts) const {
  if (skips_early(program_.on_corrupt)) {
    return Error{Code::config, Detail::invalid_argument,
                 "on_corrupt: files that are records cannot be skipped in a global shuffle or with shards by file, "
                 "because their number must be known before they are read; set on_corrupt to fail, or use a shuffle "
                 "buffer and shards by rows"};
  }
  std::vector<std::int64_t> out;
  for (const std::uint32_t part : parts) out.push_back(program_.source.files_of(part));
  return out;
}

void WholeFileAccess::locate(std::span<const RecordName> names, std::span<Handle> out) {
  if (slot_ == BlockTable::nowhere) slot_ = table_.add_permanent(std::make_unique<Block>());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t file = program_.source.locate(names[i].file, names[i].record, 0).file;
    out[i] = {.block = slot_, .ordinal = static_cast<std::uint32_t>(file), .offset = 0, .length = 0};
  }
}

std::vector<Handle*> WholeFileAccess::absent(std::span<Handle> handles) const {
  std::vector<Handle*> out;
  if (slot_ == BlockTable::nowhere) return out;
  for (Handle& handle : handles) {
    if (handle.block == slot_) out.push_back(&handle);
  }
  std::ranges::sort(out, {}, &Handle::ordinal);
  return out;
}

std::vector<std::uint32_t> WholeFileAccess::numbers(std::span<Handle* const> absent) {
  std::vector<std::uint32_t> out;
  for (const Handle* const handle : absent) {
    if (out.empty() || out.back() != handle->ordinal) out.push_back(handle->ordinal);
  }
  return out;
}

std::size_t WholeFileAccess::take(std::unique_ptr<Block> block, std::span<Handle* const> absent) {
  std::size_t done = 0;
  for (std::size_t record = 0; record < block->ordinals.size(); ++record) {
    for (; done < absent.size() && absent[done]->ordinal == block->ordinals[record]; ++done)
      absent[done]->length = block->records[record].length;
  }
  if (done == 0) return done;
  const std::uint32_t slot = table_.add_copies(std::move(block), done);
  for (Handle* const handle : absent.first(done)) handle->block = slot;
  return done;
}

Error WholeFileAccess::too_large(std::size_t files, std::uint32_t last) const {
  return {Code::data, Detail::resource_exhausted,
          fmt::format("{} files that are read together need more than the memory budget of {} bytes; raise "
                      "`memory`, or lower the batch size",
                      files, pool_->limit()),
          Place{.file = program_.source.files[last]}};
}

}  // namespace forebay::engine
