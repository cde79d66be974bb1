// SPDX-License-Identifier: Apache-2.0
#include "engine/read/corruption.h"

#include <algorithm>

namespace forebay::engine {

namespace {

// Bytes. The offset of an extent has 32 bits; an offset below this fits.
constexpr std::size_t max_reach = std::size_t{0xffff0000U};

}  // namespace

/// The state of one call of `find`.
///
///     step: scan and verify ─► limit or end of the window ─────────► done
///       ▲         │ corrupt length, or a bad record that no frame follows
///       │         ▼
///       │       lost_ is set ─► find_end_of_lost: resync ─► no intact record yet ─► done, lost_ stays set
///       └─ a range is skipped ◄─────────────┘ an intact record
struct CorruptionFinder::Pass {
  CorruptionFinder& finder;
  const Format& format;
  const Window& window;
  std::vector<Extent>& records;
  std::vector<Skip>& skips;
  std::size_t at = 0;                // bytes of the window before this are handled
  std::optional<Scanned> done = {};  // set: the result of the call

  [[nodiscard]] std::int64_t place(std::size_t offset) const {
    return window.offset + static_cast<std::int64_t>(offset);
  }
  [[nodiscard]] std::size_t begin_of(const Extent& extent) const {
    return static_cast<std::size_t>(format.record_offset(place(extent.offset)) - window.offset);
  }
  [[nodiscard]] Resync resync(std::size_t from) const {
    return format.resync(window.bytes, window.offset, from, window.last, finder.kept_);
  }
  /// Scans one record at `place_in`. The format is not told that the file ends, so only a corrupt length is an error.
  [[nodiscard]] Result<Scanned> probe(std::size_t place_in) const {
    finder.probed_.clear();
    return format.scan(window.bytes.subspan(place_in), place(place_in), false, 1, finder.probed_);
  }

