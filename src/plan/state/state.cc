// SPDX-License-Identifier: Apache-2.0
#include "plan/state/state.h"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <forebay/loader.h>

#include "base/draw.h"
#include "columns/crc32c.h"
#include "engine/program/plan_access.h"
#include "engine/run/loader_access.h"
#include "engine/run/states.h"
#include "engine/tickets/finish/batch_content.h"
#include "plan/document/names.h"
#include "plan/state/state_data.h"
#include "plan/state/state_document.h"

namespace forebay {
namespace plan {
namespace {

using engine::Position;
using engine::Section;

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

/// The last pass that a run has decided about when it stands there. Where batches straddle passes and a batcher or an
/// order on batches holds some, the position does not tell.
std::int64_t last_pass(const engine::Program& program, const Position& at) {
  const bool told = at.carried.empty() && (at.blocks.empty() || program.hard_epochs);
  return told ? at.epoch : std::numeric_limits<std::int64_t>::max();
}

std::uint64_t hash_of_name(const std::string& name) { return columns::crc32c(std::as_bytes(std::span{name})); }

/// 32 bits of a hash.
std::string half_of(std::uint64_t hash) { return fmt::format("{:08x}", static_cast<std::uint32_t>(hash ^ hash >> 32)); }

/// The parts of a plan that decide about a run up to a position.
PlanParts parts_of(const Plan& plan, const Shard& shard, const Position& at) {
  PlanParts out;
  const engine::Program& program = engine::program_of(plan);
  const std::int64_t last = last_pass(program, at);
  if (const auto& passes = innermost(program).combining.passes) out.emplace_back(weights_part, half_of(passes(last)));
  std::vector<std::uint64_t> branches(innermost(program).branches.size());
  for (const auto& [name, hash] : PlanAccess::parts(plan).sections) {
    if (const auto branch = branch_of(name); branch && *branch < branches.size())
      branches[*branch] = mix(branches[*branch] ^ hash_of_name(name) ^ hash);
    else
      out.emplace_back(name, half_of(hash));
  }
  for (std::size_t i = 0; i < branches.size(); ++i)
    out.emplace_back(branch_part(i), half_of(branches[i]).substr(0, branch_digits));
  if (engine::own_stream(shard))
    out.emplace_back(shard.by == ShardBy::file ? file_shards : element_shards,
                     engine::has_own_states(engine::program_of(plan), shard)
                         ? fmt::format("{} of {}", shard.index, shard.count)
                         : std::to_string(shard.count));
  std::sort(out.begin(), out.end());
  return out;
}

/// The names of the parts that differ or that only one of the two has.
std::vector<std::string> differing(const State& state, const PlanParts& now) {
  std::vector<std::string> names;
  const auto add = [&](const auto& ours, const auto& theirs) {
    for (const auto& part : ours) {
      const bool same = std::find(theirs.begin(), theirs.end(), part) != theirs.end();
      if (!same && !contains(names, part.first)) names.push_back(part.first);
    }
  };
  add(state.plan, now);
  add(now, state.plan);
  return names;
}

std::string shards_text(const PlanParts& parts) {
  for (const auto& [name, shards] : parts) {
    if (name != file_shards && name != element_shards) continue;
    const auto of = shards.find(" of ");  // "3 of 8": a state of that shard alone
    if (of == std::string::npos) return fmt::format("{} {}", shards, name);
    return fmt::format("{} {}, as shard {}", shards.substr(of + 4), name, shards.substr(0, of));
  }
  return "rows of whole batches";
}

/// Fails when the state and the run are sharded in different ways: a position among whole batches means nothing among
/// shards by file or by element, or with another number of these.
Result<void> check_shards(const PlanParts& then, const PlanParts& now) {
  if (shards_text(then) == shards_text(now)) return {};
  return refused(Detail::failed_precondition,
                 fmt::format("the state was saved by a run of {}, and this is one of {}: they deliver records in other "
                             "orders; start it with the shards of the state",
                             shards_text(then), shards_text(now)));
}

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// `added`: branches that the run of the state did not have; the last ones.
Result<void> check_sources(const engine::SourceSizes& then, const engine::Program& program,
                           std::span<const std::int64_t> sizes, std::size_t added) {
  if (program.made) return check_sources(then, *program.made, sizes, added);
  std::vector<std::string> files = engine::data_files(program);
  for (std::size_t i = program.branches.size() - added; i < program.branches.size(); ++i)
    files.resize(files.size() - engine::data_files(program.branches[i]).size());
  sizes = sizes.first(files.size());
  engine::SourceSizes now = engine::summary(files, sizes, program.known);
  const std::string replaced = engine::replaced_since(then, now, files);
  now.versions = then.versions;
  if (then == now && replaced.empty()) return {};
  if (then == now)
    return refused(Detail::failed_precondition,
                   fmt::format("files were replaced since the state was saved, by others of the same size: {}; a "
                               "restart would give other records",
                               replaced));
  if (program.source.rows)
    return refused(Detail::failed_precondition,
                   fmt::format("the rows have changed since the state was saved: then {} with {} rows, now {} with {} "
                               "rows; a restart would give other rows",
                               counted(then.files, "part"), then.bytes, counted(now.files, "part"), now.bytes));
  return refused(
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

/// Whether an order behind made rows has all of a pass before it gives one.
bool needs_whole_passes(const engine::Program& program) {
  return program.made && (engine::reaches_by_number(program) || needs_whole_passes(*program.made));
}

constexpr std::string_view stream_member = "stream";

}  // namespace

Result<Json> write_state(const Plan& plan, const Shard& shard, const engine::SourceSizes& sizes,
                         const Position& position) {
  if (!engine::program_of(plan).deterministic) {
    return refused(
        Detail::failed_precondition,
        "the document says `deterministic: false`: its order depends on timing, so no state can name a place "
        "in it; set `deterministic` to true");
  }
  State state{.sections = engine::sections_of(position), .data = sizes, .plan = parts_of(plan, shard, position)};
  add_mixture(engine::program_of(plan), state.sections);
  return document_of(state);
}

Result<Restart> read_state(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes, const Json& json,
                           const Accepted& accepted) {
  FOREBAY_TRY(State state, read_document(json));
  FOREBAY_TRY(const auto mixture, take_mixture(state.sections));
  FOREBAY_TRY(Position position, read_position(state.sections));
  const PlanParts now = parts_of(plan, shard, position);
  FOREBAY_DO(check_shards(state.plan, now));
  const std::vector<std::string> parts = differing(state, now);
  const bool told = last_pass(engine::program_of(plan), position) == position.epoch;
  FOREBAY_TRY(Plan changed,
              go_on_with(plan, shard, {.mixture = mixture, .at = position, .parts = parts, .told = told}, accepted));
  const engine::Program& program = engine::program_of(changed);
  const std::size_t branches = innermost(program).branches.size();
  const std::size_t added = mixture ? branches - mixture->branches : 0;
  if (!position.branches.empty()) position.branches.resize(position.branches.size() + added);
  FOREBAY_DO(check_sources(state.data, program, sizes, added));
  FOREBAY_DO(engine::check_position(position, program, shard));
  Restart out{.at = std::move(position), .plan = std::move(changed)};
  if (needs_whole_passes(program) && !parts.empty() && out.at.mixed != engine::MixedPlace{})
    out.notice = fmt::format(
        "an order reaches the rows of the mixture by number, and so needs all of a pass: the mixture changes behind "
        "those "
        "that the order has, at row {} of pass {}",
        out.at.mixed.row, out.at.mixed.pass);
  return out;
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
  if (stream == nullptr) return refused(Detail::invalid_argument, "this is no position of a batch");
  if (!stream->is(Json::Kind::string) || stream->string() != hex(engine::stream_of(program, shard))) {
    return refused(Detail::invalid_argument,
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
    return plan::refused(Detail::data_loss, fmt::format("this is no state: it has {} bytes, a state has at most {}",
                                                        text.size(), max_state_bytes));
  auto json = parse_json(text);
  if (json.ok()) return json;
  return plan::refused(Detail::data_loss, "corrupt state: " + json.error().text());
}

Result<std::string> state_text(const Json& json) {
  FOREBAY_TRY(plan::State state, plan::read_document(json));
  FOREBAY_TRY(const auto mixture, plan::take_mixture(state.sections));
  FOREBAY_TRY(const engine::Position at, plan::read_position(state.sections));
  std::string out = fmt::format(
      "next batch: {}, at {:.1f} % of epoch {}\nepoch to replay: {}, from batch {}\nfiles: {} with {} bytes"
      "\nplan:",
      at.number(), static_cast<double>(at.done) / 1e4, at.epoch, at.epoch, at.batch, state.data.files,
      state.data.bytes);
  for (const auto& [name, hash] : state.plan) out += fmt::format("\n  {} {}", hash, name);
  if (mixture) {
    const auto with = [](const std::string& options) {
      std::string text;
      const auto json = parse_json(options);
      if (!json.ok() || !json->is(Json::Kind::object)) return text;
      for (const auto& [name, value] : json->members()) text += fmt::format(", {} {}", name, value.text());
      return text;
    };
    out += fmt::format("\nbranches: {}{}", mixture->branches, with(mixture->options));
    for (const plan::Change& change : mixture->earlier)
      out += fmt::format("\n  before row {} of pass {}: {}{}", change.until.row, change.until.pass, change.branches,
                         with(change.options));
  }
  if (at.saved) out += fmt::format("\nsaved states: of {} sequences", std::ranges::count(at.saved->live, true));
  return out;
}

namespace {

/// The position with the states that the program has saved; in plans without states, the same.
Result<engine::Position> with_states(const Loader& loader, const engine::Position& at) {
  const auto states = LoaderAccess::states(loader);
  return states ? states->point(at) : Result<engine::Position>{at};
}

}  // namespace

Result<void> plan::check_replay(const engine::Program& program) {
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

Json Batch::position() const { return plan::position_json(content_->program->stream, content_->layout.after); }

Result<Json> Loader::position() const {
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position(*this));
  return plan::position_json(engine::stream_of(engine::program_of(plan()), LoaderAccess::shard(*this)), at);
}

Result<Json> Loader::state() const {
  FOREBAY_DO(plan::check_replay(engine::program_of(plan())));
  FOREBAY_TRY(const engine::Position last, LoaderAccess::position(*this));
  FOREBAY_TRY(const engine::Position at, with_states(*this, last));
  return plan::write_state(plan(), LoaderAccess::shard(*this), LoaderAccess::sizes(*this), at);
}

Result<Json> Loader::state(const Batch& after) const { return state_at(after.position()); }

Result<Json> Loader::state_at(const Json& after) const {
  FOREBAY_DO(plan::check_replay(engine::program_of(plan())));
  FOREBAY_DO(LoaderAccess::position(*this));
  const Shard shard = LoaderAccess::shard(*this);
  FOREBAY_TRY(const engine::Position last, plan::read_batch_position(after, engine::program_of(plan()), shard));
  FOREBAY_TRY(const engine::Position at, with_states(*this, last));
  return plan::write_state(plan(), shard, LoaderAccess::sizes(*this), at);
}

Result<void> Loader::restore(const Json& state, std::span<const std::string> accept) {
  FOREBAY_TRY(const plan::Accepted accepted, plan::Accepted::of(accept));
  const Plan planned = LoaderAccess::to_restore(*this);
  std::vector<std::int64_t> now = engine::ask_sizes(engine::program_of(planned));
  FOREBAY_TRY(plan::Restart found, plan::read_states(planned, LoaderAccess::shard(*this), now, state, accepted));
  std::string notice = plan::notice_of(found.at, engine::program_of(found.plan));
  if (!found.notice.empty()) notice += (notice.empty() ? "" : "; ") + found.notice;
  return LoaderAccess::restart(*this, found.at, std::move(now), notice, std::move(found.plan));
}

Result<void> Loader::begin_anew() {
  FOREBAY_DO(plan::check_replay(engine::program_of(plan())));
  return LoaderAccess::restart(*this, {}, {}, {});
}

}  // namespace forebay
