// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/own_windows.h"

#include <algorithm>
#include <vector>

namespace forebay::engine {

namespace {

constexpr std::int64_t max_records = 256;   // that are looked at
constexpr std::int64_t max_windows = 8192;  // of them: more are not cut

/// The lengths of the first records, key by key, as a cutter wants them.
std::vector<std::int64_t> first_lengths(const Program& program, const StoredValues& stored, std::int64_t records) {
  std::vector<std::int64_t> out;
  for (std::int64_t record = 0; record < records; ++record) {
    for (const KeyLength& key : program.windows->lengths)
      out.push_back(key.constant ? *key.constant : stored.attributes[key.attribute].at(record));
  }
  return out;
}

/// The number of records whose windows were cut: all of them, unless there are too many windows.
std::int64_t records_cut(const SpanTable& made, CutEnd end, std::int64_t records) {
  return end == CutEnd::full && made.size() > 0 ? made[made.size() - 1].back().element + 1 : records;
}

}  // namespace

std::optional<double> windows_of_a_record(const Program& program, const StoredValues& stored) {
  const Windowing& windowing = program.windows->windowing;
  const std::int64_t records = std::min(stored.records, max_records);
  const std::vector<std::int64_t> all = first_lengths(program, stored, records);
  const std::size_t keys = program.windows->lengths.size();
  const std::int64_t at_once = windowing.grain == WindowGrain::parts ? records : 1;
  SpanTable made{windowing.axes};
  std::int64_t done = 0;
  CutEnd end = CutEnd::needs_rows;
  while (done < records && end != CutEnd::full) {
    const auto lengths = std::span{all}.subspan(static_cast<std::size_t>(done) * keys);
    WindowCursor cursor{.position = done};
    const WindowRows rows{.first_element = done,
                          .lengths = lengths.first(static_cast<std::size_t>(at_once) * keys),
                          .ends = true,
                          .place = {.seed = program.seed, .purpose = program.windows->purpose}};
    const auto room = max_windows - static_cast<std::int64_t>(made.size());
    const auto cut = windowing.cutter->cut(rows, cursor, room, made);
    if (!cut.ok()) return std::nullopt;
    end = *cut;
    done = records_cut(made, end, done + at_once);
    if (static_cast<std::int64_t>(made.size()) >= max_windows) break;
  }
  std::size_t spans = 0;
  for (std::size_t window = 0; window < made.size(); ++window) spans += made[window].size() / made.axes();
  return done == 0 ? 0 : static_cast<double>(spans) / static_cast<double>(done);
}

}  // namespace forebay::engine
