// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/interleave.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace forebay::orders {
namespace {

/// Turns file handles into record handles, in the order of tf.data's interleave. Slots are visited in turn, for up to
/// `block` records each. When a read finds the end of the file, the visit ends, and the slot gets the next file on its
/// next turn.
///
///     upstream ─► announced_: opened ahead ─► slot: visited in turn ─► closed at the end of the file, or by `begin`
///
/// The run owns the order; one thread at a time calls it. `pull` repeats the errors of the reader and of the upstream.
class Interleaver final : public Handles {
 public:
  Interleaver(const Interleave& options, OrderContext context)
      : block_{static_cast<std::size_t>(options.block)},
        sloppy_{options.sloppy && !context.deterministic},
        cycle_{static_cast<std::size_t>(options.cycle)},
        context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    for (Slot& slot : slots_) close(slot);
    slots_.clear();
    for (const Reader::Stream stream : announced_) context_.reader->close(stream);
    announced_.clear();
    turn_ = taken_ = 0;
    files_ended_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (cycle_ == 1) return pull_in_file_order(out);
    std::size_t count = 0;
    while (count < out.size()) {
      auto visited = visit(out.subspan(count));
      if (!visited.ok()) return count > 0 ? Result<std::size_t>{count} : visited;
      count += *visited;
      if (*visited == 0 && over()) break;
    }
    return count;
  }

  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    if (cycle_ > 1) return Handles::skip(n, reader);
    if (slots_.empty()) slots_.emplace_back();
    Slot& slot = slots_.front();
    while (true) {
      FOREBAY_TRY(const bool open, occupied(slot));
      if (!open) return std::int64_t{0};
      FOREBAY_TRY(const std::int64_t count, reader.skip(*slot.stream, n));
      if (count > 0) return count;
      close(slot);
    }
  }

 private:
  struct Slot {
    std::optional<Reader::Stream> stream;
    std::array<Handle, 64> ahead;  // read from the stream and not handed out yet
    std::size_t next = 0;
    std::size_t filled = 0;
  };

  /// Reads one file after the other, straight into `out`. The block length makes no difference with one slot.
  Result<std::size_t> pull_in_file_order(std::span<Handle> out) {
    if (slots_.empty()) slots_.emplace_back();
    Slot& slot = slots_.front();
    while (true) {
      FOREBAY_TRY(const bool open, occupied(slot));
      if (!open) return std::size_t{0};
      FOREBAY_TRY(const std::size_t count, context_.reader->read(*slot.stream, out));
      if (count > 0) return count;
      close(slot);
    }
  }

  /// Continues the visit of the present slot and returns the number of records; 0 when the visit ended without one.
  Result<std::size_t> visit(std::span<Handle> out) {
    if (turn_ == slots_.size()) slots_.emplace_back();  // one per file, `cycle` at most
    Slot& slot = slots_[turn_];
    FOREBAY_TRY(const bool open, occupied(slot));
    if (!open) return next_turn(), std::size_t{0};
    if (slot.next == slot.filled) {
      if (sloppy_ && !context_.reader->ready(*slot.stream) && worth_passing_over()) return next_turn(), std::size_t{0};
      FOREBAY_TRY(slot.filled, context_.reader->read(*slot.stream, slot.ahead));
      slot.next = 0;
      if (slot.filled == 0) return close(slot), next_turn(), std::size_t{0};
    }
    const std::size_t count = std::min({out.size(), slot.filled - slot.next, block_ - taken_});
    std::copy_n(slot.ahead.begin() + static_cast<std::ptrdiff_t>(slot.next), count, out.begin());
    slot.next += count;
    taken_ += count;
    if (taken_ == block_) next_turn();
    return count;
  }

  /// Moves to the next slot; after the last one to a new slot, or back to the first.
  void next_turn() {
    taken_ = 0;
    ++turn_;
    if (turn_ == slots_.size() && !more_slots()) turn_ = 0;
  }

  [[nodiscard]] bool more_slots() const { return slots_.size() < cycle_ && !(files_ended_ && announced_.empty()); }

  /// Gives the slot a file if it has none, and opens files ahead. False: no file is left.
  Result<bool> occupied(Slot& slot) {
    if (slot.stream) return true;
    const auto wanted = static_cast<std::size_t>(context_.reader->files_ahead()) + 1;
    while (announced_.size() < wanted && !files_ended_) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, context_.upstream->pull({&file, 1}));
      files_ended_ = count == 0;
      if (!files_ended_) announced_.push_back(context_.reader->open(file));
    }
    if (announced_.empty()) return false;
    slot.stream = announced_.front();
    announced_.pop_front();
    return true;
  }

  /// Drops the records of the slot that were not handed out, and closes its file.
  void close(Slot& slot) {
    if (!slot.stream) return;
    context_.reader->drop(std::span{slot.ahead}.subspan(slot.next, slot.filled - slot.next));
    context_.reader->close(*slot.stream);
    slot.stream.reset();
    slot.next = slot.filled = 0;
  }

  /// Whether the pass is over: no files are left, and all slots are empty.
  [[nodiscard]] bool over() const {
    return files_ended_ && announced_.empty() &&
           std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.stream.has_value(); });
  }

  /// Whether another file may be ready: a slot whose next record is there, or a file without a slot. Without the second
  /// case the first file would delay all others at the start.
  [[nodiscard]] bool worth_passing_over() const {
    return more_slots() || std::any_of(slots_.begin(), slots_.end(), [this](const Slot& slot) {
             return slot.stream && (slot.next < slot.filled || context_.reader->ready(*slot.stream));
           });
  }

  const std::size_t block_;
  const bool sloppy_;
  const std::size_t cycle_;
  std::vector<Slot> slots_;
  std::deque<Reader::Stream> announced_;  // files opened ahead, in file order
  std::size_t turn_ = 0;
  std::size_t taken_ = 0;  // records of the present visit
  bool files_ended_ = false;
  OrderContext context_;
};

Result<Ordering> bind(const Interleave& options) {
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<Interleaver>(options, std::move(context));
                  },
                  .grain = Grain::files_to_records};
}

}  // namespace

OrderType interleave() {
  return describe<OrderType, Interleave>(
             "interleave", "Opens `cycle` files at a time and takes `block` records from each in turn.", bind)
      .field("cycle", &Interleave::cycle, "Files open at a time.", {.min = 1, .max = 1'000'000})
      .field("block", &Interleave::block, "Records taken from a file before the next one's turn.",
             {.min = 1, .max = 1'000'000'000})
      .field("sloppy", &Interleave::sloppy,
             "May pass over a file whose next record is not there yet; acts only with `deterministic: false`.")
      .example({.options = R"({"cycle": 2})",
                .in = R"([[1, 2], [11, 12, 13], [21], [31, 32]])",
                .out = R"([1, 11, 2, 12, 13, 21, 31, 32])"})
      .example({.options = R"({"cycle": 2, "block": 2})",
                .in = R"([[1, 2], [11, 12, 13], [21], [31, 32]])",
                .out = R"([1, 2, 11, 12, 13, 21, 31, 32])"});
}

}  // namespace forebay::orders
