// SPDX-License-Identifier: Apache-2.0
#include "engine/run/states.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>
#include <forebay/scalar.h>

#include "columns/fill.h"
#include "columns/scalar.h"
#include "engine/memory/allocator.h"

namespace forebay {

namespace {

constexpr std::size_t max_keys_named = 8;

Error refuse_state(std::string message) { return Error{Code::state, Detail::failed_precondition, std::move(message)}; }

/// The error of a state that nobody saved. Names the records of the sequences.
Error unsaved(const Batch& batch, const std::vector<std::int64_t>& rows, std::string_view name) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < rows.size() && i < max_keys_named; ++i) keys.push_back(batch.key(rows[i]));
  if (rows.size() > max_keys_named) keys.push_back(fmt::format("{} more", rows.size() - max_keys_named));
  return refuse_state(
      fmt::format("state '{}' of batch {}: it was not saved after batch {}, or was replaced by the states of a later "
                  "batch, for the sequences {}; ask for the state of a batch after save_state of the batch before, and "
                  "before its own",
                  name, batch.number(), batch.number() - 1, fmt::join(keys, ", ")));
}

/// A tensor of its own memory, which is not initialized.
Result<Tensor> new_tensor(DType dtype, const Shape& row, std::int64_t rows, std::size_t bytes) {
  engine::Allocator& allocator = engine::system_allocator();
  const std::size_t size = std::max<std::size_t>(1, bytes);
  std::byte* const memory = allocator.allocate(size, true);
  if (memory == nullptr)
    return Error{Code::data, Detail::resource_exhausted, fmt::format("no memory for a state of {} bytes", bytes)};
  Tensor out{.dtype = dtype, .shape = {}, .data = memory};
  out.owner = std::shared_ptr<void>{
      memory, [size](void* at) { engine::system_allocator().deallocate(static_cast<std::byte*>(at), size); }};
  out.shape.assign(rows, row);
  return out;
}

}  // namespace

States::States(std::shared_ptr<const engine::Program> program, const Shard& shard, const engine::Position& start)
    : program_{std::move(program)},
      first_row_{engine::rows_of_shard(program_->batching.lanes, shard).first},
      end_row_{engine::rows_of_shard(program_->batching.lanes, shard).second} {
  for (const StateSpec& spec : program_->batching.states) {
    auto initial = columns::element_from(JsonCodec<Scalar>::write(spec.initial), spec.dtype);
    if (!initial.ok()) initial = std::vector<std::byte>(size_of(spec.dtype));  // the planner has refused it
    states_.push_back({.spec = spec, .row_bytes = engine::bytes_of_state(spec), .initial = *std::move(initial)});
  }
  settled_.next = start.number();
  settled_.position = start;
  settled_.rows.resize(states_.size());
  settled_.live.resize(static_cast<std::size_t>(end_row_ - first_row_));
  if (start.saved) take_over(*start.saved, settled_);
  settled_.position.saved.reset();
}

Result<void> States::check(const engine::Program& program, std::int64_t memory) {
  double bytes = 0;
  for (const StateSpec& spec : program.batching.states)
    bytes += static_cast<double>(engine::bytes_of_state(spec)) * static_cast<double>(program.batching.lanes);
  if (bytes <= static_cast<double>(memory) / 4) return {};
  return Error{Code::config, Detail::resource_exhausted,
               fmt::format("the states of the {} rows of a batch take {:.0f} bytes, more than a quarter of the memory "
                           "budget of {} bytes; raise `memory`, or make `batch_size` or the shapes of `states` smaller",
                           program.batching.lanes, bytes, memory)};
}

std::vector<std::string> States::names() const {
  std::vector<std::string> out;
  for (const State& state : states_) out.push_back(state.spec.name);
  return out;
}

Result<std::size_t> States::find(std::string_view name) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].spec.name == name) return i;
  }
  return Error{Code::config, Detail::not_found,
               fmt::format("there is no state {}{}", quote(name), among(name, names(), "declared are"))};
}

/// The states after batch `number` - 1, when that state was saved.
const States::After* States::before(std::int64_t number, std::size_t state) const {
  if (settled_.next == number && settled_.rows[state]) return &settled_;
  if (open_ && open_->next == number && open_->rows[state]) return &*open_;
  return nullptr;
}

Result<Tensor> States::gather(const Batch& batch, const Batch::Content& content, std::string_view name) const {
  FOREBAY_TRY(const std::size_t index, find(name));
  const State& state = states_[index];
  const engine::BatchLayout& layout = content.layout;
  const auto bytes = static_cast<std::size_t>(layout.rows) * state.row_bytes;
  FOREBAY_TRY(Tensor out, new_tensor(state.spec.dtype, state.spec.shape, layout.rows, bytes));
  columns::fill(out.data, state.initial, bytes / state.initial.size());
  std::vector<std::int64_t> missing;
  const engine::Lock lock{mutex_};
  const After* const saved = before(layout.number, index);
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    if (!layout.taken.follows(row)) continue;
    const auto at = static_cast<std::size_t>(row);
    if (saved == nullptr || at >= saved->live.size() || !saved->live[at]) {
      missing.push_back(row);
      continue;
    }
    std::memcpy(out.data + at * state.row_bytes, saved->rows[index]->data() + at * state.row_bytes, state.row_bytes);
  }
  if (!missing.empty()) return unsaved(batch, missing, name);
  return out;
}

