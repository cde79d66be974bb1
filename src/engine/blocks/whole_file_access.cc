// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/whole_file_access.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

namespace forebay::engine {

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

Result<void> WholeFileAccess::fetch(std::span<Handle> handles, const std::function<bool()>& go_on) {
  if (slot_ == BlockTable::nowhere) return {};
  std::vector<Handle*> absent;
  for (Handle& handle : handles) {
    if (handle.block == slot_) absent.push_back(&handle);
  }
  std::sort(absent.begin(), absent.end(), [](const Handle* a, const Handle* b) { return a->ordinal < b->ordinal; });
  const std::int64_t before = bytes_read_;
  for (std::span<Handle* const> left{absent}; !left.empty();) {
    if (!go_on()) return Error{Code::cancelled, "interrupted"};
    const std::uint32_t file = left.front()->ordinal;
    FOREBAY_TRY(const std::size_t done, fetch_block(left));
    left = left.subspan(done);
    if (bytes_read_ - before <= pool_->limit()) continue;
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("{} files that are read together need more than the memory budget of {} bytes; raise "
                             "`memory`, or lower the batch size",
                             absent.size(), pool_->limit()),
                 Place{.file = program_.source.files[file]}};
  }
  return {};
}

/// Reads the first files of `handles`, which are sorted, into one block. Returns the number of handles that have their
/// bytes now.
Result<std::size_t> WholeFileAccess::fetch_block(std::span<Handle* const> handles) {
  auto block = std::make_unique<Block>();
  std::size_t done = 0;
  for (; done < handles.size(); ++done) {
    const std::uint32_t file = handles[done]->ordinal;
    if (block->ordinals.empty() || block->ordinals.back() != file) {
      FOREBAY_TRY(const bool added, files_.add(file, *block));
      if (!added) break;
      block->ordinals.push_back(file);
      bytes_read_ += block->records.back().length;
    }
    handles[done]->length = block->records.back().length;
  }
  const std::uint32_t slot = table_.add_copies(std::move(block), done);
  for (Handle* const handle : handles.first(done)) handle->block = slot;
  return done;
}

}  // namespace forebay::engine
