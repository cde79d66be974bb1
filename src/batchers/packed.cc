// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/packed.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>

#include "batchers/frame_row.h"
#include "batchers/padding.h"

namespace forebay {

template <>
struct EnumNames<PackFit> {
  static constexpr std::array<std::string_view, 2> names{"first", "best"};
};

template <>
struct EnumNames<PackLonger> {
  static constexpr std::array<std::string_view, 3> names{"fail", "drop", "split"};
};

template <>
struct EnumNames<PackRest> {
  static constexpr std::array<std::string_view, 3> names{"keep", "drop", "pad"};
};

namespace batchers {
namespace {

/// A segment of an open row.
struct Segment {
  Handle element;
  std::int64_t start = 0, length = 0, at = 0;
};

struct PackedRow {
  std::vector<Segment> segments;
  bool earlier = false;        // begun in a pass before the restart: its batch was delivered then
  std::int64_t end = 0;        // of the last segment
  std::int64_t sequence = -1;  // of the first segment
  std::int64_t pass = 0;       // of the first segment
};

/// Packs sequences into the rows of one batch after the other. The engine owns the batcher; one thread at a time calls
/// it. Sequences without a frame are left out.
///
/// The rows of the open batch wait in the batcher, because a later sequence may go into an earlier row. A restart in a
/// batch that has sequences of an earlier pass knows how full its rows were.
class PackedBatcher final : public Batcher {
 public:
  PackedBatcher(const Packed& options, std::vector<std::string> keys, BatcherContext context)
      : options_{options},
        keys_{std::move(keys)},
        reader_{context.reader},
        stream_{std::move(context), keys_.size(), options.seq_idx || options.epoch_end} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      if (left_ == 0) {
        FOREBAY_TRY(const bool more, next(in, out));
        if (!more) return finish(out);
      }
      const std::int64_t length = std::min(left_, options_.length);
      PackedRow* const row = row_for(length);
      if (row == nullptr) return give(out), Cut::batch;
      FOREBAY_DO(charge());
      place(*row, length, out);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out;
    for (const PackedRow& row : open_) out.push_back(row.end);
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    bool right = std::ssize(carried) <= options_.rows;
    for (const std::int64_t end : carried) right = right && end > 0 && end <= options_.length;
    if (!right)
      return Error{Code::state, Detail::data_loss, "corrupt state: section 'batcher' does not fit these packed rows"};
    for (const std::int64_t end : carried) open_.push_back({.segments = {}, .earlier = true, .end = end});
    return {};
  }

 private:
  /// Takes the next sequence that has frames. False: the stream has ended.
  Result<bool> next(Handles& in, const BatchRows& out) {
    while (true) {
      FOREBAY_TRY(const bool more, stream_.ready(in, out));
      if (!more) return false;
      FOREBAY_DO(check_equal_keys(stream_, keys_));
      const std::int64_t length = stream_.length(0);
      if (length > options_.length && options_.longer == PackLonger::fail) return too_long(length);
      if (length > 0 && (length <= options_.length || options_.longer == PackLonger::split)) break;
      stream_.drop();
    }
    start_ = 0;
    left_ = stream_.length(0);
    pass_ = stream_.pass();
    sequence_ = stream_.sequence();
    element_ = stream_.take();
    return true;
  }

  /// The frame at which the next segment of a row begins.
  [[nodiscard]] std::int64_t next_frame(const PackedRow& row) const {
    if (row.end == 0) return 0;
    const std::int64_t at = row.end + options_.gap;
    return (at + options_.align - 1) / options_.align * options_.align;
  }

  /// The row of a segment; null: the batch has no room for it.
  [[nodiscard]] PackedRow* row_for(std::int64_t length) {
    PackedRow* found = nullptr;
    for (PackedRow& row : open_) {
      if (next_frame(row) + length > options_.length) continue;
      if (found == nullptr || next_frame(row) > next_frame(*found)) found = &row;
      if (options_.fit == PackFit::first) return found;
    }
    if (found == nullptr && std::ssize(open_) < options_.rows) found = &open_.emplace_back();
    return found;
  }

  void place(PackedRow& row, std::int64_t length, BatchRows& out) {
    if (!out.epoch()) out.set_epoch(pass_);
    const std::int64_t at = next_frame(row);
    if (row.end == 0) row.sequence = sequence_;
    if (row.segments.empty()) row.pass = pass_;
    row.segments.push_back({.element = element_, .start = start_, .length = length, .at = at});
    row.end = at + length;
    start_ += length;
    left_ -= length;
    ++held_;
    if (left_ > 0) reader_.hold({&element_, 1});
  }

