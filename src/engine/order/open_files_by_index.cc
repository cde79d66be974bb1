// SPDX-License-Identifier: Apache-2.0
// The part of OpenFiles that reaches records by the indexes of their files.
#include <algorithm>
#include <numeric>

#include "engine/order/reader_state.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t records_at_once = 1024;

std::vector<std::uint32_t> numbers_of(std::span<const Handle> files) {
  std::vector<std::uint32_t> out;
  for (const Handle& file : files) out.push_back(file.block);
  return out;
}

}  // namespace

Result<std::size_t> OpenFiles::read_indexed(ReaderState& file, std::span<Handle> out) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  const std::int64_t records = file.index->records();
  const auto count = static_cast<std::size_t>(
      std::min({static_cast<std::int64_t>(out.size()), records - file.indexed, records_at_once}));
  if (count == 0) return count;
  names_.clear();
  for (std::size_t i = 0; i < count; ++i)
    names_.push_back({.file = file.number, .record = file.indexed + static_cast<std::int64_t>(i)});
  FOREBAY_DO(access_.locate(names_, out.first(count)));
  file.indexed += static_cast<std::int64_t>(count);
  skips_.good(static_cast<std::int64_t>(count));
  const double fraction = static_cast<double>(file.indexed) / static_cast<double>(records);
  files_done_ += fraction - file.fraction;
  file.fraction = fraction;
  return count;
}

/// The restart has caught up within this file: from here on it is read as any other.
Result<void> OpenFiles::scan_from_here(const std::shared_ptr<ReaderState>& file) {
  if (file->indexed == file->index->records()) return {};
  FOREBAY_DO(file->scanner.skip_to(*file->index, file->indexed));
  file->index.reset();
  const Lock lock{mutex_};
  file->streamed = file->scanner.streamed();
  waiting_.push_back(file);
  return {};
}

Result<std::vector<std::int64_t>> OpenFiles::index(std::span<const Handle> files) {
  const auto numbers = numbers_of(files);
  FOREBAY_DO(access_.index(numbers, [this] { return !interrupt(); }));
  std::vector<std::int64_t> counts;
  for (const std::uint32_t file : numbers) {
    counts.push_back(access_.records(file));
    for (const Skip& skip : access_.skips(file)) {
      skips_.good(0);  // the records are not read in the order of the file: max_consecutive does not apply
      FOREBAY_DO(skips_.add(skip));
    }
    skips_.good(counts.back());
  }
  indexed_ = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const Lock lock{mutex_};
  skipped_ = skips_.counts();
  return counts;
}

Result<std::vector<std::int64_t>> OpenFiles::count(std::span<const Handle> files) {
  return access_.count(numbers_of(files), [this] { return !interrupt(); });
}

Result<void> OpenFiles::locate(std::span<const RecordName> names, std::span<Handle> out) {
  FOREBAY_DO(access_.locate(names, out));
  if (catching_up_) return {};  // nothing is read of them
  std::int64_t bytes = 0;
  if (!access_.compressed()) {
    for (const Handle& handle : out) bytes += handle.length;
  }
  const Lock lock{mutex_};
  records_ += std::ssize(names);
  bytes_read_ += bytes;  // those of compressed files are counted when they are decompressed
  return {};
}

Result<void> OpenFiles::end_pass() const {
  FOREBAY_DO(access_.unchanged());
  return skips_.end_pass();
}

Result<bool> OpenFiles::fetch(std::span<Handle> handles) {
  if (catching_up_) return false;
  FOREBAY_DO(access_.fetch(handles, [this] { return !interrupt(); }));
  if (const std::int64_t bytes = access_.take_bytes_read(); bytes > 0) {
    const Lock lock{mutex_};
    bytes_read_ += bytes;
  }
  return true;
}

}  // namespace forebay::engine
