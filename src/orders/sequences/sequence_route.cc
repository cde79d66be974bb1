// SPDX-License-Identifier: Apache-2.0
#include "orders/sequences/sequence_route.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "orders/attribute_reading.h"
#include "orders/radix_sort.h"
#include "orders/sequences/arrange.h"

namespace forebay::orders {
namespace {

/// Half a hash of a tag, twice.
struct TagHashes {
  std::vector<std::uint64_t> low, high;  // by sequence
};

/// Leaves out the sequences whose tag has come before.
///
///     order ─► table_: places of sequences by the hash of their tags, in steps of one ─► the first of each tag
class FirstOfEachTag {
 public:
  FirstOfEachTag(const TagHashes& hashes, std::size_t n) : hashes_{hashes}, table_(std::bit_ceil(2 * n)) {}

  void apply(std::vector<std::uint32_t>& order) {
    std::erase_if(order, [this](std::uint32_t place) { return !is_new(place); });
  }
  static constexpr std::int64_t max_bytes = 4 * sizeof(std::uint32_t);  // for each sequence

 private:
  bool is_new(std::uint32_t place) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = hashes_.low[place] & mask;; at = (at + 1) & mask) {
      if (table_[at] == 0) {
        table_[at] = place + 1;
        return true;
      }
      const std::uint32_t other = table_[at] - 1;
      if (hashes_.low[other] == hashes_.low[place] && hashes_.high[other] == hashes_.high[place]) return false;
    }
  }

  const TagHashes& hashes_;
  std::vector<std::uint32_t> table_;  // 1 + a place; 0: free
};