  void run();
  void step();
  void find_end_of_lost();
  [[nodiscard]] bool padding(std::size_t begin, std::size_t end) const;
  bool verify(std::size_t first, std::size_t stop);
  void compare(std::size_t first, std::size_t stop);
  void stopped(std::size_t stop, const Scanned& found, bool unsure);
  void stopped_at_end(std::size_t stop, bool unsure);
  void corrupt(std::size_t stop, const Error& error, bool unsure, bool cut);
  [[nodiscard]] bool overlapped(std::size_t stop);
  void add_range(std::size_t begin, std::size_t end, const Error& error);
  std::size_t take_back();
};

void CorruptionFinder::Pass::add_range(std::size_t begin, std::size_t end, const Error& error) {
  skips.push_back({Skip::What::range, records.size(), place(begin), static_cast<std::int64_t>(end - begin),
                   error.at(Place{.offset = place(begin)})});
}

/// Removes the last record, which is bad, and its skip. Returns where the record begins in the window.
std::size_t CorruptionFinder::Pass::take_back() {
  const std::size_t begin = begin_of(records.back());
  records.pop_back();
  skips.pop_back();
  return begin;
}

/// Whether all bytes from `begin` to `end` may be padding.
bool CorruptionFinder::Pass::padding(std::size_t begin, std::size_t end) const {
  return format.padding(window.bytes.subspan(begin, end - begin)) == end - begin;
}

void CorruptionFinder::Pass::find_end_of_lost() {
  const Resync next = resync(at);
  Lost& lost = *finder.lost_;
  lost.padding = lost.padding && !next.found && padding(at, next.at);
  if (!next.found && !window.last) {
    done = Scanned{.consumed = next.at, .wanted = next.wanted - next.at};
    return;
  }
  at = next.at;
  if (!lost.padding)
    skips.push_back({Skip::What::range, records.size(), lost.offset, place(at) - lost.offset, lost.error});
  finder.lost_.reset();
  if (next.found) return;
  if (window.broken != nullptr) add_range(at, at, *window.broken);  // a second fault, which covers the rest of the file
  done = Scanned{.consumed = at};
}

/// Compares the records from `first` on with those before them and adds a skip for each bad one. Formats that compare
/// have no checksums, so `verify` adds none.
void CorruptionFinder::Pass::compare(std::size_t first, std::size_t stop) {
  for (std::size_t i = first; i < records.size(); ++i) {
    const auto good = format.compare(window.bytes.subspan(records[i].offset, records[i].length), finder.compared_);
    if (good.ok()) continue;
    const std::size_t end = i + 1 < records.size() ? begin_of(records[i + 1]) : stop;
    const std::size_t begin = begin_of(records[i]);
    skips.push_back({Skip::What::record, i, place(begin), static_cast<std::int64_t>(end - begin),
                     good.error().at(Place{.offset = place(begin)})});
  }
}

/// Verifies the records from `first` on and adds a skip for each bad one. The last record ends at `stop`. Returns
/// whether the last record is bad.
bool CorruptionFinder::Pass::verify(std::size_t first, std::size_t stop) {
  std::vector<Record>& payloads = finder.payloads_;
  payloads.clear();
  for (std::size_t i = first; i < records.size(); ++i)
    payloads.push_back(window.bytes.subspan(records[i].offset, records[i].length));
  bool last_is_bad = false;
  if (format.compares()) compare(first, stop);
  for (std::size_t next = first; next < records.size();) {
    const auto good = format.verify(std::span{payloads}.subspan(next - first));
    if (good.ok()) break;
    const std::size_t i = next + static_cast<std::size_t>(std::max<std::int64_t>(0, good.error().place().row));
    next = i + 1;
    last_is_bad = next == records.size();
    const std::size_t begin = begin_of(records[i]);
    const std::size_t end = i + 1 < records.size() ? begin_of(records[i + 1]) : stop;
    skips.push_back({Skip::What::record, i, place(begin), static_cast<std::int64_t>(end - begin),
                     good.error().at(Place{.offset = place(records[i].offset)})});
  }
  return last_is_bad;
}

void CorruptionFinder::Pass::step() {
  const std::size_t first = records.size();
  const std::size_t limit = std::min(window.limit, max_reach);
  if (at > 0 && at >= limit) {
    done = Scanned{.consumed = at};
    return;
  }
  // The format is not told that the file ends with the window, as in `probe`.
  auto scanned = format.scan(window.bytes.subspan(at), place(at), false, limit > at ? limit - at : 1, records);
  for (std::size_t i = first; i < records.size(); ++i) records[i].offset += static_cast<std::uint32_t>(at);
  const std::size_t stop =
      scanned.ok() ? at + scanned->consumed : static_cast<std::size_t>(scanned.error().place().offset - window.offset);
  const bool unsure = verify(first, stop);
  if (scanned.ok() && unsure && scanned->wanted == 0) {  // stopped by the limit: check the next frame, too
    scanned = probe(stop);
    if (scanned.ok()) scanned->consumed = 0;
  }
  if (!scanned.ok()) {
    corrupt(stop, scanned.error(), unsure, false);
  } else {
    stopped(stop, *scanned, unsure);
  }
}

/// Called when the scan stopped at `stop` without a corrupt length: at its limit, or at the end of the window.
/// `unsure`: the last record is bad.
void CorruptionFinder::Pass::stopped(std::size_t stop, const Scanned& found, bool unsure) {
  if (found.wanted == 0) {
    done = Scanned{.consumed = stop};
  } else if (!window.last) {
    // The bytes after a bad record decide whether its length is right. The record waits for the next window.
    const std::size_t begin = unsure ? take_back() : stop;
    done = Scanned{.consumed = begin, .wanted = stop - begin + found.wanted};
  } else if (window.broken != nullptr) {
    corrupt(stop, *window.broken, unsure && stop < window.bytes.size(), true);
  } else {
    stopped_at_end(stop, unsure);
  }
}

/// Called when the last window has no more records that need a successor. The file's end may end one more, such as a
/// line without a line feed.
void CorruptionFinder::Pass::stopped_at_end(std::size_t stop, bool unsure) {
  const std::size_t size = window.bytes.size();
  const std::size_t first = records.size();
  const auto end = format.scan(window.bytes.subspan(stop), place(stop), true, max_reach, records);
  for (std::size_t i = first; i < records.size(); ++i) records[i].offset += static_cast<std::uint32_t>(stop);
  verify(first, size);
  if (end.ok() || (stop < size && padding(stop, size))) {
    done = Scanned{.consumed = size};
  } else {
    // Without checksums, such as in a file whose last quote is missing, records may follow the fault.
    const bool cut = format.has_checksums();
    corrupt(static_cast<std::size_t>(end.error().place().offset - window.offset), end.error(), unsure, cut);
  }
}

/// Called when no intact record begins at `stop`. `unsure`: the last record is bad. `cut`: the file ends inside the
/// frame at `stop`.
void CorruptionFinder::Pass::corrupt(std::size_t stop, const Error& error, bool unsure, bool cut) {
  if (unsure && overlapped(stop)) return;
  if (cut) {
    add_range(stop, window.bytes.size(), error);
    done = Scanned{.consumed = window.bytes.size()};
  } else {
    finder.lost_ = Lost{place(stop), error, padding(stop, stop + 1)};
    at = stop + 1;
  }
}

/// Called when the last record is bad and no record begins at its end, `stop`. Returns true when a good record begins
/// inside the bad one and ends after it, or when more bytes are needed to decide; the bad record is then removed.
bool CorruptionFinder::Pass::overlapped(std::size_t stop) {
  for (std::size_t from = begin_of(records.back()) + 1; from < stop;) {
    const Resync next = resync(from);
    if (next.at >= stop) break;
    if (!next.found) {
      if (window.last) break;
      const std::size_t begin = take_back();
      done = Scanned{.consumed = begin, .wanted = next.wanted - begin};
      return true;
    }
    const auto found = probe(next.at);
    const std::size_t end = next.at + (found.ok() ? found->consumed : 1);
    if (end > stop) {
      const Error error = skips.back().error;
      add_range(take_back(), next.at, error);
      at = next.at;
      return true;
    }
    from = end;
  }
  return false;
}

Scanned CorruptionFinder::find(const Window& window, std::vector<Extent>& records, std::vector<Skip>& skips) {
  Pass pass{*this, *format_, window, records, skips};
  pass.run();
  return *pass.done;
}

void CorruptionFinder::Pass::run() {
  while (!done) {
    if (finder.lost_) {
      find_end_of_lost();
    } else {
      step();
    }
  }
}

namespace {

/// The indices of the records that no skip names.
std::vector<std::size_t> intact_records(const Block& block) {
  std::vector<std::size_t> indices;
  std::size_t next = 0;  // index of the next skip
  for (std::size_t i = 0; i < block.records.size(); ++i) {
    const auto& skips = block.skips;
    while (next < skips.size() && (skips[next].what == Skip::What::range || skips[next].index < i)) ++next;
    if (next == skips.size() || skips[next].index != i) indices.push_back(i);
  }
  return indices;
}

/// The skip of a malformed record: its whole frame.
Skip skip_of(const Format& format, const Block& block, std::size_t index, const Error& error) {
  const Extent& extent = block.records[index];
  const std::int64_t begin = format.record_offset(block.file_offset + extent.offset);
  std::vector<Extent> probed;
  const auto frame =
      format.scan(block.checked.subspan(static_cast<std::size_t>(begin - block.file_offset)), begin, false, 1, probed);
  const std::size_t bytes = std::max<std::size_t>(frame.ok() ? frame->consumed : 0, extent.length);
  return {Skip::What::record, index, begin, static_cast<std::int64_t>(bytes), error.at(Place{.offset = begin})};
}

}  // namespace

void RecordCheck::keep_decoded(Block& block) const {
  if (!decoded) return;
  DecodedRecords all = decoded();
  if (all.rows && all.rows->rows == std::ssize(block.records)) block.decoded = std::move(all);
}

void check_messages(const Format& format, const RecordCheck& check, const std::string& path, Block& block) {
  const std::vector<std::size_t> indices = intact_records(block);
  std::vector<Record> intact;
  intact.reserve(indices.size());
  for (const std::size_t i : indices)
    intact.push_back(block.checked.subspan(block.records[i].offset, block.records[i].length));
  const std::size_t width = check.attributes;
  std::vector<Malformed> malformed;
  std::vector<std::int64_t> found(intact.size() * width);
  check.run(intact, malformed, found);
  block.attributes.assign(block.records.size() * width, 0);
  for (std::size_t i = 0; i < found.size(); ++i) block.attributes[indices[i / width] * width + i % width] = found[i];
  if (check.frame_lists) {
    auto lists = check.frame_lists();
    lists->spread(indices, block.records.size());
    block.frame_lists = std::move(lists);
  }
  check.keep_decoded(block);
  for (const Malformed& bad : malformed) {
    Skip skip = skip_of(format, block, indices[bad.record], bad.error);
    const std::int64_t record = block.first_record + static_cast<std::int64_t>(skip.index);
    skip.error = skip.error.at(Place{.file = path, .record = record});
    block.skips.push_back(std::move(skip));
  }
  std::ranges::stable_sort(block.skips, {}, &Skip::offset);
}

}  // namespace forebay::engine
