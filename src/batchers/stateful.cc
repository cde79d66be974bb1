// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/stateful.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>

#include "batchers/padding.h"

namespace forebay {

template <>
struct EnumNames<LaneRest> {
  static constexpr std::array<std::string_view, 2> names{"pad", "drop"};
};

template <>
struct FieldsOf<StateOptions> {
  static const Fields<StateOptions>& get() {
    static const Fields<StateOptions> fields =
        Fields<StateOptions>{}
            .required("dtype", &StateOptions::dtype, "Type of the numbers.")
            .field("shape", &StateOptions::shape, "Shape of the state of one sequence; [] is a single number.")
            .field("initial", &StateOptions::initial,
                   "Every element of the state of a new sequence; null: 0 or false.");
    return fields;
  }
};

namespace batchers {
namespace {

/// One row of the batches: the sequence that is in it.
struct Lane {
  std::vector<Handle> segments;
  std::size_t next = 0;      // in `segments`
  std::int64_t earlier = 0;  // segments of a sequence of passes before the restart: their batches were delivered then
  std::int64_t pass = 0;     // of the sequence
  bool placed = false;       // the present batch has a segment of it
  [[nodiscard]] std::int64_t left() const { return earlier + std::ssize(segments) - static_cast<std::int64_t>(next); }
};

/// Gives each lane one segment in each batch. The engine owns the batcher; one thread at a time calls it.
///
/// A lane holds the handles of its sequence until they are used up. A restart begins with the pass of the oldest
/// sequence that is held: of the sequences of earlier passes, the number of segments by lane is enough, because the
/// batches that have them were delivered.
class LaneBatcher final : public Batcher {
 public:
  LaneBatcher(std::int64_t lanes, LaneRest remainder, BatcherContext context)
      : remainder_{remainder}, reader_{context.reader}, lanes_(static_cast<std::size_t>(lanes)) {}

  /// An interrupted call goes on with the lane where it stopped.
  Result<Cut> cut(Handles& in, BatchRows& out) override {
    for (; lane_ < lanes_.size(); ++lane_) FOREBAY_DO(place(lanes_[lane_], in, out));
    const auto placed = static_cast<std::size_t>(std::ranges::count(lanes_, true, &Lane::placed));
    lane_ = 0;
    for (Lane& lane : lanes_) lane.placed = false;
    if (placed == 0 || (placed < lanes_.size() && remainder_ == LaneRest::drop)) {
      leave_out(out);
      return Cut::end_of_pass;
    }
    out.set_epoch(newest_);
    return Cut::batch;
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out;
    for (const Lane& lane : lanes_) out.push_back(lane.left() + (lane.placed ? 1 : 0));
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    if (carried.size() != lanes_.size())
      return Error{Code::state, Detail::data_loss,
                   "corrupt state: section 'batcher' has " + std::to_string(carried.size()) + " integers, batches of " +
                       std::to_string(lanes_.size()) + " rows have one for each row"};
    for (std::size_t i = 0; i < carried.size(); ++i) lanes_[i].earlier = carried[i];
    return {};
  }

  [[nodiscard]] std::optional<std::int64_t> oldest() const override {
    std::optional<std::int64_t> out;
    for (const Lane& lane : lanes_) {
      if (lane.next < lane.segments.size()) out = std::min(out.value_or(lane.pass), lane.pass);
    }
    return out;
  }

 private:
  /// Adds the row of a lane: the next segment of its sequence, else the first one of the next sequence, else none.
  Result<void> place(Lane& lane, Handles& in, BatchRows& out) {
    if (lane.earlier > 0) {
      --lane.earlier;
      lane.placed = true;
      return out.empty_row(), Result<void>{};
    }
    if (open_ || lane.next == lane.segments.size()) {
      FOREBAY_TRY(const bool more, fill(lane, in, out));
      if (!more) return out.empty_row(), Result<void>{};
    }
    out.of_pass(lane.pass);
    out.row(lane.segments[lane.next++]);
    lane.placed = true;
    --held_;
    return {};
  }

  /// Pulls the next sequence into a lane whose sequence is used up. Returns false at the end of the stream.
  Result<bool> fill(Lane& lane, Handles& in, const BatchRows& out) {
    if (!open_) lane.segments.clear(), lane.next = 0;
    do {
      if (next_ == filled_) {
        FOREBAY_TRY(filled_, in.pull(ahead_));
        next_ = 0;
        pass_ = out.pass();
        if (filled_ == 0) return false;
      }
      FOREBAY_DO(account());
      const WindowNumber at = reader_.window_number(ahead_[next_]);
      lane.segments.push_back(ahead_[next_++]);
      ++held_;
      open_ = at.number + 1 < at.count;
    } while (open_);
    lane.pass = newest_ = pass_;
    return true;
  }

