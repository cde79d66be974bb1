// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/frames.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "batchers/frame_row.h"
#include "batchers/padding.h"
#include "batchers/sequence_choice.h"

namespace forebay::batchers {
namespace {

/// The limits of the options by key; `no_limit` where there is none.
struct FrameLimits {
  std::vector<std::int64_t> padded, frames, padding;
  std::int64_t rows = no_limit;
};

/// The rows of the batch that is open, by key. Also what a restart knows of rows of earlier passes.
struct OpenFrames {
  explicit OpenFrames(std::size_t keys) : longest(keys), sum(keys) {}
  std::int64_t rows = 0;
  std::vector<std::int64_t> longest, sum;
};

/// Cuts batches by frames: the rows come in the order of the stream, and a batch ends before the row that would exceed
/// a limit. That row is the first one of the next batch. The engine owns the batcher; one thread at a time calls it.
class FramesBatcher final : public Batcher {
 public:
  FramesBatcher(FrameLimits limits, ChoiceOptions choice, std::vector<ColumnId> columns, bool numbers,
                BatcherContext context)
      : limits_{std::move(limits)},
        numbers_{numbers},
        columns_{std::move(columns)},
        reader_{context.reader},
        stream_{std::move(context), choice.attributes(columns_.size()), numbers || choice.counts()},
        choice_{std::move(choice)},
        open_{columns_.size()} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      FOREBAY_TRY(const bool more, stream_.ready(in, out));
      if (more && !choice_.wants(stream_)) {
        stream_.drop();
        continue;
      }
      if (!more || (open_.rows > 0 && !fits())) {
        if (open_.rows == 0) return stream_.end(out);
        if (close(out)) return Cut::batch;
        continue;
      }
      FOREBAY_DO(add(out));
    }
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out{open_.rows};
    out.insert(out.end(), open_.longest.begin(), open_.longest.end());
    out.insert(out.end(), open_.sum.begin(), open_.sum.end());
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    const std::size_t keys = columns_.size();
    if (carried.size() != 1 + 2 * keys || carried[0] > max_rows) {
      return Error{Code::state, Detail::data_loss,
                   "corrupt state: section 'batcher' has " + std::to_string(carried.size()) + " integers, frames of " +
                       std::to_string(keys) + " keys have " + std::to_string(1 + 2 * keys) +
                       ", of which the first is at most " + std::to_string(max_rows)};
    }
    open_.rows = carried[0];
    std::ranges::copy(carried.subspan(1, keys), open_.longest.begin());
    std::ranges::copy(carried.subspan(1 + keys, keys), open_.sum.begin());
    return {};
  }

 private:
  [[nodiscard]] bool fits() const {
    const std::int64_t rows = open_.rows + 1;
    if (rows > limits_.rows) return false;
    for (std::size_t key = 0; key < columns_.size(); ++key) {
      const std::int64_t padded = product(std::max(open_.longest[key], stream_.length(key)), rows);
      const std::int64_t frames = sum_of(open_.sum[key], stream_.length(key));
      if (frames > limits_.frames[key] || padded > limits_.padded[key]) return false;
      if (padded - frames > limits_.padding[key]) return false;
    }
    return true;
  }

  Result<void> add(BatchRows& out) {
    if (out.room().empty()) {
      const std::size_t room = std::max({min_room, out.capacity(), 2 * out.elements().size()});
      if (room > min_room) {
        FOREBAY_TRY(charge_, reader_.charge(static_cast<std::int64_t>(room) * bytes_a_row)
                                 .at("a batch with room for " + std::to_string(room) + " rows"));
      }
      out.make_room(room);
    }
    if (out.rows() == 0) out.set_epoch(stream_.pass());
    for (std::size_t key = 0; key < columns_.size(); ++key) {
      open_.longest[key] = std::max(open_.longest[key], stream_.length(key));
      open_.sum[key] = sum_of(open_.sum[key], stream_.length(key));
    }
    ++open_.rows;
    choice_.count(stream_);
    if (numbers_) out.number(stream_.sequence());
    out.of_pass(stream_.pass());
    out.row(stream_.take());
    return {};
  }

  /// Ends the open batch. Returns false when no row of it has a frame: then it is left out, which is told once.
  [[nodiscard]] bool close(BatchRows& out) {
    const bool empty = std::ranges::all_of(open_.longest, [](std::int64_t frames) { return frames == 0; });
    for (std::size_t key = 0; key < columns_.size(); ++key) out.pad_frames(columns_[key], open_.longest[key]);
    open_ = OpenFrames{columns_.size()};
    charge_.reset();
    if (!empty) return true;
    if (!std::exchange(told_, true)) {
      reader_.note("frames: batches without a frame are left out, the first one of " +
                   std::to_string(out.elements().size()) +
                   " sequences; a `filter` with `length(…) > 0` before it leaves out such sequences only");
    }
    stream_.drop(out.elements());
    out.clear();
    return false;
  }

  static constexpr std::size_t min_room = 4096;
  static constexpr std::int64_t max_rows = std::int64_t{1} << 40;  // more than a run can hold
  const FrameLimits limits_;
  const bool numbers_;
  const std::vector<ColumnId> columns_;
  Reader& reader_;
  Measured stream_;
  SequenceChoice choice_;
  OpenFrames open_;
  bool told_ = false;             // that a batch was left out
  std::shared_ptr<void> charge_;  // of the room of the batch that is cut
};

