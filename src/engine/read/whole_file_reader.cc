// SPDX-License-Identifier: Apache-2.0
#include "engine/read/whole_file_reader.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_files = 512;  // of a block: a run can be stopped only between two blocks

std::size_t used_bytes(const Block& block) {
  return block.records.empty() ? 0 : std::size_t{block.records.back().offset} + block.records.back().length;
}

/// Whether a record of `size` bytes may join the block; one without memory takes any.
bool has_room(const Block& block, std::size_t size) {
  return !block.buffer || (block.records.size() < max_files && used_bytes(block) + size <= block.buffer_bytes);
}

Error larger_than(const char* option, std::int64_t size, std::int64_t limit, Detail detail) {
  return {Code::data, detail, fmt::format("the file has {} bytes, more than {}, {}; raise it", size, option, limit)};
}

}  // namespace

bool WholeFiles::expect(std::uint32_t file) {
  FileSystem* const system = stores::file_system_of(source_.files[file]);
  if (system == nullptr || !ahead_.has_room()) return false;
  ahead_.ask(file, *system, source_.files[file]);
  return true;
}

Result<bool> WholeFiles::add(std::uint32_t file, Block& block) {
  const bool requested = !ahead_.empty() && ahead_.first() == file;
  return (requested ? add_requested(block) : add_local(file, block)).at(Place{.file = source_.files[file]});
}

Result<bool> WholeFiles::add_local(std::uint32_t file, Block& block) {
  if (next_ && waiting_ != file) next_.reset();
  if (!next_) FOREBAY_DO(open(file));
  if (!has_room(block, static_cast<std::size_t>(next_->size()))) return false;
  auto appended = append(block);
  next_.reset();
  FOREBAY_DO(appended);
  return true;
}

/// Adds the first file that was announced. After a failure it is gone.
Result<bool> WholeFiles::add_requested(Block& block) {
  ahead_.advance(std::min(source_.max_file_bytes, pool_.limit()));
  const Request& version = ahead_.version();
  if (!version.ready()) return false;
  const auto drop = [this](Error error) {
    ahead_.pop();
    return error;
  };
  const std::uint32_t file = ahead_.first();
  if (version.error()) {
    versions_.failed(file);
    return drop(*version.error());
  }
  const auto size = static_cast<std::size_t>(version.version().size);
  if (auto fits = check_size(version.version().size); !fits.ok()) return drop(fits.error());
  if (auto same = versions_.opened(file, version.version()); !same.ok()) return drop(same.error());
  if (!ahead_.bytes_ready() || !has_room(block, size)) return false;
  const auto bytes = ahead_.bytes();
  if (!bytes.ok()) return drop(bytes.error());
  const std::int64_t there = ahead_.bytes_there(static_cast<std::int64_t>(pile_));
  std::ranges::copy(*bytes, room(size, static_cast<std::size_t>(there), block).begin());
  block.records.push_back({static_cast<std::uint32_t>(used_bytes(block)), static_cast<std::uint32_t>(size)});
  ahead_.pop();
  return true;
}

Result<void> WholeFiles::check_size(std::int64_t size) const {
  if (size > source_.max_file_bytes)
    return larger_than("max_file_bytes", size, source_.max_file_bytes, Detail::data_loss);
  if (size > pool_.limit()) return larger_than("`memory`", size, pool_.limit(), Detail::resource_exhausted);
  return {};
}

/// Opens the next file and checks that it may be read.
Result<void> WholeFiles::open(std::uint32_t file) {
  FOREBAY_TRY(io::File opened, io::File::open(source_.files[file], folder_));
  FOREBAY_DO(check_size(opened.size()));
  FOREBAY_DO(settle(opened, false));
  FOREBAY_DO(versions_.opened(file, opened.identity()));
  next_ = std::move(opened);
  waiting_ = file;
  return {};
}

/// The memory of the next record of a block that has room for it. A new block gets room for `pile` bytes.
std::span<std::byte> WholeFiles::room(std::size_t size, std::size_t pile, Block& block) {
  if (!block.buffer) {
    block.buffer_bytes = std::max({pile, size, std::size_t{1}});
    block.buffer = pool_.lend(block.buffer_bytes, MemoryUse::scan);
    block.base = block.buffer.get();
  }
  return {block.buffer.get() + used_bytes(block), size};
}

Result<void> WholeFiles::append(Block& block) {
  const auto size = static_cast<std::size_t>(next_->size());
  FOREBAY_TRY(const std::size_t got, next_->read(room(size, pile_, block), 0));
  FOREBAY_DO(next_->unchanged());
  if (got < size) return Error{Code::data, Detail::failed_precondition, "the file was cut short while it was read"};
  block.records.push_back({static_cast<std::uint32_t>(used_bytes(block)), static_cast<std::uint32_t>(size)});
  return {};
}

WholeFileReader::WholeFileReader(const Program& program, std::uint32_t part, std::shared_ptr<BufferPool> pool,
                                 FileVersions& versions, std::shared_ptr<Requests> requests)
    : program_{program},
      part_{part},
      pool_{std::move(pool)},
      files_{program.source, *pool_, versions, std::move(requests)},
      first_{static_cast<std::uint32_t>(program.source.locate(part, 0, 0).file)},
      end_{first_ + static_cast<std::uint32_t>(program.source.files_of(part))},
      next_{first_},
      expected_{first_} {}

