// SPDX-License-Identifier: Apache-2.0
// States: any text is refused with a reason, or is a state that is written again unchanged. Every position is restored.
// An edited state is refused.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/index/source_sizes.h"
#include "engine/program/plan_access.h"
#include "engine/program/position.h"
#include "fuzz/check.h"
#include "plan/state/state.h"

using forebay::Json;
using forebay::Plan;
using forebay::engine::Position;
using forebay::engine::Shard;
using forebay::fuzz::check;
namespace plan = forebay::plan;

namespace {

constexpr std::int64_t rows = 12;          // of a batch
const std::vector<std::int64_t> sizes{0};  // of the file
constexpr std::int64_t epochs = 3;

const Plan& small_plan() {
  static forebay::fuzz::ScratchFile file;  // as long as the plan
  static const Plan made = [] {
    const auto json = forebay::parse_json(
        R"({"source": {"tfrecord": {"files": [")" + file.path() +
        R"("]}}, "decode": {"record": {"name": "v"}}, "epochs": 3, "steps": [{"batch": {"size": 12}}]})");
    check(json.ok(), "the document is JSON");
    auto plan = Plan::make(*json);
    check(plan.ok(), "the plan can be made");
    return *std::move(plan);
  }();
  return made;
}

Shard shard_of(std::uint8_t choice) {
  return choice % 2 == 0 ? Shard{} : Shard{.index = 1, .count = 3, .by = forebay::ShardBy::file};
}

forebay::Result<Json> written(const Shard& shard, const Position& at) {
  const auto& files = forebay::engine::program_of(small_plan()).source.files;
  return plan::write_state(small_plan(), shard, forebay::engine::summary(files, sizes), at);
}

forebay::Result<plan::Restart> read(const Json& state, const Shard& shard) {
  return plan::read_state(small_plan(), shard, sizes, state, {});
}

/// Any text.
void read_text(std::string_view text, const Shard& shard) {
  const auto json = forebay::parse_state(text);
  if (!json.ok()) return check(!json.error().text().empty(), "a refusal says why");
  const auto words = forebay::state_text(*json);
  check(words.ok() || words.error().code() == forebay::Code::state, "what is no state is refused as such");
  const auto accepted = plan::Accepted{.weights = text.size() % 2 == 0, .branches = text.size() % 3 == 0};
  const auto changed = plan::read_state(small_plan(), shard, sizes, *json, accepted);
  const auto restart = read(*json, shard);
  check(changed.ok() == restart.ok(), "a plan without a mixture has nothing to accept");
  if (!restart.ok()) return check(!restart.error().text().empty(), "a refusal says why");
  check(words.ok(), "a state that is accepted can be printed");
  const auto again = written(shard, restart->at);
  check(again.ok() && read(*again, shard).ok(), "an accepted state is written again");
  check(read(*again, shard)->at == restart->at, "… as the same");
}

bool possible(const Position& at, const Shard& shard) {
  const std::int64_t size = shard.by == forebay::ShardBy::file ? rows / shard.count : rows;
  const bool not_negative =
      std::min({at.epoch, at.batch, at.pulled, at.next, at.from, at.begun, at.cut_short, at.done}) >= 0;
  return not_negative && at.pulled < size && at.cut_short < size && at.next <= INT64_MAX / 2 &&
         at.next >= at.batch + (at.pulled > 0 ? 1 : 0) &&
         (at.epoch < epochs || (at.epoch == epochs && at.next == at.batch)) &&
         (at.epoch > 0 || (at.batch == 0 && at.pulled == 0)) && at.from <= at.epoch + 100'000 && at.begun <= 1 &&
         (at.cut_short == 0 || (at.epoch > 0 && at.next > 0 && at.next == at.batch)) && at.done <= 1'000'000;
}

/// A state of any position, whole and then edited: pairs of a place and a byte.
void write_position(std::span<const std::byte> bytes, const Shard& shard) {
  Position at;
  std::int64_t* const members[] = {&at.epoch, &at.batch, &at.pulled,    &at.next,
                                   &at.from,  &at.begun, &at.cut_short, &at.done};
  for (std::int64_t* const member : members) {
    const std::size_t size = std::min(sizeof(*member), bytes.size());
    if (size > 0) std::memcpy(member, bytes.data(), size);
    bytes = bytes.subspan(size);
  }
  const auto state = written(shard, at);
  check(state.ok(), "any position can be written");
  std::string text = state->text();
  const auto json = forebay::parse_state(text);
  check(json.ok() && *json == *state, "what is written is read as the same");
  const auto back = read(*json, shard);
  check(back.ok() == possible(at, shard), "a position is accepted when it can be, and only then");
  check(!back.ok() || back->at == at, "a position comes back");
  check(!read(*json, shard_of(shard.count == 1 ? 1 : 0)).ok(), "other shards refuse it");
  for (; bytes.size() >= 3; bytes = bytes.subspan(3)) {
    std::uint16_t place = 0;
    std::memcpy(&place, bytes.data(), sizeof(place));
    text[place % text.size()] = static_cast<char>(bytes[2]);
  }
  const auto edited = forebay::parse_state(text);
  if (!edited.ok() || *edited == *state) return;
  check(!read(*edited, shard).ok(), "an edited state is refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Shard shard = shard_of(static_cast<std::uint8_t>(data[0] >> 1));
  if ((data[0] & 1) == 0) {
    read_text(forebay::fuzz::text_of(data + 1, size - 1), shard);
  } else {
    write_position(forebay::fuzz::bytes_of(data + 1, size - 1).first(std::min<std::size_t>(size - 1, 96)), shard);
  }
  return 0;
}
