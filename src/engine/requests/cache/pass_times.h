// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/requests/cache/part_key.h"

namespace forebay::engine {

/// When a run reads the parts of its files that it reads from beginning to end: in this pass, and in the next one.
class PassTimes {
 public:
  static constexpr std::uint32_t not_read = UINT32_MAX;
  /// Places of files in the order of a pass, by number; empty: that of the list.
  using Places = std::vector<std::uint32_t>;
  /// `shared`: all processes of the run read all files.
  PassTimes(std::uint64_t run, bool shared, std::int64_t pass, std::uint32_t files, Places now = {}, Places next = {})
      : run_{run}, shared_{shared}, pass_{pass}, files_{files}, now_{std::move(now)}, next_{std::move(next)} {}

  /// The times of the part that begins at `offset` of a file of `size` bytes.
  [[nodiscard]] PartTimes in_order(std::uint32_t file, std::int64_t offset, std::int64_t size) const {
    return {.now = time(pass_, place(now_, file), offset, size),
            .next = time(pass_ + 1, place(next_, file), offset, size),
            .shared = shared_,
            .run = run_};
  }
  [[nodiscard]] std::int64_t pass() const { return pass_; }
  /// The times of any part of a file that is read by index.
  [[nodiscard]] PartTimes by_index() const { return {.now = PartTimes::at(pass_, 0), .run = run_}; }

 private:
  static std::uint32_t place(const Places& places, std::uint32_t file) {
    if (places.empty()) return file;
    return file < places.size() ? places[file] : not_read;
  }
  [[nodiscard]] std::uint64_t time(std::int64_t pass, std::uint32_t place, std::int64_t offset,
                                   std::int64_t size) const {
    if (place == not_read) return PartTimes::max;
    const double done = static_cast<double>(offset) / static_cast<double>(size);
    return PartTimes::at(pass, (static_cast<double>(place) + done) / static_cast<double>(files_));
  }

  std::uint64_t run_;
  bool shared_;
  std::int64_t pass_;
  std::uint32_t files_;
  Places now_;
  Places next_;
};

}  // namespace forebay::engine
