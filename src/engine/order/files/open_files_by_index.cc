// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles that read by index.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "engine/order/files/reader_state.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t records_at_once = 1024;  // of one `read_indexed` call: the deadline is checked between calls
constexpr std::int64_t max_hole = std::int64_t{64} << 10;  // bytes between two records that are asked for together

std::vector<std::uint32_t> numbers_of(std::span<const Handle> files) {
  std::vector<std::uint32_t> out;
  for (const Handle& file : files) out.push_back(file.block);
  return out;
}

}  // namespace

/// A part that is opened or announced. Its records are named while a restart catches up, and if only those of own rows
/// are read.
std::shared_ptr<OpenFiles::ReaderState> OpenFiles::begin_part(std::uint32_t part) {
  auto out = std::make_shared<ReaderState>(program_, part, reader_of(part));
  out->own = own_rows_.decide(
      part, [&] { return access_.request_at_hand(part); }, [&] { return access_.stored_values(part); });
  if (out->own || (catches_up_by_name_ && catching_up_)) name_records(*out);
  if (!own_rows_.some_rows()) return out;
  const Lock lock{mutex_};
  reading_ = own_rows_.reading();
  return out;
}

/// Makes `read` name the records without reading them, if their number is known.
void OpenFiles::name_records(ReaderState& file) {
  if (program_.source.files_a_part > 0) {
    file.named = program_.source.files_of(file.number);
  } else if (file.index = access_.stored(file.number); file.index) {
    file.named = file.index->records();
  }
}

/// Counts the stored skips that come before the next record of a part that is not scanned. Returns how many records
/// come before the skip after them; none when the policy leaves the file.
Result<std::int64_t> OpenFiles::pass_named(ReaderState& file) {
  if (!file.index) return *file.named - file.indexed;
  const std::vector<Skip>& skips = access_.skips(file.number);
  while (!file.left) {
    const std::int64_t records = access_.records_before(file.number, file.next_skip) - file.indexed;
    if (records > 0 || file.next_skip == skips.size()) return records;
    FOREBAY_DO(pass_over(file, skips[file.next_skip]));
  }
  return std::int64_t{0};
}

/// `read` of a part that is not scanned: names the next records by the stored index.
Result<std::size_t> OpenFiles::read_indexed(ReaderState& file, std::span<Handle> out) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  FOREBAY_TRY(const std::int64_t records, pass_named(file));
  const auto count =
      static_cast<std::size_t>(std::min({static_cast<std::int64_t>(out.size()), records, records_at_once}));
  if (count == 0) return count;
  names_.clear();
  for (std::size_t i = 0; i < count; ++i)
    names_.push_back({.file = file.number, .record = file.indexed + static_cast<std::int64_t>(i)});
  FOREBAY_DO(locate_names(names_, out.first(count)));
  for (Handle& record : out.first(count)) record.ordinal += file.left_out;
  went_on(file, static_cast<std::int64_t>(count));
  if (catching_up_) return count;  // these records are not read
  const Lock lock{mutex_};
  records_ += static_cast<std::int64_t>(count);
  return count;
}

Result<std::int64_t> OpenFiles::skip(Stream stream, std::int64_t n) {
  if (rows_) return skip_resident(stream, n);
  if (row_streams_) return skip_streamed(stream, n);
  const bool by_number = open_[stream]->named && (catching_up_ || open_[stream]->own);
  if (!by_number) return Reader::skip(stream, n);
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  ReaderState& file = *open_[stream];
  FOREBAY_TRY(const std::int64_t records, pass_named(file));
  const std::int64_t count = std::min(n, records);
  if (count > 0) went_on(file, count);
  return count;
}

/// Counts records of a file that were named or passed over by its index.
void OpenFiles::went_on(ReaderState& file, std::int64_t count) {
  file.indexed += count;
  skips_.good(count);
  const double fraction = static_cast<double>(file.indexed) / static_cast<double>(*file.named);
  files_done_ += fraction - file.fraction;
  file.fraction = fraction;
}

/// Called when the restart has caught up within this file. From here on the file is scanned like any other.
Result<void> OpenFiles::scan_from_here(const std::shared_ptr<ReaderState>& file) {
  if (file->indexed == *file->named) return {};
  FOREBAY_DO(file->scanner->seek(file->indexed, file->index));
  file->index.reset();
  file->named.reset();
  const Lock lock{mutex_};
  file->memory.own = file->scanner->memory().own;
  waiting_.push_back(file);
  return {};
}