Result<void> WholeFileReader::seek(std::int64_t record, const std::shared_ptr<const RecordIndex>&) {
  next_ = expected_ = first_ + static_cast<std::uint32_t>(record);
  return {};
}

/// Whether the run skips a file that failed with this error.
bool WholeFileReader::skips(const Error& error) const {
  if (!skips_early(program_.on_corrupt)) return false;
  return passes_over_file(program_.on_corrupt, error) || error.detail() == Detail::data_loss;
}

void WholeFileReader::find(Block& block) {
  block.file = part_;
  block.file_offset = 0;
  block.first_record = next_ - first_;
  Result<void> done;
  const auto thrown = catch_all([&] { done = add_files(block); }, no_memory_for_scan);
  if (thrown) {
    block.forget_records();
    done = *thrown;
  }
  if (!done.ok()) block.error = done.error();
  block.file_end = block.bytes_read = static_cast<std::int64_t>(used_bytes(block));
  block.fraction = static_cast<double>(next_ - first_) / static_cast<double>(std::max(1U, end_ - first_));
  block.last = done.ok() && next_ == end_;
}

Result<void> WholeFileReader::add_files(Block& block) {
  for (; next_ < end_; ++next_) {
    for (expected_ = std::max(expected_, next_); expected_ < end_ && files_.expect(expected_);) ++expected_;
    const auto added = files_.add(next_, block);
    if (added.ok() && !*added) break;
    if (added.ok()) continue;
    if (!skips(added.error())) return added.error();
    block.skips.push_back({.what = Skip::What::record, .index = block.records.size(), .error = added.error()});
    block.records.push_back({static_cast<std::uint32_t>(used_bytes(block)), 0});
  }
  return {};
}

void WholeFileReader::check(Block& block, const RecordCheck& check) const {
  if (!check.run) return;
  Result<void> done;
  const auto thrown = catch_all([&] { done = check_files(block, check); }, no_memory_for_scan);
  if (thrown) {
    block.forget_records();
    done = *thrown;
  }
  if (done.ok()) return;
  block.error = done.error();
  block.last = false;
}

/// Computes the attributes. Adds a skip for each file whose content is malformed; fails with the first one, after the
/// files before it, when the run may not skip.
Result<void> WholeFileReader::check_files(Block& block, const RecordCheck& check) const {
  std::vector<Record> contents;
  std::vector<std::size_t> indices;
  std::vector<Malformed> malformed;
  for (std::size_t i = 0, skip = 0; i < block.records.size(); ++i) {
    if (skip < block.skips.size() && block.skips[skip].index == i) {
      ++skip;
      continue;
    }
    contents.emplace_back(block.base + block.records[i].offset, block.records[i].length);
    indices.push_back(i);
  }
  const std::size_t width = check.attributes;
  std::vector<std::int64_t> found(contents.size() * width);
  if (!contents.empty()) check.run(contents, malformed, found);
  block.attributes.assign(block.records.size() * width, 0);
  for (std::size_t i = 0; i < found.size(); ++i) block.attributes[indices[i / width] * width + i % width] = found[i];
  if (check.frame_lists && !contents.empty()) {
    auto lists = check.frame_lists();
    lists->spread(indices, block.records.size());
    block.frame_lists = std::move(lists);
  }
  if (!contents.empty()) check.keep_decoded(block);
  for (const Malformed& bad : malformed) {
    const std::size_t index = indices[bad.record];
    const std::string& path = program_.source.files[first_ + static_cast<std::size_t>(block.first_record) + index];
    const Error error = bad.error.at(Place{.file = path, .record = 0, .offset = 0});
    if (!skips_early(program_.on_corrupt)) {
      block.records.resize(index);
      block.attributes.resize(index * width);
      return error;
    }
    block.skips.push_back(
        {.what = Skip::What::record, .index = index, .bytes = block.records[index].length, .error = error});
  }
  std::stable_sort(block.skips.begin(), block.skips.end(),
                   [](const Skip& left, const Skip& right) { return left.index < right.index; });
  return {};
}

Result<void> ListedFileReader::seek(std::int64_t record, const std::shared_ptr<const RecordIndex>&) {
  next_ = expected_ = static_cast<std::size_t>(record);
  return {};
}

void ListedFileReader::find(Block& block) {
  block.file = 0;
  block.file_offset = block.first_record = 0;
  Result<void> done;
  if (const auto thrown = catch_all([&] { done = add_files(block); }, no_memory_for_scan)) done = *thrown;
  if (!done.ok()) block.error = done.error();
  block.file_end = block.bytes_read = static_cast<std::int64_t>(used_bytes(block));
  block.fraction = 0;
  block.last = done.ok() && next_ == list_.size();
}

Result<void> ListedFileReader::add_files(Block& block) {
  for (; next_ < list_.size(); ++next_) {
    for (expected_ = std::max(expected_, next_); expected_ < list_.size() && files_.expect(list_[expected_]);)
      ++expected_;
    FOREBAY_TRY(const bool added, files_.add(list_[next_], block));
    if (!added) break;
    block.ordinals.push_back(list_[next_]);
  }
  return {};
}

}  // namespace forebay::engine
