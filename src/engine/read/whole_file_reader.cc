// SPDX-License-Identifier: Apache-2.0
#include "engine/read/whole_file_reader.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_files = 512;  // of a block: a run can be stopped only between two blocks

std::size_t used_bytes(const Block& block) {
  return block.records.empty() ? 0 : std::size_t{block.records.back().offset} + block.records.back().length;
}

Error larger_than(const char* option, std::int64_t size, std::int64_t limit, Detail detail) {
  return {Code::data, detail, fmt::format("the file has {} bytes, more than {}, {}; raise it", size, option, limit)};
}

}  // namespace

Result<bool> WholeFiles::add(std::uint32_t file, Block& block) {
  if (next_ && waiting_ != file) next_.reset();
  if (!next_) {
    if (auto opened = open(file); !opened.ok()) return opened.error().at(Place{.file = source_.files[file]});
  }
  const std::size_t used = used_bytes(block);
  const auto size = static_cast<std::size_t>(next_->size());
  if (block.buffer && (block.records.size() >= max_files || used + size > block.buffer_bytes)) return false;
  auto appended = append(block);
  next_.reset();
  if (!appended.ok()) return appended.error().at(Place{.file = source_.files[file]});
  return true;
}

/// Opens the next file and checks that it may be read.
Result<void> WholeFiles::open(std::uint32_t file) {
  FOREBAY_TRY(io::File opened, io::File::open(source_.files[file], folder_));
  if (opened.size() > source_.max_file_bytes)
    return larger_than("max_file_bytes", opened.size(), source_.max_file_bytes, Detail::data_loss);
  if (opened.size() > pool_.limit())
    return larger_than("`memory`", opened.size(), pool_.limit(), Detail::resource_exhausted);
  FOREBAY_DO(settle(opened, false));
  FOREBAY_DO(versions_.opened(file, opened.identity()));
  next_ = std::move(opened);
  waiting_ = file;
  return {};
}

Result<void> WholeFiles::append(Block& block) {
  const std::size_t used = used_bytes(block);
  const auto size = static_cast<std::size_t>(next_->size());
  if (!block.buffer) {
    block.buffer_bytes = std::max(pile_, size);
    block.buffer = pool_.lend(block.buffer_bytes, MemoryUse::scan);
    block.base = block.buffer.get();
  }
  FOREBAY_TRY(const std::size_t got, next_->read({block.buffer.get() + used, size}, 0));
  FOREBAY_DO(next_->unchanged());
  if (got < size) return Error{Code::data, Detail::failed_precondition, "the file was cut short while it was read"};
  block.records.push_back({static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(size)});
  return {};
}

WholeFileReader::WholeFileReader(const Program& program, std::uint32_t part, std::shared_ptr<BufferPool> pool,
                                 FileVersions& versions)
    : program_{program},
      part_{part},
      pool_{std::move(pool)},
      files_{program.source, *pool_, versions},
      first_{static_cast<std::uint32_t>(program.source.locate(part, 0, 0).file)},
      end_{first_ + static_cast<std::uint32_t>(program.source.files_of(part))},
      next_{first_} {}

Result<void> WholeFileReader::seek(std::int64_t record, const RecordIndex*) {
  next_ = first_ + static_cast<std::uint32_t>(record);
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

Result<void> ListedFileReader::seek(std::int64_t record, const RecordIndex*) {
  next_ = static_cast<std::size_t>(record);
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
    FOREBAY_TRY(const bool added, files_.add(list_[next_], block));
    if (!added) break;
    block.ordinals.push_back(list_[next_]);
  }
  return {};
}

}  // namespace forebay::engine