Result<std::vector<std::int64_t>> OpenFiles::index(std::span<const Handle> files) {
  const auto numbers = numbers_of(files);
  if (program_.source.rows || program_.source.files_a_part > 0) {
    FOREBAY_TRY(std::vector<std::int64_t> counts,
                program_.source.rows ? count_rows(numbers) : whole_files_.count(numbers));
    indexed_ = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    skips_.good(*indexed_);
    if (program_.source.rows) return counts;
    for (const std::uint32_t part : numbers) own_rows_.reached(part);
    const Lock lock{mutex_};
    reading_ = own_rows_.reading();
    return counts;
  }
  if (deadline_ && access_.goes_to_stores(numbers, false)) return leave_to_workers();
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
  for (const std::uint32_t file : numbers) own_rows_.reached(file, access_.why_whole(file));
  const Lock lock{mutex_};
  reading_ = own_rows_.reading();
  skipped_ = skips_.counts();
  return counts;
}

Result<std::vector<std::int64_t>> OpenFiles::count(std::span<const Handle> files) {
  if (program_.source.rows) return count_rows(numbers_of(files));
  if (program_.source.files_a_part > 0) return whole_files_.count(numbers_of(files));
  const auto numbers = numbers_of(files);
  if (deadline_ && access_.goes_to_stores(numbers, true)) return leave_to_workers();
  return access_.count(numbers, [this] { return !interrupt(); });
}

/// The error with which the consumer's thread gives up a call. It has little time, and what it had fetched by the end
/// of it would be lost, and fetched again.
Error OpenFiles::leave_to_workers() {
  interrupted_ = true;
  return {Code::cancelled, "interrupted"};
}

Result<void> OpenFiles::locate_names(std::span<const RecordName> names, std::span<Handle> out) {
  if (program_.source.rows) {
    return name_rows(names, out, true);
  } else if (program_.source.files_a_part > 0) {
    whole_files_.locate(names, out);
  } else {
    return access_.locate(names, out);
  }
  return {};
}

Result<void> OpenFiles::locate(std::span<const RecordName> names, std::span<Handle> out) {
  FOREBAY_DO(locate_names(names, out));
  if (catching_up_) return {};  // these records are not read
  const Lock lock{mutex_};
  records_ += std::ssize(names);
  return {};
}

Result<void> OpenFiles::attributes(std::size_t attribute, std::span<const Handle> records,
                                   std::span<std::int64_t> out) {
  // Orders that read by index ask for no blocks, between which they could be interrupted.
  if (indexed_ && interrupt()) return Error{Code::cancelled, "interrupted"};
  const std::size_t width = program_.early.attributes.size();
  if (attribute == program_.early.selecting + program_.interleave.attributes.size()) judged_ += std::ssize(records);
  if (row_attributes_) return row_attributes_->read(attribute, records, out);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Handle& record = records[i];
    const Block& block = table_[record.block];
    out[i] = block.attributes.empty() ? access_.attribute(block.file, record.ordinal, attribute)
                                      : block.attributes[record.ordinal * width + attribute];
  }
  return {};
}

Result<void> OpenFiles::frame_attributes(std::size_t attribute, std::span<const Handle> records,
                                         std::span<const std::int64_t> frames, std::span<std::int64_t> out) {
  if (indexed_ && interrupt()) return Error{Code::cancelled, "interrupted"};
  if (row_attributes_) return row_attributes_->read_frames(attribute, records, frames, out);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Block& block = table_[records[i].block];
    if (!block.frame_lists)
      return Error{Code::internal, "the values of frames are known of records in file order only"};
    out[i] = block.frame_lists->at(records[i].ordinal, frames[i], attribute);
  }
  return {};
}

Result<void> OpenFiles::attributes_of(std::size_t attribute, std::span<const RecordName> names,
                                      std::span<std::int64_t> out) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  if (program_.source.rows) {
    std::vector<Handle> rows(names.size());
    FOREBAY_DO(name_rows(names, rows, false));
    return row_attributes_->read(attribute, rows, out);
  }
  std::ranges::transform(names, out.begin(),
                         [&](const RecordName& name) { return access_.attribute(name, attribute); });
  return {};
}

Result<void> OpenFiles::end_pass() const {
  FOREBAY_DO(access_.unchanged());
  if (rows_) FOREBAY_DO(rows_->unchanged());
  return skips_.end_pass();
}

