// SPDX-License-Identifier: Apache-2.0
#include "engine/program/saved_states.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/base64.h"
#include "engine/program/program.h"

namespace forebay::engine {

namespace {

constexpr std::string_view first_member = "first";
constexpr std::string_view lanes_member = "lanes";
constexpr std::string_view live_member = "live";
constexpr std::string_view state_prefix = "state/";
constexpr std::int64_t max_saved_lanes = 1 << 20;

Error corrupt_saver(std::string_view what) {
  return {Code::state, Detail::data_loss,
          fmt::format("corrupt state: section '{}' {}; go on from an older state", saver_stage, what)};
}

/// Reads "live". Fails when it has other characters than 0 and 1.
Result<std::vector<bool>> read_live(std::string_view text) {
  std::vector<bool> out;
  for (const char row : text) {
    if (row != '0' && row != '1') return corrupt_saver("says of a row neither 0 nor 1");
    out.push_back(row == '1');
  }
  return out;
}

}  // namespace

std::size_t bytes_of_state(const StateSpec& spec) {
  std::size_t bytes = size_of(spec.dtype);
  for (const std::int64_t size : spec.shape.dims()) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes) || bytes > INT64_MAX) return INT64_MAX;
  }
  return bytes;
}

std::pair<std::int64_t, std::int64_t> rows_of_shard(std::int64_t lanes, const Shard& shard) {
  return {lanes * shard.index / shard.count, lanes * (shard.index + 1) / shard.count};
}

Section saver_section(const SavedStates& saved) {
  std::string live;
  for (const bool row : saved.live) live += row ? '1' : '0';
  Section out{.stage = std::string{saver_stage},
              .values = {{std::string{first_member}, saved.first}, {std::string{lanes_member}, saved.lanes}},
              .texts = {{std::string{live_member}, std::move(live)}}};
  for (const auto& [name, bytes] : saved.values)
    out.texts.emplace_back(std::string{state_prefix} + name, to_base64(bytes));
  return out;
}

Result<SavedStates> read_saver(const Section& section) {
  SavedStates out;
  bool has_first = false, has_lanes = false, has_live = false;
  for (const auto& [name, value] : section.values) {
    bool& has = name == first_member ? has_first : has_lanes;
    if ((name != first_member && name != lanes_member) || std::exchange(has, true))
      return corrupt_saver(fmt::format("has a member '{}' that does not belong there", name));
    (name == first_member ? out.first : out.lanes) = value;
  }
  for (const auto& [name, text] : section.texts) {
    if (name == live_member && !std::exchange(has_live, true)) {
      FOREBAY_TRY(out.live, read_live(text));
      continue;
    }
    auto bytes = from_base64(text);
    if (!name.starts_with(state_prefix) || !bytes)
      return corrupt_saver(fmt::format("has a member '{}' that is no base64 text of a state", name));
    out.values.emplace_back(name.substr(state_prefix.size()), *std::move(bytes));
  }
  if (!has_first || !has_lanes || !has_live) return corrupt_saver("lacks 'first', 'lanes' or 'live'");
  const auto rows = std::ssize(out.live);
  if (out.lanes > max_saved_lanes || rows > out.lanes || out.first > out.lanes - rows)
    return corrupt_saver(fmt::format("has {} rows from row {} on, of {}", rows, out.first, out.lanes));
  return out;
}

Result<void> check_saved(const SavedStates& saved, const Program& program) {
  const Batching& batching = program.batching;
  const auto live = static_cast<std::size_t>(std::ranges::count(saved.live, true));
  bool fits = batching.lanes > 0 && saved.lanes == batching.lanes && saved.values.size() == batching.states.size();
  for (std::size_t i = 0; fits && i < batching.states.size(); ++i) {
    const auto of = [&](const auto& value) { return value.first == batching.states[i].name; };
    const auto found = std::ranges::find_if(saved.values, of);
    fits = found != saved.values.end() && found->second.size() == live * bytes_of_state(batching.states[i]);
  }
  if (fits) return {};
  return corrupt_saver("does not fit the rows and states of this plan");
}

Result<void> check_rows(const SavedStates& saved, const Shard& shard) {
  const auto [first, end] = rows_of_shard(saved.lanes, shard);
  const std::int64_t saved_end = saved.first + std::ssize(saved.live);
  if (first >= saved.first && end <= saved_end) return {};
  return Error{
      Code::state, Detail::failed_precondition,
      fmt::format("the state has the states of the sequences of rows {} to {} of {}, and this process has rows "
                  "{} to {}: give the states of all shards as a list, or go on with the same shard",
                  saved.first, saved_end - 1, saved.lanes, first, end - 1)};
}

Result<SavedStates> join_saved(std::vector<SavedStates> parts) {
  std::ranges::sort(parts, {}, &SavedStates::first);
  SavedStates out = std::move(parts.front());
  for (auto& value : out.values) value.second.reserve(value.second.size() * parts.size());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const SavedStates& part = parts[i];
    const std::int64_t end = out.first + std::ssize(out.live);
    if (part.first != end)
      return Error{Code::state, Detail::failed_precondition,
                   fmt::format("the list has states of rows {} to {} and of rows from {} on, of {}: it must have the "
                               "state of every shard, each once",
                               out.first, end - 1, part.first, out.lanes)};
    out.live.insert(out.live.end(), part.live.begin(), part.live.end());
    for (auto& [name, bytes] : out.values) {
      const auto of = [&wanted = name](const auto& value) { return value.first == wanted; };
      const auto& more = std::ranges::find_if(part.values, of)->second;
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
  }
  return out;
}

}  // namespace forebay::engine
