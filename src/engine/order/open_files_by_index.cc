// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles that read by index.
#include <algorithm>
#include <numeric>

#include "engine/order/reader_state.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t records_at_once = 1024;  // of one `read_indexed` call: the deadline is checked between calls

std::vector<std::uint32_t> numbers_of(std::span<const Handle> files) {
  std::vector<std::uint32_t> out;
  for (const Handle& file : files) out.push_back(file.block);
  return out;
}

}  // namespace

/// `read` while a restart catches up: names the next records by the stored index, without scanning the file.
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

/// Called when the restart has caught up within this file. From here on the file is scanned like any other.
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
      skips_.good(0);  // the records are not read in file order, so max_consecutive does not apply
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
  if (catching_up_) return {};  // these records are not read
  std::int64_t bytes = 0;
  if (!access_.compressed()) {
    for (const Handle& handle : out) bytes += handle.length;
  }
  const Lock lock{mutex_};
  records_ += std::ssize(names);
  bytes_read_ += bytes;  // bytes of compressed files are counted by `fetch`
  return {};
}

Result<void> OpenFiles::attributes(std::size_t attribute, std::span<const Handle> records,
                                   std::span<std::int64_t> out) {
  // Orders that read by index ask for no blocks, between which they could be interrupted.
  if (indexed_ && interrupt()) return Error{Code::cancelled, "interrupted"};
  const std::size_t width = program_.early.attributes.size();
  if (attribute == 0) judged_ += std::ssize(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Handle& record = records[i];
    const Block& block = table_[record.block];
    out[i] = block.attributes.empty() ? access_.attribute(block.file, record.ordinal, attribute)
                                      : block.attributes[record.ordinal * width + attribute];
  }
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
