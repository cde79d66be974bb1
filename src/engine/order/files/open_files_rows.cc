// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles for a source of rows, which has parts but no files.
#include <algorithm>

#include <fmt/core.h>

#include "engine/order/files/open_files.h"

namespace forebay::engine {

namespace {

constexpr std::size_t rows_at_once = 1024;  // of one `read`: the deadline is checked between calls

Error no_random_access() {
  return Error{Code::config, Detail::failed_precondition,
               "the rows of this source come one after the other, so they cannot be counted or reached in any order; "
               "shuffle with a buffer, and shard by rows"};
}

}  // namespace

void OpenFiles::begin_rows(const RowSource& source, std::function<void()> wake) {
  row_attributes_.emplace(program_, pool_, table_);
  if (source.resident()) {
    rows_.emplace(source, pool_, requests_, table_);
    if (program_.early.selecting > 0) selected_rows_.emplace(program_, pool_, *rows_, *row_attributes_);
  } else {
    auto share = std::make_shared<RunShare>(pool_, means_);
    share->note = [this](std::string line) { note(std::move(line)); };
    row_streams_.emplace(source, !repeats(program_), std::move(share), table_, std::move(wake));
  }
}

Result<std::size_t> OpenFiles::read_rows(Stream stream, std::span<Handle> out) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  FOREBAY_TRY(const std::size_t count, rows_ ? read_resident(stream, out) : read_row_blocks(stream, out));
  if (count == 0) return count;
  skips_.good(static_cast<std::int64_t>(count));
  const Lock lock{mutex_};
  records_ += static_cast<std::int64_t>(count);
  return count;
}

/// `read` of rows in memory: names the next rows.
Result<std::size_t> OpenFiles::read_resident(Stream stream, std::span<Handle> out) {
  const double before = rows_->fraction(stream);
  FOREBAY_TRY(const std::size_t count, rows_->read(stream, out.first(std::min(out.size(), rows_at_once))));
  if (count > 0) files_done_ += rows_->fraction(stream) - before;
  return count;
}

/// `skip` of rows in memory.
Result<std::int64_t> OpenFiles::skip_resident(Stream stream, std::int64_t n) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  const double before = rows_->fraction(stream);
  const std::int64_t count = rows_->skip(stream, n);
  if (count == 0) return count;
  files_done_ += rows_->fraction(stream) - before;
  skips_.good(count);
  const Lock lock{mutex_};
  records_ += count;
  return count;
}

/// `skip` of a part that has a reader.
Result<std::int64_t> OpenFiles::skip_streamed(Stream stream, std::int64_t n) {
  const std::int64_t count = row_streams_->skip_unread(stream, n);
  if (count == 0) return Reader::skip(stream, n);
  skips_.good(count);
  const Lock lock{mutex_};
  records_ += count;
  return count;
}

/// Makes room for a row block. Fails when the rows that wait take the whole budget.
Result<void> OpenFiles::make_room_for_rows() {
  table_.collect(finished_, free_blocks_);
  if (table_.pinned_bytes() > pool_->limit()) table_.compact(batch_);
  if (table_.pinned_bytes() > pool_->limit()) table_.compact_more(batch_);
  if (table_.pinned_bytes() > pool_->limit()) {
    return Error{
        Code::data, Detail::resource_exhausted,
        fmt::format("the rows that wait for their turn hold {} bytes, but the memory budget is {} bytes; raise "
                    "`memory`, or lower the buffers of shuffles or the batch size",
                    table_.pinned_bytes(), pool_->limit())};
  }
  return {};
}

/// `read` of a part that has a reader.
Result<std::size_t> OpenFiles::read_row_blocks(Stream stream, std::span<Handle> out) {
  FOREBAY_DO(make_room_for_rows());
  FOREBAY_TRY(const RowStreams::Rows rows, row_streams_->read(stream, out, batch_));
  if (rows.got != PartReader::Got::nothing_yet) return rows.count;
  return nothing_yet("no rows yet");
}

void OpenFiles::close_rows(Stream stream) {
  files_done_ += rows_ ? 1 - rows_->fraction(stream) : 1;
  return rows_ ? rows_->close(stream) : row_streams_->close(stream, batch_);
}

/// The rows of parts whose readers give as many as the program says.
Result<std::vector<std::int64_t>> OpenFiles::count_streamed(std::span<const std::uint32_t> parts) const {
  std::vector<std::int64_t> counts;
  for (const std::uint32_t part : parts) {
    const std::optional<std::int64_t>& count = program_.source.rows->parts[part].count;
    if (!count || program_.early.selecting > 0) return no_random_access();
    counts.push_back(*count);
  }
  return counts;
}

/// The rows of parts that are all read into memory.
Result<std::vector<std::int64_t>> OpenFiles::collect_rows(std::span<const std::uint32_t> parts) {
  const auto room = [this]() -> Result<void> {
    if (interrupt()) return Error{Code::cancelled, "interrupted"};
    return make_room_for_rows();
  };
  std::vector<std::int64_t> counts;
  for (const std::uint32_t part : parts) {
    FOREBAY_TRY(const bool all, row_streams_->collect(part, batch_, room));
    if (!all) return nothing_yet("no rows yet");
    counts.push_back(row_streams_->collected().rows(part));
  }
  return counts;
}

Result<std::vector<std::int64_t>> OpenFiles::count_rows(std::span<const std::uint32_t> parts) {
  if (!rows_) return collects_ ? collect_rows(parts) : count_streamed(parts);
  if (selected_rows_) FOREBAY_DO(selected_rows_->select(parts, [this] { return !interrupt(); }));
  std::vector<std::int64_t> counts;
  for (const std::uint32_t part : parts)
    counts.push_back(selected_rows_ ? selected_rows_->rows(part) : rows_->rows(part));
  return counts;
}

/// Writes the handles of rows in memory. With `counted`, the caller owns them.
Result<void> OpenFiles::name_rows(std::span<const RecordName> names, std::span<Handle> out, bool counted) {
  if (collects_) {
    row_streams_->collected().name(names, out, counted);
    return {};
  }
  if (!selected_rows_) return rows_->name(names, out);
  std::vector<RecordName> in_parts;
  for (const RecordName& name : names) in_parts.push_back(selected_rows_->in_part(name));
  return rows_->name(in_parts, out);
}

}  // namespace forebay::engine
