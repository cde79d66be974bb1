// SPDX-License-Identifier: Apache-2.0
#include "plan/state/state.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include <forebay/loader.h>

#include "columns/crc32c.h"
#include "engine/program/plan_access.h"
#include "engine/program/saved_states.h"
#include "engine/run/loader_access.h"
#include "engine/run/states.h"
#include "engine/tickets/finish/batch_content.h"
#include "plan/document/names.h"
#include "plan/state/state_data.h"

namespace forebay {
namespace plan {
namespace {

using engine::Position;
using engine::Section;

/// The parts of a plan and their hashes, by name.
using PlanParts = std::vector<std::pair<std::string, std::string>>;

/// The content of a state document.
struct State {
  std::vector<Section> sections;
  engine::SourceSizes data;
  PlanParts plan;
};

Error refuse(Detail detail, std::string message) { return Error{Code::state, detail, std::move(message)}; }

/// Fails when the texts of the sections exceed what a state may have.
Result<void> check_size(const std::vector<Section>& sections) {
  constexpr std::int64_t room_for_others = 1 << 20;
  std::int64_t bytes = 0;
  for (const Section& section : sections) {
    for (const auto& [name, text] : section.texts) bytes += std::ssize(text);
  }
  if (bytes <= max_state_bytes - room_for_others) return {};
  return refuse(Detail::resource_exhausted,
                fmt::format("the saved states of the sequences take {} bytes as text, and a state has at most {}; make "
                            "`batch_size` or the shapes of `states` smaller, or save the state of the run where all "
                            "sequences have ended",
                            bytes, max_state_bytes - room_for_others));
}

/// Returns the checksum of all other members of the state. The layout of the JSON and the order of its members do not
/// matter.
std::string checksum(State state) {
  std::string text = fmt::format("forebay state {}\n", state_version);
  std::ranges::sort(state.sections, {}, &Section::stage);
  for (Section& section : state.sections) {
    text += fmt::format("section {}\n", section.stage);
    std::ranges::sort(section.values);
    for (const auto& [name, value] : section.values) text += fmt::format("{} {}\n", name, value);
    std::ranges::sort(section.texts);
    for (const auto& [name, value] : section.texts) text += fmt::format("text {} {}\n", name, value);
  }
  text += data_text(state.data);
  std::ranges::sort(state.plan);
  for (const auto& [name, hash] : state.plan) text += fmt::format("{} {}\n", name, hash);
  return fmt::format("{:08x}", columns::crc32c(std::as_bytes(std::span{text})));
}

Json sections_json(const std::vector<Section>& sections) {
  Json out = Json::object();
  for (const Section& section : sections) {
    Json& values = out.set(section.stage, Json::object());
    for (const auto& [name, value] : section.values) values.set(name, value);
    for (const auto& [name, value] : section.texts) values.set(name, value);
  }
  return out;
}

Result<std::vector<Section>> read_sections(const Json& state) {
  FOREBAY_TRY(const Json* const json, state_member(state, "sections", Json::Kind::object, "an object"));
  std::vector<Section> out;
  for (const auto& [stage, values] : json->members()) {
    FOREBAY_DO(state_member(*json, stage.c_str(), Json::Kind::object, "an object"));
    Section section{.stage = stage, .values = {}};
    for (const auto& [name, member] : values.members()) {
      if (member.is(Json::Kind::string) && stage == engine::saver_stage) {
        section.texts.emplace_back(name, member.string());
        continue;
      }
      FOREBAY_TRY(const std::int64_t value, state_count(values, name.c_str()));
      section.values.emplace_back(name, value);
    }
    out.push_back(std::move(section));
  }
  return out;
}

Result<void> check_version(const Json& state) {
  if (state.is(Json::Kind::object) && state.find("version") == nullptr && state.find("forebay_state") != nullptr) {
    return refuse(
        Detail::failed_precondition,
        fmt::format("the state was written by an older Forebay, whose states this one does not read (it reads "
                    "version {}); let that Forebay finish the run, or begin the run anew",
                    state_version));
  }
  if (!state.is(Json::Kind::object) || state.find("version") == nullptr)
    return refuse(Detail::invalid_argument, "this is no state of a Forebay pipeline: it has no member 'version'");
  FOREBAY_TRY(const std::int64_t version, state_count(state, "version"));
  if (version == state_version) return {};
  return refuse(
      Detail::failed_precondition,
      fmt::format("the state has version {}, this Forebay knows version {}; {}", version, state_version,
                  version > state_version ? "use the Forebay that wrote it, or a newer one"
                                          : "let the Forebay that wrote it finish the run, or begin the run anew"));
}

/// Fails for a member that is not in `known`: the checksum would not cover it.
Result<void> check_members(const Json& json, std::span<const std::string_view> known) {
  for (const auto& [name, value] : json.members()) {
    if (std::ranges::count(known, name) == 1) continue;
    return refuse(Detail::data_loss, fmt::format("corrupt state: it has a member '{}', which no state has", name));
  }
  if (json.members().size() == known.size()) return {};
  return refuse(Detail::data_loss, "corrupt state: a member is missing or stands there twice");
}

Result<void> check_members(const Json& json) {
  constexpr std::array<std::string_view, 5> whole{"version", "plan", "data", "sections", "check"};
  const Json& data = *json.find("data");
  const std::array<std::string_view, 4> files{"files", "bytes", "digest",
                                              data.find("groups") != nullptr ? "groups" : "each"};
  FOREBAY_DO(check_members(json, whole));
  return check_members(data, files);
}

Result<State> read(const Json& json) {
  FOREBAY_DO(check_version(json));
  State out;
  FOREBAY_TRY(out.sections, read_sections(json));
  FOREBAY_TRY(const Json* const data, state_member(json, "data", Json::Kind::object, "an object"));
  FOREBAY_TRY(out.data, read_data(*data));
  FOREBAY_TRY(const Json* const parts, state_member(json, "plan", Json::Kind::object, "an object"));
  for (const auto& [name, hash] : parts->members()) {
    FOREBAY_DO(state_member(*parts, name.c_str(), Json::Kind::string, "a string"));
    out.plan.emplace_back(name, hash.string());
  }
  std::ranges::sort(out.plan);
  FOREBAY_TRY(const Json* const check, state_member(json, "check", Json::Kind::string, "a string"));
  FOREBAY_DO(check_members(json));
  if (check->string() != checksum(out)) {
    return refuse(Detail::data_loss, "corrupt state: its checksum is wrong; it was edited or not written whole");
  }
  return out;
}

/// The position that the sections stand for, as far as it can be checked without a plan.
Result<Position> read_position(const std::vector<Section>& sections) {
  FOREBAY_TRY(const Position out, engine::position_of(sections));
  FOREBAY_DO(engine::check_position(out));
  return out;
}

// Each shard of files has its own order. It depends on the number of shards, and not on the index of the shard.
// Shards by element are the same in this.
constexpr std::string_view file_shards = "shards by file";
constexpr std::string_view element_shards = "shards by element";

PlanParts parts_of(const Plan& plan, const Shard& shard) {
  PlanParts out;
  for (const auto& [name, hash] : PlanAccess::parts(plan).sections) out.emplace_back(name, hex(hash));
  if (engine::own_stream(shard))
    out.emplace_back(shard.by == ShardBy::file ? file_shards : element_shards, std::to_string(shard.count));
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the names of the parts that differ or that only one of the two has.
std::string differing(const State& state, const PlanParts& now) {
  std::vector<std::string> names;
  const auto add = [&](const auto& ours, const auto& theirs) {
    for (const auto& part : ours) {
      const bool same = std::find(theirs.begin(), theirs.end(), part) != theirs.end();
      if (!same && !contains(names, part.first)) names.push_back(part.first);
    }
  };
  add(state.plan, now);
  add(now, state.plan);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string shards_text(const PlanParts& parts) {
  for (const auto& [name, count] : parts) {
    if (name == file_shards || name == element_shards) return fmt::format("{} {}", count, name);
  }
  return "rows of whole batches";
}

/// Fails when the state and the run are sharded in different ways: a position among whole batches means nothing among
/// shards by file or by element, or with another number of these.
Result<void> check_shards(const PlanParts& then, const PlanParts& now) {
  if (shards_text(then) == shards_text(now)) return {};
  return refuse(Detail::failed_precondition,
                fmt::format("the state was saved by a run of {}, and this is one of {}: they deliver records in other "
                            "orders; start it with the shards of the state",
                            shards_text(then), shards_text(now)));
}

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

Result<void> check_sources(const engine::SourceSizes& then, const engine::Program& program,
                           std::span<const std::int64_t> sizes) {
  if (program.made) return check_sources(then, *program.made, sizes);
  const std::vector<std::string> files = engine::data_files(program);
  const engine::SourceSizes now = engine::summary(files, sizes);
  if (then == now) return {};
  if (program.source.rows)
    return refuse(Detail::failed_precondition,
                  fmt::format("the rows have changed since the state was saved: then {} with {} rows, now {} with {} "
                              "rows; a restart would give other rows",
                              counted(then.files, "part"), then.bytes, counted(now.files, "part"), now.bytes));
  return refuse(
      Detail::failed_precondition,
      fmt::format("the files have changed since the state was saved: {}; then {} with {} bytes, now {} with {} "
                  "bytes; a restart would give other records",
                  engine::changes_since(then, files, sizes), counted(then.files, "file"), then.bytes,
                  counted(now.files, "file"), now.bytes));
}

/// What a restart from this position has to say; empty: nothing.
std::string notice_of(const Position& at, const engine::Program& program) {
  if (at.cut_short == 0 || (program.epochs && at.epoch >= *program.epochs)) return {};
  return fmt::format(
      "the state was saved when its run had ended after {} epochs, and batch {} had {} records there; this run has "
      "more "
      "epochs and goes on with the first record of epoch {}, where an unbroken one would have filled that batch",
      at.epoch, at.next - 1, at.cut_short, at.epoch);
}

constexpr std::string_view stream_member = "stream";

}  // namespace

Result<Json> write_state(const Plan& plan, const Shard& shard, const engine::SourceSizes& sizes,
                         const Position& position) {
  if (!engine::program_of(plan).deterministic) {
    return refuse(Detail::failed_precondition,
                  "the document says `deterministic: false`: its order depends on timing, so no state can name a place "
                  "in it; set `deterministic` to true");
  }
  const State state{.sections = engine::sections_of(position), .data = sizes, .plan = parts_of(plan, shard)};
  FOREBAY_DO(check_size(state.sections));
  Json out = Json::object();
  out.set("version", state_version);
  Json& parts = out.set("plan", Json::object());
  for (const auto& [name, hash] : state.plan) parts.set(name, hash);
  out.set("data", data_json(state.data));
  out.set("sections", sections_json(state.sections));
  out.set("check", checksum(state));
  return out;
}

Result<Position> read_state(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                            const Json& json) {
  FOREBAY_TRY(const State state, read(json));
  const PlanParts now = parts_of(plan, shard);
  FOREBAY_DO(check_shards(state.plan, now));
  if (const std::string changed = differing(state, now); !changed.empty()) {
    return refuse(Detail::failed_precondition,
                  fmt::format("the state belongs to another plan; what differs: {}", changed));
  }
  const engine::Program& program = engine::program_of(plan);
  FOREBAY_DO(check_sources(state.data, program, sizes));
  FOREBAY_TRY(const Position position, read_position(state.sections));
  FOREBAY_DO(engine::check_position(position, program, shard));
  return position;
}

namespace {

/// A position among the batches of a stream (engine::stream_of), as `Batch::position` gives it.
Json position_json(std::uint64_t stream, const Position& at) {
  Json out = Json::object();
  out.set(std::string{stream_member}, hex(stream));
  out.set("sections", sections_json(engine::sections_of(at)));
  return out;
}

/// Reads what `position_json` gave. Fails with Code::state, invalid_argument, when that is
/// something else, or of a batch of another plan or of other shards by file or element.
Result<Position> read_batch_position(const Json& json, const engine::Program& program, const Shard& shard) {
  const Json* const stream = json.is(Json::Kind::object) ? json.find(stream_member) : nullptr;
  if (stream == nullptr) return refuse(Detail::invalid_argument, "this is no position of a batch");
  if (!stream->is(Json::Kind::string) || stream->string() != hex(engine::stream_of(program, shard))) {
    return refuse(Detail::invalid_argument,
                  "the batch is of a run of another plan or of other shards by file or element, so this loader has no "
                  "state after it");
  }
  FOREBAY_TRY(const auto sections, read_sections(json));
  FOREBAY_TRY(const Position out, read_position(sections));
  FOREBAY_DO(engine::check_position(out, program, shard));
  return out;
}

}  // namespace

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
  FOREBAY_TRY(const engine::Position at, plan::read_position(state.sections));
  std::string out = fmt::format(
      "next batch: {}, at {:.1f} % of epoch {}\nepoch to replay: {}, from batch {}\nfiles: {} with {} bytes"
      "\nplan:",
      at.number(), static_cast<double>(at.done) / 1e4, at.epoch, at.epoch, at.batch, state.data.files,
      state.data.bytes);
  for (const auto& [name, hash] : state.plan) out += fmt::format("\n  {} {}", hash, name);
  if (at.saved) out += fmt::format("\nsaved states: of {} sequences", std::ranges::count(at.saved->live, true));
  return out;
}

namespace {

/// The position with the states that the program has saved; in plans without states, the same.
Result<engine::Position> with_states(const Loader& loader, const engine::Position& at) {
  const auto states = LoaderAccess::states(loader);
  return states ? states->point(at) : Result<engine::Position>{at};
}

/// Fails when the rows of the run cannot be read again.
Result<void> check_replay(const engine::Program& program) {
  if (program.made) return check_replay(*program.made);
  for (const engine::Program& branch : program.branches) FOREBAY_DO(check_replay(branch));
  const auto& source = program.source;
  if (!source.rows || source.rows->replays()) return {};
  return Error{
      Code::state, Detail::failed_precondition,
      fmt::format("the rows of '{}' are given by the program and cannot be read again, so this run has no state "
                  "to go on from",
                  source.files.empty() ? "" : source.files.front())};
}

}  // namespace

Json Batch::position() const { return plan::position_json(content_->program->stream, content_->layout.after); }

Result<Json> Loader::position() const {
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position(*this));
  return plan::position_json(engine::stream_of(engine::program_of(plan()), LoaderAccess::shard(*this)), at);
}

Result<Json> Loader::state() const {
  FOREBAY_DO(check_replay(engine::program_of(plan())));
  FOREBAY_TRY(const engine::Position last, LoaderAccess::position(*this));
  FOREBAY_TRY(const engine::Position at, with_states(*this, last));
  return plan::write_state(plan(), LoaderAccess::shard(*this), LoaderAccess::sizes(*this), at);
}

Result<Json> Loader::state(const Batch& after) const { return state_at(after.position()); }

Result<Json> Loader::state_at(const Json& after) const {
  FOREBAY_DO(check_replay(engine::program_of(plan())));
  FOREBAY_DO(LoaderAccess::position(*this));
  const Shard shard = LoaderAccess::shard(*this);
  FOREBAY_TRY(const engine::Position last, plan::read_batch_position(after, engine::program_of(plan()), shard));
  FOREBAY_TRY(const engine::Position at, with_states(*this, last));
  return plan::write_state(plan(), shard, LoaderAccess::sizes(*this), at);
}

Result<void> Loader::restore(const Json& state) {
  const engine::Program& program = engine::program_of(plan());
  std::vector<std::int64_t> now = engine::ask_sizes(program);
  FOREBAY_TRY(const engine::Position position, plan::read_states(plan(), LoaderAccess::shard(*this), now, state));
  return LoaderAccess::restart(*this, position, std::move(now), plan::notice_of(position, program));
}

Result<void> Loader::begin_anew() {
  FOREBAY_DO(check_replay(engine::program_of(plan())));
  return LoaderAccess::restart(*this, {}, {}, {});
}

}  // namespace forebay
