// SPDX-License-Identifier: Apache-2.0
#include "plan/state/state.h"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <forebay/loader.h>

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

constexpr std::string_view weights_part = "weights";

/// The last pass that a run has decided about when it stands there. Where batches straddle passes and a batcher or an
/// order on batches holds some, the position does not tell.
std::int64_t last_pass(const engine::Program& program, const Position& at) {
  const bool told = at.carried.empty() && (at.blocks.empty() || program.hard_epochs);
  return told ? at.epoch : std::numeric_limits<std::int64_t>::max();
}

/// The parts of a plan that decide about a run up to a position.
PlanParts parts_of(const Plan& plan, const Shard& shard, const Position& at) {
  PlanParts out;
  const engine::Program* source = &engine::program_of(plan);
  const std::int64_t last = last_pass(*source, at);
  while (source->made) source = source->made.get();
  if (source->combining.passes) out.emplace_back(weights_part, hex(source->combining.passes(last)));
  for (const auto& [name, hash] : PlanAccess::parts(plan).sections) out.emplace_back(name, hex(hash));
  if (engine::own_stream(shard))
    out.emplace_back(shard.by == ShardBy::file ? file_shards : element_shards,
                     engine::has_own_states(engine::program_of(plan), shard)
                         ? fmt::format("{} of {}", shard.index, shard.count)
                         : std::to_string(shard.count));
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

/// The weights of a mixture are others for passes that the run has decided about.
Error other_weights(const engine::Program& program, const Position& at) {
  if (last_pass(program, at) != at.epoch)
    return refused(
        Detail::failed_precondition,
        "the weights of the mixture are others than those of the run that saved the state, which held rows "
        "of several passes; go on with those (with \"epoch_boundary\": \"hard\" a run holds rows of one pass, "
        "and may go on with other weights for later ones)");
  return refused(
      Detail::failed_precondition,
      fmt::format("the state stands in pass {0}, and the weights of the mixture up to that pass are others than "
                  "those of the run that saved it; to go on with other weights, keep those and say from which "
                  "later pass on there are others: \"weights\": [[0, [those of that run]], [{1}, [others]]]",
                  at.epoch, at.epoch + 1));
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

Result<void> check_sources(const engine::SourceSizes& then, const engine::Program& program,
                           std::span<const std::int64_t> sizes) {
  if (program.made) return check_sources(then, *program.made, sizes);
  const std::vector<std::string> files = engine::data_files(program);
  const engine::SourceSizes now = engine::summary(files, sizes);
  if (then == now) return {};
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
  const State state{.sections = engine::sections_of(position), .data = sizes, .plan = parts_of(plan, shard, position)};
  return document_of(state);
}

Result<Position> read_state(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                            const Json& json) {
  FOREBAY_TRY(const State state, read_document(json));
  FOREBAY_TRY(const Position position, read_position(state.sections));
  const PlanParts now = parts_of(plan, shard, position);
  FOREBAY_DO(check_shards(state.plan, now));
  const engine::Program& program = engine::program_of(plan);
  if (const std::string changed = differing(state, now); !changed.empty()) {
    if (changed == weights_part) return other_weights(program, position);
    return refused(Detail::failed_precondition,
                   fmt::format("the state belongs to another plan; what differs: {}", changed));
  }
  FOREBAY_DO(check_sources(state.data, program, sizes));
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
  FOREBAY_TRY(const plan::State state, plan::read_document(json));
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

Result<void> Loader::restore(const Json& state) {
  const engine::Program& program = engine::program_of(plan());
  std::vector<std::int64_t> now = engine::ask_sizes(program);
  FOREBAY_TRY(const engine::Position position, plan::read_states(plan(), LoaderAccess::shard(*this), now, state));
  return LoaderAccess::restart(*this, position, std::move(now), plan::notice_of(position, program));
}

Result<void> Loader::begin_anew() {
  FOREBAY_DO(plan::check_replay(engine::program_of(plan())));
  return LoaderAccess::restart(*this, {}, {}, {});
}

}  // namespace forebay