  /// Charges the segments that wait to the budget.
  Result<void> charge() {
    if (held_ < charged_) return {};
    const std::int64_t room = std::max(min_room, 2 * held_);
    FOREBAY_TRY(charge_, reader_.charge(room * static_cast<std::int64_t>(sizeof(Segment)))
                             .at("packed rows with room for " + std::to_string(room) + " segments"));
    charged_ = room;
    return {};
  }

  /// Releases the elements of a row.
  void drop(const PackedRow& row) {
    for (const Segment& part : row.segments) reader_.drop({&part.element, 1});
  }

  void give(BatchRows& out) {
    for (const PackedRow& row : open_) {
      out.begin_row();
      if (row.earlier) {  // the first element of a row says which row it is, and of this one it is not known
        drop(row);
      } else {
        out.of_pass(row.pass);
        for (const Segment& part : row.segments) out.span(part.element, part.start, part.length, part.at);
      }
      if (options_.seq_idx || options_.epoch_end) out.number(row.sequence);
    }
    open_.clear();
    held_ = 0;
  }

  /// At the end of the stream.
  Result<Cut> finish(BatchRows& out) {
    if (open_.empty()) return stream_.end(out);
    const bool full = std::ssize(open_) == options_.rows;
    if (!full && options_.remainder == PackRest::drop) {
      for (const PackedRow& row : open_) drop(row);
      open_.clear();
      held_ = 0;
      return stream_.end(out);
    }
    give(out);
    while (options_.remainder == PackRest::pad && out.rows() < options_.rows) out.begin_row();
    return Cut::batch;
  }

  [[nodiscard]] Error too_long(std::int64_t length) const {
    return stream_.fault(Error{Code::data, Detail::invalid_argument,
                               "a sequence of " + std::to_string(length) + " frames is longer than a row of " +
                                   std::to_string(options_.length) +
                                   "; raise `length`, or set `longer` to \"split\" or \"drop\""});
  }