/// The states after a batch, of which none is saved yet.
States::After States::after(const Batch::Content& content) const {
  After out{.next = content.layout.number + 1, .position = content.layout.after, .live = {}, .rows = {}};
  for (std::int64_t row = 0; row < content.layout.rows; ++row) out.live.push_back(content.layout.taken.goes_on(row));
  out.rows.resize(states_.size());
  return out;
}

Result<void> States::save(const Batch::Content& content, std::string_view name, const Tensor& values) {
  FOREBAY_TRY(const std::size_t index, find(name));
  const State& state = states_[index];
  Shape shape;
  shape.assign(content.layout.rows, state.spec.shape);
  if (values.dtype != state.spec.dtype || values.shape != shape) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("state '{}' of batch {}: found {}{}, allowed is {}{}: the rows of the batch, then the "
                             "declared shape; convert the values, or change `states` in the document",
                             name, content.layout.number, to_string(values.dtype), values.shape.text(),
                             to_string(state.spec.dtype), shape.text())};
  }
  const std::span<const std::byte> bytes{values.data, static_cast<std::size_t>(shape.count()) * size_of(values.dtype)};
  const engine::Lock lock{mutex_};
  if (retired_)
    return refuse_state(
        fmt::format("state '{}' of batch {}: the loader has gone on from a saved state since it gave "
                    "this batch; save the states of batches that it gives from then on",
                    name, content.layout.number));
  const std::int64_t next = content.layout.number + 1;
  if (next < settled_.next || (open_ && next < open_->next))
    return refuse_state(
        fmt::format("state '{}' of batch {}: states of batch {} were saved already; save the states in "
                    "the order of the batches",
                    name, content.layout.number, (open_ ? open_->next : settled_.next) - 1));
  if (next > settled_.next && (!open_ || open_->next != next)) open_ = after(content);
  After& to = next == settled_.next ? settled_ : *open_;
  to.rows[index].emplace(bytes.begin(), bytes.end());
  const auto saved = [](const auto& rows) { return rows.has_value(); };
  if (next == settled_.next || !std::ranges::all_of(to.rows, saved)) return {};
  settled_ = *std::exchange(open_, std::nullopt);
  return {};
}

Result<engine::Position> States::point(const engine::Position& at) const {
  const engine::Lock lock{mutex_};
  if (at.number() < settled_.next)
    return refuse_state(
        fmt::format("the states after batch {} are gone: those after batch {} have replaced them, so no "
                    "state of the run can stand there; ask for it before the states of the next batch "
                    "are saved",
                    at.number() - 1, settled_.next - 1));
  engine::Position out = at.number() == settled_.next ? at : settled_.position;
  out.saved = live_states(settled_);
  return out;
}

void States::retire() {
  const engine::Lock lock{mutex_};
  retired_ = true;
}

/// The rows whose sequences go on; null when there is none in the whole batch.
std::shared_ptr<const engine::SavedStates> States::live_states(const After& at) const {
  const bool whole = std::ssize(at.live) == program_->batching.lanes;
  if (whole && std::ranges::count(at.live, true) == 0) return nullptr;
  auto out = std::make_shared<engine::SavedStates>();
  out->first = first_row_;
  out->lanes = program_->batching.lanes;
  out->live = at.live;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    auto& bytes = out->values.emplace_back(state.spec.name, std::vector<std::byte>{}).second;
    for (std::size_t row = 0; row < at.live.size(); ++row) {
      if (!at.live[row]) continue;
      const std::byte* const from = at.rows[i]->data() + row * state.row_bytes;
      bytes.insert(bytes.end(), from, from + state.row_bytes);
    }
  }
  return out;
}

/// The rows of this process, of states that `check_saved` has found to fit.
void States::take_over(const engine::SavedStates& saved, After& at) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const auto of = [&](const auto& value) { return value.first == state.spec.name; };
    const std::byte* from = std::ranges::find_if(saved.values, of)->second.data();
    auto& rows = at.rows[i].emplace(at.live.size() * state.row_bytes);
    for (std::size_t lane = 0; lane < saved.live.size(); ++lane) {
      if (!saved.live[lane]) continue;
      const std::int64_t row = saved.first + static_cast<std::int64_t>(lane) - first_row_;
      if (row >= 0 && row < std::ssize(at.live)) {
        at.live[static_cast<std::size_t>(row)] = true;
        std::memcpy(rows.data() + static_cast<std::size_t>(row) * state.row_bytes, from, state.row_bytes);
      }
      from += state.row_bytes;
    }
  }
}

namespace {

Error no_states(std::string_view name) {
  return Error{Code::config, Detail::not_found,
               fmt::format("there is no state {}: the plan declares none; the option `states` of the batch step "
                           "`stateful` does",
                           quote(name))};
}

}  // namespace

Result<Tensor> Batch::state(std::string_view name) const {
  return states_ ? states_->gather(*this, *content_, name) : no_states(name);
}

Result<void> Batch::save_state(std::string_view name, const Tensor& values) const {
  return states_ ? states_->save(*content_, name, values) : no_states(name);
}

std::vector<std::string> Batch::state_names() const { return states_ ? states_->names() : std::vector<std::string>{}; }

}  // namespace forebay
