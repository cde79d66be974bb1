// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/error.h>
#include <forebay/run_options.h>

namespace forebay {
struct StateSpec;
}

namespace forebay::engine {

struct Program;
struct Section;

/// The states that the program saved after a batch, of the sequences that go on in the next one. Rows are lanes: the
/// states of row i belong to row i of the next batch. Plain data.
struct SavedStates {
  std::int64_t first = 0;  ///< The row of the whole batch that is row 0 here.
  std::int64_t lanes = 0;  ///< Rows of the whole batch.
  std::vector<bool> live;  ///< By row: its sequence goes on.
  /// By state, in the order of the plan: its name, and the bytes of all live rows one after the other.
  std::vector<std::pair<std::string, std::vector<std::byte>>> values;
  bool operator==(const SavedStates&) const = default;
};

/// The name of their section, the only one with texts.
inline constexpr std::string_view saver_stage = "saver";

/// Bytes of the state of one sequence.
[[nodiscard]] std::size_t bytes_of_state(const StateSpec& spec);
/// The rows first … end - 1 of each batch that a shard by row has.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> rows_of_shard(std::int64_t lanes, const Shard& shard);

/// The section "saver" of a state: "first" and "lanes", "live" with a 0 or 1 for each row, and "state/NAME", the bytes
/// of the live rows as base64.
[[nodiscard]] Section saver_section(const SavedStates& saved);
/// The inverse. Fails with Code::state, data_loss.
[[nodiscard]] Result<SavedStates> read_saver(const Section& section);
/// Fails with Code::state, data_loss, for states that this program does not have.
[[nodiscard]] Result<void> check_saved(const SavedStates& saved, const Program& program);
/// Fails with Code::state, failed_precondition, when they lack rows that this shard has.
[[nodiscard]] Result<void> check_rows(const SavedStates& saved, const Shard& shard);
/// The states of several shards of one run together. All of them fit one program. Fails with Code::state when rows are
/// missing between them, or are there twice.
[[nodiscard]] Result<SavedStates> join_saved(std::vector<SavedStates> parts);

}  // namespace forebay::engine