  static constexpr std::int64_t min_room = 4096;
  const Packed options_;
  const std::vector<std::string> keys_;
  Reader& reader_;
  Measured stream_;
  std::vector<PackedRow> open_;
  Handle element_;                     // that is placed
  std::int64_t start_ = 0, left_ = 0;  // its next frame, and those from there on
  std::int64_t pass_ = 0, sequence_ = 0;
  std::int64_t held_ = 0;     // segments in all rows
  std::int64_t charged_ = 0;  // segments that `charge_` has room for
  std::shared_ptr<void> charge_;
};

Error bad_packing(const std::string& option, const std::string& message) {
  return Error{Code::config, Detail::invalid_argument, message}.at(Field{option});
}

/// Fixes the frames of all rows: every batch has the same shape.
Result<void> pad_rows(const Packed& options, const Schema& in, const LengthKeys& keys, Batching& batching) {
  if (std::holds_alternative<bool>(options.pad) && !std::get<bool>(options.pad))
    return bad_packing("pad", "packed rows have one length, so they are padded; leave `pad` out, or give values");
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  static_cast<void>(pads);
  for (const ColumnId key : keys.columns) {
    std::vector<std::int64_t> sizes(in[key].shape.rank(), unknown_dim);
    const auto named = [&](const auto& entry) { return entry.first == in[key].name; };
    const auto found = std::ranges::find_if(batching.padding, named);
    if (found != batching.padding.end()) sizes = found->second.shape.dims();
    sizes.front() = options.length;
    Padding padding{.shape = Shape{std::move(sizes)}, .value = {}};
    if (found != batching.padding.end()) padding.value = found->second.value;
    batching.padding.emplace_back(in[key].name, std::move(padding));
  }
  batching.delivery = Delivery::padded;
  return {};
}

void add_generated(const Packed& options, Batching& batching) {
  const auto add = [&](const std::optional<NewTensorName>& name, Generated kind) {
    if (!name) return;
    batching.generated.emplace_back(kind, *name);
    const bool ends = kind == Generated::cu_seqlens;
    Padding padding{.shape = Shape{ends ? unknown_dim : options.length}, .value = {}};
    if (ends) padding.value = options.length;
    batching.padding.emplace_back(*name, std::move(padding));
  };
  add(options.segment_ids, Generated::segment_ids);
  add(options.positions, Generated::positions);
  add(options.cu_seqlens, Generated::cu_seqlens);
}

Result<Batching> bind(const Packed& options, const Schema& in) {
  Batching batching;
  FOREBAY_TRY(const LengthKeys keys, find_length_keys(options.keys, in, "keys"));
  FOREBAY_DO(pad_rows(options, in, keys, batching));
  for (const auto& name : {options.segment_ids, options.positions, options.cu_seqlens}) {
    if (name && name->empty()) return bad_packing("segment_ids", "a tensor's name must not be empty");
  }
  add_generated(options, batching);
  batching.attributes = length_attributes(keys, "keys");
  batching.packs = keys.columns;
  batching.carries = options.rows;
  if (options.remainder == PackRest::pad) batching.pads_to = options.rows;
  set_numbers(options, batching);
  batching.make = [options, names = keys.names](BatcherContext context) {
    return std::make_unique<PackedBatcher>(options, names, std::move(context));
  };
  return batching;
}

}  // namespace

BatcherType packed() {
  constexpr Range frames{.min = 1, .max = (std::int64_t{1} << 31) - 1};
  return describe<BatcherType, Packed>("packed", "Batches whose rows have one length and hold several sequences each.",
                                       bind)
      .required("length", &Packed::length, "Frames of a row.", frames)
      .required("rows", &Packed::rows, "Rows of a batch.", {.min = 1, .max = 4096})
      .field("keys", &Packed::keys, "Tensors to pack, equally long; empty: all whose first size is unknown.")
      .field(
          "fit", &Packed::fit,
          "Which row of the batch gets a sequence: the first one that has room, or best: the one with the least room.")
      .field("gap", &Packed::gap, "Frames of padding between two sequences of a row at least.",
             {.min = 0, .max = std::int64_t{1} << 31})
      .field("align", &Packed::align, "Sequences begin at multiples of this number of frames.", frames)
      .field("longer", &Packed::longer,
             "What becomes of a sequence that is longer than a row: fail, drop, or split: pieces that fill rows.")
      .field("remainder", &Packed::remainder,
             "What becomes of a last batch that has fewer rows: keep, drop, or pad: it is filled up with empty rows.")
      .field("segment_ids", &Packed::segment_ids,
             "Name of a tensor: for each frame the number of its segment in the row, from 1; 0 is padding.")
      .field("positions", &Packed::positions,
             "Name of a tensor: for each frame its place in its segment, from 0; 0 in padding, too.")
      .field("cu_seqlens", &Packed::cu_seqlens,
             "Name of a tensor: for each row the frames at which its segments begin, and the end of the last one; "
             "filled up with `length`.")
      .field("seq_idx", &Packed::seq_idx, seq_idx_doc)
      .field("epoch_end", &Packed::epoch_end, epoch_end_doc)
      .field("pad", &Packed::pad, "true, or a list of {tensor, shape, value}: values to pad with.")
      .example({.options = R"({"length": 6, "rows": 2, "segment_ids": "s", "positions": "p", "cu_seqlens": "c"})",
                .in = R"({"x": [[1, 2, 3], [4, 5, 6, 7], [8, 9], [10], [11, 12]]})",
                .out = R"([{"x": [[1, 2, 3, 8, 9, 10], [4, 5, 6, 7, 11, 12]],
                            "s": [[1, 1, 1, 2, 2, 3], [1, 1, 1, 1, 2, 2]],
                            "p": [[0, 1, 2, 0, 1, 0], [0, 1, 2, 3, 0, 1]], "c": [[0, 3, 5, 6], [0, 4, 6, 6]]}])"})
      .example({.options = R"({"length": 6, "rows": 2, "fit": "best", "gap": 1, "align": 2})",
                .in = R"({"x": [[1], [2, 3, 4], [5, 6], [7, 8, 9, 10]]})",
                .out = R"([{"x": [[1, 0, 2, 3, 4, 0], [5, 6, 0, 0, 0, 0]]}, {"x": [[7, 8, 9, 10, 0, 0]]}])"})
      .example({.options = R"({"length": 3, "rows": 2, "longer": "split", "remainder": "pad"})",
                .in = R"({"x": [[1, 2, 3, 4, 5], [6], [7, 8]]})",
                .out = R"([{"x": [[1, 2, 3], [4, 5, 6]]}, {"x": [[7, 8, 0], [0, 0, 0]]}])"});
}

}  // namespace batchers
}  // namespace forebay