  /// Charges the segments that are held to the budget.
  Result<void> account() {
    if (held_ < charged_) return {};
    const std::int64_t room = std::max(min_room, 2 * held_);
    FOREBAY_TRY(charge_, reader_.charge(room * static_cast<std::int64_t>(sizeof(Handle)))
                             .at("rows with room for " + std::to_string(room) + " segments"));
    charged_ = room;
    return {};
  }

  /// At the end of the stream: drops the rows of the batch and all that is held.
  void leave_out(BatchRows& out) {
    reader_.drop(out.elements());
    out.clear();
    for (Lane& lane : lanes_) {
      reader_.drop(std::span{lane.segments}.subspan(lane.next));
      lane = {};
    }
    held_ = 0;
  }

  static constexpr std::size_t at_once = 16;  // few: sequences that wait keep their blocks in memory
  static constexpr std::int64_t min_room = 4096;
  const LaneRest remainder_;
  Reader& reader_;
  std::vector<Lane> lanes_;
  std::size_t lane_ = 0;  // the lane whose row comes next
  bool open_ = false;     // that lane has only the first segments of its sequence
  std::array<Handle, at_once> ahead_;
  std::size_t next_ = 0, filled_ = 0;
  std::int64_t pass_ = 0;     // of ahead_
  std::int64_t newest_ = 0;   // pass of the sequence that began last
  std::int64_t held_ = 0;     // segments in all lanes
  std::int64_t charged_ = 0;  // segments that `charge_` has room for
  std::shared_ptr<void> charge_;
};

constexpr std::int64_t max_lanes = 4096;  // a state has an integer for each of them
constexpr std::size_t max_states = 256;

Error bad_state(const std::string& name, const std::string& option, const std::string& message) {
  return Error{Code::config, Detail::invalid_argument, "state '" + name + "': " + message}.at(
      Field{"states", name, option});
}

Result<void> check_state(const std::string& name, const StateOptions& options) {
  if (options.dtype == DType::string)
    return bad_state(name, "dtype", "a state holds numbers, found the dtype string; use a type of fixed size");
  for (const std::int64_t size : options.shape.dims()) {
    if (size < 1) return bad_state(name, "shape", "its sizes are known and at least 1, found " + options.shape.text());
  }
  return {};
}

Result<Batching> bind(const Stateful& options, const Schema& in) {
  Batching batching;
  if (options.states.size() > max_states)
    return Error{Code::config, Detail::invalid_argument,
                 "at most " + std::to_string(max_states) + " states are possible, found " +
                     std::to_string(options.states.size())}
        .at(Field{"states"});
  for (const auto& [name, state] : options.states) {
    FOREBAY_DO(check_state(name, state));
    batching.states.push_back({.name = name, .dtype = state.dtype, .shape = state.shape, .initial = state.initial});
  }
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  if (pads) batching.delivery = Delivery::padded;
  batching.lanes = options.batch_size;
  batching.carries = options.batch_size;
  batching.make = [lanes = options.batch_size, remainder = options.remainder](BatcherContext context) {
    return std::make_unique<LaneBatcher>(lanes, remainder, context);
  };
  return batching;
}

}  // namespace

BatcherType stateful() {
  return describe<BatcherType, Stateful>(
             "stateful", "Batches of the segments of `unroll`, in which each row follows a sequence to its end.", bind)
      .required("batch_size", &Stateful::batch_size, "Rows of a batch.", {.min = 1, .max = max_lanes})
      .field("states", &Stateful::states,
             "States that the program saves for each sequence, by name: {dtype, shape, initial}.")
      .field("remainder", &Stateful::remainder,
             "What becomes of the last sequences, when there are fewer than rows: pad with empty rows in the places of "
             "the others, or drop.")
      .field("pad", &Stateful::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .example({.options = R"({"batch_size": 2})",
                .in = R"({"x": [[1, 2, 3], [4], [5, 6, 7, 8, 9]]})",
                .out = R"([{"x": [[1, 2], [4, 0]]}, {"x": [[3, 0], [5, 6]]}, {"x": [[0, 0], [7, 8]]},
                          {"x": [[0, 0], [9, 0]]}])"})
      .example({.options = R"({"batch_size": 2, "remainder": "drop"})",
                .in = R"({"x": [[1, 2, 3], [4], [5, 6, 7, 8, 9]]})",
                .out = R"([{"x": [[1, 2], [4, 0]]}, {"x": [[3, 0], [5, 6]]}])"});
}

}  // namespace batchers
}  // namespace forebay