/// The order of the sequences of a pass.
///
///     census ─► attributes: lengths, tags ─► full order ─► unique tags ─► part of the pass ─► tags of the list ─►
///     order_
///
/// Holds the order only. A walk owns it and calls it on one thread at a time. `plan` fails when the reader or the
/// budget does, and when nothing is left to give.
class SequenceRoute final : public Route {
 public:
  SequenceRoute(std::shared_ptr<const SequencePlan> plan, const OrderContext& context)
      : plan_{std::move(plan)},
        seed_{context.seed},
        purpose_{context.purpose},
        first_attribute_{context.first_attribute},
        reader_{*context.reader} {}

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    free_attributes();
    std::vector<std::uint32_t>{}.swap(order_);
    charge_.reset();
    charged_ = false;
  }

  Result<std::int64_t> plan(const Census& census) override {
    FOREBAY_DO(check_count(census.records()));
    if (!charged_) FOREBAY_DO(take_memory(census.records()));
    FOREBAY_DO(read_attributes(census));
    make_order(static_cast<std::uint32_t>(census.records()));
    FOREBAY_DO(leave_unlisted_out());
    free_attributes();
    order_.shrink_to_fit();
    FOREBAY_TRY(charge_, reader_.charge(std::ssize(order_) * std::int64_t{sizeof(std::uint32_t)}));
    return std::ssize(order_) * options().repeat_epoch;
  }

  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    std::size_t at = static_cast<std::size_t>(first) % order_.size();
    for (std::uint64_t& number : out) {
      number = order_[at];
      if (++at == order_.size()) at = 0;
    }
  }

 private:
  [[nodiscard]] const SequenceOrder& options() const { return plan_->options; }

  /// Partitions share a full order; `random:nth` makes full orders share theirs.
  [[nodiscard]] const Mode& mode() const {
    const auto epoch = static_cast<std::size_t>(epoch_);
    return epoch < plan_->first_modes.size() ? plan_->first_modes[epoch] : plan_->mode;
  }

  static Result<void> check_count(std::int64_t records) {
    if (records == 0) {
      return Error{Code::data, Detail::failed_precondition,
                   "sequence_order: there are no sequences to order; check the files and the filters before it"};
    }
    if (records <= std::int64_t{UINT32_MAX}) return {};
    return Error{Code::data, Detail::resource_exhausted,
                 "sequence_order: there are " + std::to_string(records) + " sequences, at most " +
                     std::to_string(UINT32_MAX) + " can be ordered"};
  }

  /// Charges what the attributes and the order take at most.
  Result<void> take_memory(std::int64_t records) {
    std::int64_t each = bytes_to_arrange(mode());
    if (needs_lengths()) each += sizeof(std::uint64_t);
    if (plan_->hash) each += 2 * std::int64_t{sizeof(std::uint64_t)} + FirstOfEachTag::max_bytes;
    if (plan_->listed) each += sizeof(std::uint8_t);
    const std::int64_t bins = has_bins(mode().kind) ? bins_of(mode(), records) : 0;
    FOREBAY_TRY(charge_, reader_.charge(records * each + bins * std::int64_t{sizeof(std::uint32_t)})
                             .at("the order of " + std::to_string(records) + " sequences"));
    const auto n = static_cast<std::size_t>(records);
    if (needs_lengths()) keys_.reserve(n);
    if (plan_->hash) hashes_.low.reserve(n), hashes_.high.reserve(n);
    if (plan_->listed) listed_.reserve(n);
    charged_ = true;
    return {};
  }

  [[nodiscard]] bool needs_lengths() const { return plan_->length && sorts(mode().kind); }

  /// May be interrupted; the next call goes on.
  Result<void> read_attributes(const Census& census) {
    const auto read = [&]<class T>(std::size_t attribute, const auto& make, std::vector<T>& out) {
      return read_attribute(reader_, census, first_attribute_ + attribute, make, out);
    };
    const auto key = [](std::int64_t value, std::int64_t) { return ascending_key(value); };
    const auto bits = [](std::int64_t value, std::int64_t) { return static_cast<std::uint64_t>(value); };
    const auto verdict = [](std::int64_t value, std::int64_t) { return static_cast<std::uint8_t>(value); };
    if (needs_lengths()) FOREBAY_DO(read(*plan_->length, key, keys_));
    if (plan_->hash) FOREBAY_DO(read(*plan_->hash, bits, hashes_.low));
    if (plan_->hash) FOREBAY_DO(read(*plan_->hash + 1, bits, hashes_.high));
    if (plan_->listed) FOREBAY_DO(read(*plan_->listed, verdict, listed_));
    return {};
  }

  /// The number that seeds the generator, as in RETURNN: epochs count from 1.
  [[nodiscard]] std::uint64_t seed_number() const {
    if (options().fixed_random_seed) return static_cast<std::uint64_t>(*options().fixed_random_seed);
    const std::int64_t full = epoch_ / options().partition_epoch / mode().nth.value_or(1) + 1;
    return static_cast<std::uint64_t>(full + options().random_seed_offset);
  }

  [[nodiscard]] std::unique_ptr<Draws> draws_of_pass() const {
    if (options().rng == Rng::numpy_legacy)
      return std::make_unique<LegacyDraws>(static_cast<std::uint32_t>(seed_number()));
    return std::make_unique<KeyedDraws>(draw_key({.seed = seed_, .epoch = seed_number(), .purpose = purpose_}));
  }

  void make_order(std::uint32_t n) {
    order_ = arrange(mode(), n, keys_, options().keep_tail, *draws_of_pass());
    tell_of_tail(n);
    if (plan_->hash) FirstOfEachTag{hashes_, n}.apply(order_);
    const std::uint64_t parts = static_cast<std::uint64_t>(options().partition_epoch * options().num_shards);
    if (parts == 1) return;
    const auto part =
        static_cast<std::uint64_t>((epoch_ % options().partition_epoch) * options().num_shards + options().shard_index);
    const std::uint64_t each = order_.size() / parts, longer = order_.size() % parts;
    const std::uint64_t begin = part * each + std::min(part, longer);
    order_.resize(begin + each + (part < longer ? 1 : 0));
    order_.erase(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(begin));
  }

  /// `default_every_n` leaves sequences out. People are told once.
  void tell_of_tail(std::uint32_t n) {
    if (mode().kind != ModeKind::default_every_n || options().keep_tail || std::exchange(told_, true)) return;
    const auto tail = n % static_cast<std::uint64_t>(*mode().every_n);
    if (tail == 0) return;
    reader_.note("sequence_order: 'default_every_n:" + std::to_string(*mode().every_n) + "' leaves out the last " +
                 std::to_string(tail) + " of " + std::to_string(n) +
                 " sequences in every epoch; \"keep_tail\": true gives them last");
  }

  Result<void> leave_unlisted_out() {
    if (!plan_->listed) return {};
    std::erase_if(order_, [this](std::uint32_t place) { return listed_[place] == 0; });
    if (!order_.empty()) return {};
    return Error{Code::data, Detail::failed_precondition,
                 "sequence_order: seq_list_filter_file '" + *options().seq_list_filter_file +
                     "' names none of the sequences of epoch " + std::to_string(epoch_) +
                     "; correct the list, or lower partition_epoch"};
  }

  void free_attributes() {
    std::vector<std::uint64_t>{}.swap(keys_);
    hashes_ = {};
    std::vector<std::uint8_t>{}.swap(listed_);
  }

  const std::shared_ptr<const SequencePlan> plan_;
  const std::uint64_t seed_;
  const std::uint64_t purpose_;
  const std::size_t first_attribute_;
  Reader& reader_;
  std::int64_t epoch_ = 0;
  std::vector<std::uint64_t> keys_;  // by sequence; in the order of the lengths
  TagHashes hashes_;
  std::vector<std::uint8_t> listed_;  // by sequence: the list has its tag
  std::vector<std::uint32_t> order_;
  std::shared_ptr<void> charge_;  // of all of them, to the budget
  bool charged_ = false;
  bool told_ = false;  // tell_of_tail
};

}  // namespace

std::unique_ptr<Route> sequence_route(std::shared_ptr<const SequencePlan> plan, const OrderContext& context) {
  return std::make_unique<SequenceRoute>(std::move(plan), context);
}

}  // namespace forebay::orders