Result<FrameLimits> limits_of(const Frames& options, const LengthKeys& keys) {
  if (!options.batch_size && !options.packed_batch_size && !options.max_seqs)
    return bad_frames("batch_size", "nothing limits a batch; give `batch_size`, `packed_batch_size` or `max_seqs`");
  FrameLimits out;
  FOREBAY_TRY(out.padded, by_key(options.batch_size, keys, "batch_size", no_limit, 1));
  FOREBAY_TRY(out.frames, by_key(options.packed_batch_size, keys, "packed_batch_size", no_limit, 1));
  FOREBAY_TRY(out.padding, by_key(options.max_pad_size, keys, "max_pad_size", no_limit, 0));
  out.rows = options.max_seqs.value_or(no_limit);
  return out;
}

/// Batches of one row, with sequences one after the other.
Result<void> bind_row(const Frames& options, const LengthKeys& keys, ChoiceOptions choice, Batching& batching) {
  if (!options.batch_size) return bad_frames("batch_size", "a row of several sequences has `batch_size` frames");
  for (const char* const other : {"packed_batch_size", "max_pad_size"}) {
    const bool given = other[0] == 'p' ? options.packed_batch_size.has_value() : options.max_pad_size.has_value();
    if (given) return bad_frames(other, "with `recurrent: false` a batch is one row and has no padding; leave it out");
  }
  FOREBAY_TRY(const auto frames, by_key(options.batch_size, keys, "batch_size", no_limit, 1));
  batching.packs = keys.columns;
  const FrameRowLimits limits{.frames = *std::ranges::min_element(frames),
                              .sequences = options.max_seqs.value_or(no_limit),
                              .numbers = batching.numbers};
  batching.make = [limits, choice = std::move(choice), names = keys.names](BatcherContext context) {
    return std::make_unique<FrameRowBatcher>(limits, choice, names, std::move(context));
  };
  return {};
}

Result<Batching> bind(const Frames& options, const Schema& in) {
  Batching batching;
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  if (pads) batching.delivery = Delivery::padded;
  FOREBAY_TRY(const LengthKeys keys, find_length_keys(options.keys, in, "keys"));
  batching.attributes = length_attributes(keys, "keys");
  batching.carries = options.recurrent ? 1 + 2 * std::ssize(keys.columns) : 2;
  batching.counts = options.max_total_num_seqs.has_value();
  set_numbers(options, batching);
  FOREBAY_TRY(const ChoiceOptions choice, choice_of(options, keys, in, batching));
  if (!options.recurrent) {
    FOREBAY_DO(bind_row(options, keys, choice, batching));
    return batching;
  }
  FOREBAY_TRY(const FrameLimits limits, limits_of(options, keys));
  batching.make = [limits, choice, columns = keys.columns, numbers = batching.numbers](BatcherContext context) {
    return std::make_unique<FramesBatcher>(limits, choice, columns, numbers, std::move(context));
  };
  return batching;
}

}  // namespace

BatcherType frames() {
  return describe<BatcherType, Frames>("frames", "Cuts batches whose size in frames is limited.", bind)
      .field("keys", &Frames::keys, "Tensors whose frames count; empty: all whose first size is unknown.")
      .field("batch_size", &Frames::batch_size,
             "Frames of a batch with its padding at most, longest row times rows: a number for all keys, or one by "
             "key. A sequence that is longer is a batch of its own.")
      .field("packed_batch_size", &Frames::packed_batch_size, "Frames of a batch without its padding at most.")
      .field("max_seqs", &Frames::max_seqs, "Sequences of a batch at most.", {.min = 1})
      .field("max_pad_size", &Frames::max_pad_size, "Frames of padding of a batch at most.")
      .field("max_seq_length", &Frames::max_seq_length, "Sequences that have more frames are left out.")
      .field("min_seq_length", &Frames::min_seq_length, "Sequences that have fewer frames are left out.")
      .field(
          "max_total_num_seqs", &Frames::max_total_num_seqs,
          "Sequences of a pass at most; those that are left out for another reason do not count. Windows of a record "
          "that follow each other are one sequence.",
          {.min = 1})
      .field("seq_drop", &Frames::seq_drop,
             "Probability that a sequence, or a window, is left out; drawn anew in each pass.")
      .field("weight", &Frames::weight, "Tensor with the weight of each sequence, of shape []; see `pruning`.")
      .field("mean_weight", &Frames::mean_weight, "Mean of the weights.")
      .field("pruning", &Frames::pruning,
             "A sequence stays when weight * (1 + pruning) is not below a number drawn between 0 and mean_weight * "
             "pruning; 0: all stay.")
      .field("recurrent", &Frames::recurrent,
             "false: a batch is one row of `batch_size` frames, with one sequence after the other; what does not fit "
             "goes on in the next batch.")
      .field("seq_idx", &Frames::seq_idx, seq_idx_doc)
      .field("epoch_end", &Frames::epoch_end, epoch_end_doc)
      .field("pad", &Frames::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .example({.options = R"({"batch_size": 6})",
                .in = R"({"x": [[1, 2], [3], [4, 5, 6], [7]]})",
                .out = R"([{"x": [[1, 2], [3, 0]]}, {"x": [[4, 5, 6], [7, 0, 0]]}])"})
      .example({.options = R"({"packed_batch_size": 3, "pad": false})",
                .in = R"({"x": [[1, 2], [3], [4, 5, 6, 7], [8]]})",
                .out = R"([{"x": [[1, 2], [3]]}, {"x": [[4, 5, 6, 7]]}, {"x": [[8]]}])"})
      .example({.options = R"({"batch_size": 5, "recurrent": false})",
                .in = R"({"x": [[1, 2, 3], [4, 5, 6, 7], [], [8]]})",
                .out = R"([{"x": [[1, 2, 3, 4, 5]]}, {"x": [[6, 7, 8]]}])"});
}

}  // namespace forebay::batchers
