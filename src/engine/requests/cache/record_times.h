// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/requests/cache/part_key.h"
#include "io/file_system.h"

namespace forebay::engine {

/// When a run reads the parts of files whose records it reads in random order: as soon as one of the records that lie
/// in a part.
class RecordTimes {
 public:
  /// The place of a record in a pass, by its number among all.
  using Place = std::function<std::int64_t(std::int64_t pass, std::int64_t number)>;
  /// The records of a file that have bytes of a range: the first one, and the one behind the last.
  using Records = std::function<std::pair<std::int64_t, std::int64_t>(std::uint32_t file, io::ByteRange range)>;

  /// `first`: the number of the first record of each file. `count`: of all records.
  RecordTimes(Place place, Records records, std::vector<std::int64_t> first, std::int64_t count)
      : place_{std::move(place)}, records_{std::move(records)}, first_{std::move(first)}, count_{count} {}

  /// The run has come to this record.
  void reach(std::int64_t pass, std::uint32_t file, std::int64_t record) {
    now_ = std::max(now_, time(pass, place_(pass, first_[file] + record)));
  }
  /// The times of a part of a file, without PartTimes::run. The next use of a part with many records is not told: such
  /// a part is used again and again.
  [[nodiscard]] PartTimes of(std::int64_t pass, std::uint32_t file, io::ByteRange part) const {
    PartTimes out{.now = now_};
    const auto [first, last] = records_(file, part);
    if (last - first > max_records) return out;
    for (std::int64_t record = first; record < last; ++record) {
      const std::int64_t number = first_[file] + record;
      const std::uint64_t in_pass = time(pass, place_(pass, number));
      out.next = std::min(out.next, in_pass > now_ ? in_pass : time(pass + 1, place_(pass + 1, number)));
    }
    return out;
  }

 private:
  static constexpr std::int64_t max_records = 32;
  [[nodiscard]] std::uint64_t time(std::int64_t pass, std::int64_t place) const {
    return PartTimes::at(pass, static_cast<double>(place) / static_cast<double>(count_));
  }

  const Place place_;
  const Records records_;
  const std::vector<std::int64_t> first_;
  const std::int64_t count_;
  std::uint64_t now_ = 0;
};

}  // namespace forebay::engine