Result<bool> OpenFiles::fetch(std::span<Handle> handles) {
  if (program_.source.files_a_part > 0) return !catching_up_;
  return fetch_absent(handles, IndexedReader::Of::window);
}

Result<bool> OpenFiles::expect(std::span<const Handle> handles) {
  if (catching_up_) return false;
  if (program_.source.rows || program_.source.files_a_part > 0) return true;
  return access_.expect(handles, IndexedReader::Of::window);
}

OpenParts::Expected OpenFiles::expect_batch(std::span<const Handle> rows) {
  if (catching_up_ || program_.source.rows) return {};
  if (program_.source.files_a_part > 0) {
    const auto [files, done] = whole_files_.expect(rows);
    return {.bytes = files, .asked = done};
  }
  const std::int64_t bytes = access_.requested_bytes(rows);
  const auto asked = access_.expect(rows, IndexedReader::Of::batch);
  return {.bytes = bytes, .asked = asked.ok() && *asked};
}

Result<void> OpenFiles::prepare() {
  const auto& files = program_.source.files;
  const auto is_requested = [](const auto& file) { return stores::file_system_of(file) != nullptr; };
  if (prepared_ || !own_rows_.asks_indexes() || reaches_by_number(program_) || program_.source.rows ||
      std::ranges::none_of(files, is_requested))
    return {};
  if (deadline_) return leave_to_workers();
  FOREBAY_DO(access_.find_published([this] { return !interrupt(); }));
  prepared_ = true;
  return {};
}

Result<bool> OpenFiles::fetch_batch(std::span<Handle> handles) {
  FOREBAY_TRY(const bool there, fetch_absent(handles, IndexedReader::Of::batch));
  if (there && !program_.source.rows) count_bytes(handles);
  return there;
}

/// Counts the bytes of a batch that nobody else counts: those that tickets read out of mappings by index.
void OpenFiles::count_bytes(std::span<const Handle> handles) {
  if (!access_.maps() && !own_rows_.some_rows()) return;
  std::int64_t all = 0, mapped = 0;
  for (const Handle& handle : handles) {
    if (handle.block == BlockTable::nowhere) continue;
    all += handle.length;
    if (table_.indexed(handle.block)) mapped += handle.length;
  }
  const Lock lock{mutex_};
  bytes_read_ += mapped;
  if (own_rows_.some_rows()) row_bytes_ += all;
}

/// Neighbours are asked for together.
void OpenFiles::expect_reads(const BatchLayout& layout) const {
  if (!own_rows_.some_rows()) return;
  MappedFile* mapping = nullptr;
  std::int64_t begin = 0, end = 0;
  const auto ask = [&] {
    if (mapping != nullptr) mapping->will_need(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  for (const Unmapped& record : layout.unmapped) {
    const std::int64_t last = record.offset + layout.handles[static_cast<std::size_t>(record.row)].length;
    if (record.mapping == mapping && record.offset >= begin && record.offset <= end + max_hole) {
      end = std::max(end, last);
      continue;
    }
    ask();
    mapping = record.mapping;
    begin = record.offset;
    end = last;
  }
  ask();
}

/// Brings the records that are not in memory, as `fetch`.
Result<bool> OpenFiles::fetch_absent(std::span<Handle> handles, IndexedReader::Of what) {
  if (catching_up_) {
    stop_bringing();  // of a batch that nobody wants any more
    return false;
  }
  if (program_.source.rows) return true;  // rows are in memory as soon as they have a handle
  const auto go_on = [this] { return !interrupt(); };
  if (program_.source.files_a_part > 0) {
    FOREBAY_DO(bring_files(handles));
  } else {
    FOREBAY_TRY(const bool there, access_.fetch(handles, what, go_on));
    if (!there) return nothing_yet("no bytes yet");
  }
  if (const std::int64_t bytes = access_.take_bytes_read(); bytes > 0) {
    const Lock lock{mutex_};
    bytes_read_ += bytes;
  }
  return true;
}

Result<void> OpenFiles::hand_over(BatchLayout& layout, std::int64_t batch) {
  FOREBAY_DO(fetch_batch(layout.handles));
  if (program_.source.rows) {
    table_.hand_over_rows(layout.handles, batch, layout.row_blocks, layout.blocks);
  } else {
    table_.hand_over(layout.handles, batch,
                     {.payloads = layout.payloads, .blocks = layout.blocks, .unmapped = layout.unmapped});
    expect_reads(layout);
  }
  return {};
}

}  // namespace forebay::engine
