// SPDX-License-Identifier: Apache-2.0
#include "plan/state.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <forebay/loader.h>

#include "columns/crc32c.h"
#include "engine/index/source_sizes.h"
#include "engine/program/plan_access.h"
#include "engine/run/loader_access.h"
#include "plan/canonical.h"
#include "plan/document/names.h"

namespace forebay {
namespace plan {
namespace {

using engine::Position;

// Far more than any run reaches, and far below the overflow of the type.
constexpr std::int64_t max_epochs = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t max_batches = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t max_done = 1'000'000;
constexpr std::int64_t max_pulled = 100'000'000;  // for batches without a limit: the maximum of `size`

struct Member {
  const char* name;
  std::int64_t Position::*value;
};
constexpr std::array<Member, 5> members{{{"epoch", &Position::epoch},
                                         {"batch", &Position::batch},
                                         {"pulled", &Position::pulled},
                                         {"next", &Position::next},
                                         {"done", &Position::done}}};

/// The properties of a run's files that a restart depends on.
struct Sources {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::string digest;  ///< Of the sizes in order.
  bool operator==(const Sources&) const = default;
};

/// The parts of a plan and their hashes, by name.
using Sections = std::vector<std::pair<std::string, std::string>>;

/// The content of a state document.
struct State {
  Position position;
  Sources data;
  Sections plan;
};

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

Error refuse(Detail detail, std::string message) { return Error{Code::state, detail, std::move(message)}; }

Sources sources_of(const engine::SourceSizes& sizes) {
  return {.files = sizes.files, .bytes = sizes.bytes, .digest = hex(sizes.digest)};
}

/// Returns the checksum of all other members of the state. The layout of the JSON does not matter.
std::string checksum(const State& state) {
  std::string text = fmt::format("forebay state {}\n", state_version);
  for (const Member& member : members) text += fmt::format("{} {}\n", member.name, state.position.*member.value);
  text += fmt::format("{} {} {}\n", state.data.files, state.data.bytes, state.data.digest);
  for (const auto& [name, hash] : state.plan) text += fmt::format("{} {}\n", name, hash);
  return fmt::format("{:08x}", columns::crc32c(std::as_bytes(std::span{text})));
}

Result<const Json*> member(const Json& object, const char* name, Json::Kind kind, const char* wanted) {
  const Json* found = object.find(name);
  if (found != nullptr && found->is(kind)) return found;
  return refuse(Detail::data_loss, fmt::format("corrupt state: '{}' must be {}, found {}", name, wanted,
                                               found == nullptr ? "nothing" : std::string{found->kind_name()}));
}

Result<std::int64_t> count(const Json& object, const char* name) {
  FOREBAY_TRY(const Json* const found, member(object, name, Json::Kind::integer, "an integer"));
  if (found->integer() >= 0) return found->integer();
  return refuse(Detail::data_loss,
                fmt::format("corrupt state: '{}' must not be negative, found {}", name, found->integer()));
}

Result<Position> read_position(const Json& state) {
  FOREBAY_TRY(const Json* const json, member(state, "position", Json::Kind::object, "an object"));
  Position out;
  for (const Member& each : members) {
    FOREBAY_TRY(out.*each.value, count(*json, each.name));
  }
  return out;
}

Result<Sources> read_sources(const Json& state) {
  FOREBAY_TRY(const Json* const json, member(state, "data", Json::Kind::object, "an object"));
  Sources out;
  FOREBAY_TRY(out.files, count(*json, "files"));
  FOREBAY_TRY(out.bytes, count(*json, "bytes"));
  FOREBAY_TRY(const Json* const digest, member(*json, "digest", Json::Kind::string, "a string"));
  out.digest = digest->string();
  return out;
}

Result<void> check_version(const Json& state) {
  if (!state.is(Json::Kind::object) || state.find("forebay_state") == nullptr) {
    return refuse(Detail::invalid_argument, "this is no state of a Forebay pipeline: it has no member 'forebay_state'");
  }
  FOREBAY_TRY(const std::int64_t version, count(state, "forebay_state"));
  if (version == state_version) return {};
  return refuse(Detail::failed_precondition,
                fmt::format("the state has version {}, this Forebay knows version {}; {}", version, state_version,
                            version > state_version ? "use the Forebay that wrote it, or a newer one"
                                                    : "it cannot be used any more"));
}

/// Fails for a member that is not in `known`: the checksum would not cover it.
Result<void> check_members(const Json& json, std::span<const std::string_view> known) {
  for (const auto& [name, value] : json.members()) {
    if (std::count(known.begin(), known.end(), name) == 1) continue;
    return refuse(Detail::data_loss, fmt::format("corrupt state: it has a member '{}', which no state has", name));
  }
  if (json.members().size() == known.size()) return {};
  return refuse(Detail::data_loss, "corrupt state: a member is missing or stands there twice");
}

Result<void> check_members(const Json& json) {
  constexpr std::array<std::string_view, 5> whole{"forebay_state", "position", "data", "plan", "check"};
  std::array<std::string_view, members.size()> position;
  std::transform(members.begin(), members.end(), position.begin(), [](const Member& each) { return each.name; });
  constexpr std::array<std::string_view, 3> data{"files", "bytes", "digest"};
  FOREBAY_DO(check_members(json, whole));
  FOREBAY_DO(check_members(*json.find("position"), position));
  return check_members(*json.find("data"), data);
}

Error contradiction(const Position& at, std::string_view rule) {
  return refuse(
      Detail::data_loss,
      fmt::format("corrupt state: its position contradicts itself: {}; found epoch {}, batch {}, pulled {}, next "
                  "{}, done {}; go on from an older state",
                  rule, at.epoch, at.batch, at.pulled, at.next, at.done));
}

/// Checks the rules for positions that are the same for every plan.
Result<void> check_position(const Position& at) {
  if (at.epoch > max_epochs) return contradiction(at, fmt::format("'epoch' is at most {}", max_epochs));
  if (at.next > max_batches) return contradiction(at, fmt::format("'next' is at most {}", max_batches));
  if (at.done > max_done) return contradiction(at, fmt::format("'done' is at most {}", max_done));
  if (at.epoch == 0 && (at.batch > 0 || at.pulled > 0))
    return contradiction(at, "epoch 0 begins with batch 0, of which nothing was pulled before");
  if (at.next < at.batch) return contradiction(at, "'next' is at least 'batch'");
  // Records of earlier epochs are in no batch that is still to be delivered.
  if (at.pulled > 0 && at.next == at.batch)
    return contradiction(at, "a batch of which something was pulled in an earlier epoch lies before 'next'");
  return {};
}

Result<State> read(const Json& json) {
  FOREBAY_DO(check_version(json));
  State out;
  FOREBAY_TRY(out.position, read_position(json));
  FOREBAY_TRY(out.data, read_sources(json));
  FOREBAY_TRY(const Json* const sections, member(json, "plan", Json::Kind::object, "an object"));
  for (const auto& [name, hash] : sections->members()) {
    FOREBAY_DO(member(*sections, name.c_str(), Json::Kind::string, "a string"));
    out.plan.emplace_back(name, hash.string());
  }
  std::sort(out.plan.begin(), out.plan.end());
  FOREBAY_TRY(const Json* const check, member(json, "check", Json::Kind::string, "a string"));
  FOREBAY_DO(check_members(json));
  if (check->string() != checksum(out)) {
    return refuse(Detail::data_loss, "corrupt state: its checksum is wrong; it was edited or not written whole");
  }
  FOREBAY_DO(check_position(out.position));
  return out;
}

// Each shard of files has its own order. It depends on the number of shards, and not on the index of the shard.
constexpr std::string_view file_shards = "shards by file";

Sections sections_of(const Plan& plan, const Shard& shard) {
  Sections out;
  for (const auto& [name, hash] : PlanAccess::parts(plan).sections) out.emplace_back(name, hex(hash));
  if (shard.by == ShardBy::file) out.emplace_back(file_shards, std::to_string(shard.count));
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the names of the parts that differ or that only one of the two has.
std::string differing(const State& state, const Sections& now) {
  std::vector<std::string> names;
  const auto add = [&](const auto& ours, const auto& theirs) {
    for (const auto& section : ours) {
      const bool same = std::find(theirs.begin(), theirs.end(), section) != theirs.end();
      if (!same && !contains(names, section.first)) names.push_back(section.first);
    }
  };
  add(state.plan, now);
  add(now, state.plan);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string shards_text(const Sections& sections) {
  for (const auto& [name, count] : sections) {
    if (name == file_shards) return count + " shards by file";
  }
  return "rows of whole batches";
}

/// Fails when the state and the run are sharded in different ways: a position among whole batches means nothing among
/// shards by file, or with another number of these.
Result<void> check_shards(const Sections& then, const Sections& now) {
  if (shards_text(then) == shards_text(now)) return {};
  return refuse(Detail::failed_precondition,
                fmt::format("the state was saved by a run of {}, and this is one of {}: they deliver records in other "
                            "orders; start it with the shards of the state",
                            shards_text(then), shards_text(now)));
}

Result<void> check_sources(const Sources& then, const Sources& now) {
  if (then == now) return {};
  return refuse(Detail::failed_precondition,
                fmt::format("the files have changed since the state was saved: then {} files with {} bytes, now {} "
                            "files with {} bytes{}; a restart would give other records",
                            then.files, then.bytes, now.files, now.bytes,
                            then.bytes == now.bytes ? ", differently divided" : ""));
}

/// Checks a position against this plan. With an invented position, the run would look for records that do not exist.
Result<void> check_position(const Position& at, const Plan& plan, const Shard& shard) {
  const engine::Program& program = engine::program_of(plan);
  if (const auto max_rows = program.batching.max_rows) {
    const std::int64_t rows = *max_rows / (shard.by == ShardBy::file ? shard.count : 1);
    if (at.pulled >= rows) return contradiction(at, fmt::format("'pulled' is less than a batch, {} rows", rows));
  } else if (at.pulled > max_pulled) {
    return contradiction(at, fmt::format("'pulled' is at most {}", max_pulled));
  }
  if (program.epochs && at.epoch > *program.epochs)
    return contradiction(at, fmt::format("'epoch' is at most the number of them, {}", *program.epochs));
  if (program.hard_epochs && at.pulled > 0) return contradiction(at, "no batch has records of two hard epochs");
  return {};
}

}  // namespace

Result<Json> write_state(const Plan& plan, const Shard& shard, const engine::SourceSizes& sizes,
                         const Position& position) {
  if (!engine::program_of(plan).deterministic) {
    return refuse(Detail::failed_precondition,
                  "the document says `deterministic: false`: its order depends on timing, so no state can name a place "
                  "in it; set `deterministic` to true");
  }
  const State state{.position = position, .data = sources_of(sizes), .plan = sections_of(plan, shard)};
  Json out = Json::object();
  out.set("forebay_state", state_version);
  Json& at = out.set("position", Json::object());
  for (const Member& each : members) at.set(each.name, position.*each.value);
  Json& data = out.set("data", Json::object());
  data.set("files", state.data.files);
  data.set("bytes", state.data.bytes);
  data.set("digest", state.data.digest);
  Json& sections = out.set("plan", Json::object());
  for (const auto& [name, hash] : state.plan) sections.set(name, hash);
  out.set("check", checksum(state));
  return out;
}

Result<Position> read_state(const Plan& plan, const Shard& shard, const engine::SourceSizes& sizes, const Json& json) {
  FOREBAY_TRY(const State state, read(json));
  const Sections now = sections_of(plan, shard);
  FOREBAY_DO(check_shards(state.plan, now));
  if (const std::string changed = differing(state, now); !changed.empty()) {
    return refuse(Detail::failed_precondition,
                  fmt::format("the state belongs to another plan; what differs: {}", changed));
  }
  FOREBAY_DO(check_sources(state.data, sources_of(sizes)));
  FOREBAY_DO(check_position(state.position, plan, shard));
  return state.position;
}

}  // namespace plan

Result<Json> parse_state(std::string_view text) {
  if (static_cast<std::int64_t>(text.size()) > max_state_bytes)
    return plan::refuse(Detail::data_loss, fmt::format("this is no state: it has {} bytes, a state has at most {}",
                                                       text.size(), max_state_bytes));
  auto json = parse_json(text);
  if (json.ok()) return json;
  return plan::refuse(Detail::data_loss, "corrupt state: " + json.error().text());
}

Result<std::string> state_text(const Json& json) {
  FOREBAY_TRY(const plan::State state, plan::read(json));
  const engine::Position& at = state.position;
  std::string out = fmt::format(
      "next batch: {}, at {:.1f} %\nepoch to replay: {}, from batch {}\nfiles: {} with {} bytes\nplan:", at.next,
      static_cast<double>(at.done) / 1e4, at.epoch, at.batch, state.data.files, state.data.bytes);
  for (const auto& [name, hash] : state.plan) out += fmt::format("\n  {} {}", hash, name);
  return out;
}

namespace {

/// Fails when the rows of the run cannot be read again.
Result<void> check_replay(const Plan& plan) {
  const auto& source = engine::program_of(plan).source;
  if (!source.rows || source.rows->resident()) return {};
  return Error{
      Code::state, Detail::failed_precondition,
      fmt::format("the rows of '{}' are given by the program and cannot be read again, so this run has no state "
                  "to go on from",
                  source.files.empty() ? "" : source.files.front())};
}

}  // namespace

Result<Json> Loader::state() const {
  FOREBAY_DO(check_replay(plan()));
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position(*this));
  return plan::write_state(plan(), LoaderAccess::shard(*this), LoaderAccess::sizes(*this), at);
}

Result<Json> Loader::state_before() const {
  FOREBAY_DO(check_replay(plan()));
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position_before(*this));
  return plan::write_state(plan(), LoaderAccess::shard(*this), LoaderAccess::sizes(*this), at);
}

Result<void> Loader::restore(const Json& state) {
  std::vector<std::int64_t> now = engine::ask_sizes(engine::program_of(plan()).source);
  FOREBAY_TRY(const engine::Position position,
              plan::read_state(plan(), LoaderAccess::shard(*this), engine::summary(now), state));
  return LoaderAccess::restart(*this, position, std::move(now));
}

}  // namespace forebay
