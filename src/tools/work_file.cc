// SPDX-License-Identifier: Apache-2.0
#include "tools/work_file.h"

#include <limits>

#include <fmt/format.h>

#include "engine/requests/open_file.h"

namespace forebay::tools {

namespace {

constexpr std::int64_t work_pages_kept = std::int64_t{16} << 20;  // bytes of a mapping, as in engine::each_block

Source of_file(Source source, const std::string& path) {
  source.files = {path};
  return source;
}

}  // namespace

WorkFile::WorkFile(const Source& source, const std::string& path, OnCorruptFile on_corrupt)
    : source_{of_file(source, path)},
      on_corrupt_{on_corrupt},
      reader_{source_, 0, std::make_shared<engine::BufferPool>(std::numeric_limits<std::int64_t>::max()), cache_,
              on_corrupt == OnCorruptFile::fail ? engine::Corruption::fail : engine::Corruption::find} {}

/// A source of whole files: the file is the record.
Result<std::optional<ReadRecord>> WorkFile::whole() {
  const std::string& path = source_.files.front();
  FOREBAY_TRY(const auto opened, engine::open_file(path));
  const io::RandomAccessFile& file = *opened;
  if (file.size() > source_.max_file_bytes)
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the file has {} bytes, more than max_file_bytes, {}; raise it", file.size(),
                             source_.max_file_bytes),
                 Place{.file = path}};
  ReadRecord out{.key = path, .value = std::string(static_cast<std::size_t>(file.size()), '\0')};
  FOREBAY_TRY(const std::size_t got, file.read(std::as_writable_bytes(std::span{out.value}), 0));
  FOREBAY_DO(file.unchanged());
  if (got < out.value.size())
    return Error{Code::data, Detail::failed_precondition, "the file was cut short while it was read",
                 Place{.file = path}};
  ended_ = true;
  return std::optional{std::move(out)};
}

Result<void> WorkFile::next_block(const StopCheck* check) {
  StopCheck::look(check);
  if (!begun_) {
    FOREBAY_DO(engine::open_file(source_.files.front()));  // what cannot be opened fails here, and not at a record
    reader_.need();
    begun_ = true;
  }
  if (block_.mapping && reader_.offset() - forgotten_ >= work_pages_kept) {
    block_.mapping->forget(static_cast<std::size_t>(forgotten_),
                           static_cast<std::size_t>(reader_.offset() - forgotten_));
    forgotten_ = reader_.offset();
  }
  block_.clear();
  next_ = skip_ = 0;
  reader_.find(block_);
  if (!reader_.ready()) reader_.wait_a_little();
  return {};
}

/// Whether the next record is corrupt. Counts what is left out before it.
bool WorkFile::skips_next() {
  while (skip_ < block_.skips.size()) {
    const engine::Skip& skip = block_.skips[skip_];
    const bool record = skip.what == engine::Skip::What::record;
    if (skip.index > next_) return false;
    ++skip_;
    ++skipped_;
    if (on_corrupt_ == OnCorruptFile::skip_file) {
      skipped_ = 0;
      skipped_file_ = ended_ = true;
      return true;
    }
    if (record) {
      ++next_;
      return true;
    }
  }
  return false;
}

/// Verifies the next record. One of a mapped file is copied before, because another process may write to it.
Result<ReadRecord> WorkFile::record() {
  const Extent& extent = block_.records[next_];
  Record found{block_.base + extent.offset, extent.length};
  if (block_.mapping) {
    copy_.assign(found.data(), found.data() + found.size() + source_.format->trailer());
    copy_.resize(copy_.size() + record_slack);
    found = {copy_.data(), extent.length};
  }
  const std::int64_t number = block_.first_record + static_cast<std::int64_t>(next_);
  const std::int64_t payload = block_.file_offset + static_cast<std::int64_t>(extent.offset);
  const std::string& path = source_.files.front();
  FOREBAY_DO(source_.format->verify({&found, 1}).at(Place{.file = path, .record = number, .offset = payload}));
  ++next_;
  return ReadRecord{.key = source_.format->key(path, number, source_.format->record_offset(payload)),
                    .value = std::string{reinterpret_cast<const char*>(found.data()), found.size()}};
}

Result<std::optional<ReadRecord>> WorkFile::next(const StopCheck* check) {
  if (!ended_ && source_.files_a_part != 0) return whole();
  while (!ended_) {
    if (skips_next()) continue;
    if (next_ < block_.records.size()) {
      FOREBAY_TRY(ReadRecord found, record());
      return std::optional{std::move(found)};
    }
    if (block_.error) return *block_.error;
    if (block_.last) {
      FOREBAY_DO(reader_.unchanged());
      ended_ = true;
      break;
    }
    FOREBAY_DO(next_block(check));
  }
  return std::optional<ReadRecord>{};
}

}  // namespace forebay::tools
