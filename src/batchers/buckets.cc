// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/buckets.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>

#include "base/draw.h"
#include "batchers/measured.h"
#include "batchers/padding.h"

namespace forebay {

template <>
struct EnumNames<Longer> {
  static constexpr std::array<std::string_view, 3> names{"fail", "drop", "bucket"};
};

template <>
struct EnumNames<BucketRest> {
  static constexpr std::array<std::string_view, 2> names{"keep", "drop"};
};

namespace batchers {
namespace {

/// A bucket: the elements that wait for their batch, in the order of the stream.
struct Bucket {
  std::vector<Handle> held;
  std::vector<std::int64_t> numbers;              // of their sequences, if they are counted
  std::int64_t earlier = 0;                       // rows of passes before the restart: their batch was delivered then
  std::int64_t oldest = 0;                        // pass of held.front()
  std::vector<BatchRows::PassBegin> passes = {};  // of the held elements
  std::int64_t longest = 0;
  [[nodiscard]] std::int64_t rows() const { return earlier + std::ssize(held); }
};

/// Cuts a batch whenever a bucket is full, and at the end of the stream one of each bucket that is not empty. The
/// engine owns the batcher; one thread at a time calls it.
///
/// Elements may wait for many passes. A restart begins with the pass of the oldest one: of the rows before that pass,
/// the number by bucket is enough, because their batches were delivered.
class BucketBatcher final : public Batcher {
 public:
  BucketBatcher(const Buckets& options, ColumnId column, BatcherContext context)
      : options_{options},
        column_{column},
        reader_{context.reader},
        stream_{context, 1, options.seq_idx || options.epoch_end},
        gauge_{context.gauge},
        buckets_(options.boundaries.size() + (options.longer == Longer::bucket ? 1 : 0)) {
    if (gauge_ == nullptr) return;
    gauge_->name = "buckets";
    for (std::size_t i = 0; i < buckets_.size(); ++i) gauge_->capacity += size_of(i);
  }

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      FOREBAY_TRY(const bool more, stream_.ready(in, out));
      if (!more) return flush(out) ? Cut::batch : stream_.end(out);
      const std::size_t number = bucket_of();
      if (number == buckets_.size()) {
        if (options_.longer == Longer::fail) return too_long();
        stream_.drop();
        continue;
      }
      Bucket& bucket = buckets_[number];
      FOREBAY_DO(hold(bucket));
      if (bucket.rows() < size_of(number)) continue;
      give(bucket, out);
      return Cut::batch;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override {
    std::vector<std::int64_t> out;
    for (const Bucket& bucket : buckets_) out.push_back(bucket.rows());
    return out;
  }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    bool right = carried.size() == buckets_.size();
    for (std::size_t i = 0; right && i < carried.size(); ++i) right = carried[i] < size_of(i);
    if (!right)
      return Error{Code::state, Detail::data_loss, "corrupt state: section 'batcher' does not fit these buckets"};
    for (std::size_t i = 0; i < carried.size(); ++i) buckets_[i].earlier = carried[i];
    return {};
  }

  [[nodiscard]] std::optional<std::int64_t> oldest() const override {
    std::optional<std::int64_t> out;
    for (const Bucket& bucket : buckets_) {
      if (!bucket.held.empty()) out = std::min(out.value_or(bucket.oldest), bucket.oldest);
    }
    return out;
  }

 private:
  /// The bucket of the element that the stream is at; the number of buckets for one that fits none.
  [[nodiscard]] std::size_t bucket_of() const {
    const auto& ends = options_.boundaries;
    const auto found = std::ranges::lower_bound(ends, stream_.length(0));
    const auto first = static_cast<std::size_t>(found - ends.begin());
    const std::size_t fitting = buckets_.size() - first;
    const bool random =
        options_.random_bucket > 0 && fitting > 1 && unit_of(stream_.draw(random_bucket_draw)) < options_.random_bucket;
    return random ? first + below(stream_.draw(bucket_draw), fitting) : first;
  }
  [[nodiscard]] std::int64_t size_of(std::size_t bucket) const {
    return options_.sizes.size() == 1 ? options_.sizes.front() : options_.sizes[bucket];
  }

  [[nodiscard]] Error too_long() const {
    return stream_.fault(Error{
        Code::data, Detail::invalid_argument,
        "a sequence of " + std::to_string(stream_.length(0)) + " elements is longer than the last of `boundaries`, " +
            std::to_string(options_.boundaries.back()) + "; raise it, or set `longer` to \"bucket\" or \"drop\""});
  }

  /// Moves the next element into the bucket.
  Result<void> hold(Bucket& bucket) {
    if (held_ == charged_) {
      const std::int64_t room = std::max(min_room, 2 * held_);
      FOREBAY_TRY(charge_,
                  reader_.charge(room * bytes_a_row).at("buckets with room for " + std::to_string(room) + " rows"));
      charged_ = room;
    }
    if (bucket.held.empty()) bucket.oldest = stream_.pass();
    if (bucket.passes.empty() || bucket.passes.back().pass != stream_.pass())
      bucket.passes.push_back({bucket.held.size(), stream_.pass()});
    bucket.longest = std::max(bucket.longest, stream_.length(0));
    if (options_.seq_idx || options_.epoch_end) bucket.numbers.push_back(stream_.sequence());
    bucket.held.push_back(stream_.take());
    ++held_;
    return {};
  }

  void give(Bucket& bucket, BatchRows& out) {
    for (std::size_t i = 0, next = 0; i < bucket.held.size(); ++i) {
      if (next < bucket.passes.size() && bucket.passes[next].first == i) out.of_pass(bucket.passes[next++].pass);
      out.row(bucket.held[i]);
    }
    for (const std::int64_t number : bucket.numbers) out.number(number);
    out.set_epoch(stream_.pass());
    out.pad_frames(column_, bucket.longest);
    empty(bucket);
  }

  void empty(Bucket& bucket) {
    held_ -= std::ssize(bucket.held);
    bucket.held.clear();
    bucket.numbers.clear();
    bucket.passes.clear();
    bucket.earlier = bucket.longest = 0;
    if (gauge_ != nullptr) gauge_->held = held_;
  }

  /// At the end of the stream: gives the first bucket that is not empty. Returns false when there is none.
  bool flush(BatchRows& out) {
    for (Bucket& bucket : buckets_) {
      if (bucket.rows() == 0) continue;
      if (options_.remainder == BucketRest::keep) return give(bucket, out), true;
      stream_.drop(bucket.held);
      empty(bucket);
    }
    return false;
  }

  static constexpr std::int64_t min_room = 4096;
  const Buckets options_;
  const ColumnId column_;
  Reader& reader_;
  Measured stream_;
  Gauge* const gauge_;
  std::vector<Bucket> buckets_;
  std::int64_t held_ = 0;     // elements in all buckets
  std::int64_t charged_ = 0;  // elements that `charge_` has room for
  std::shared_ptr<void> charge_;
};

constexpr std::size_t max_buckets = 256;  // their counts are in the state, which stays small

Error bad_buckets(const std::string& option, const std::string& message) {
  return Error{Code::config, Detail::invalid_argument, message}.at(Field{option});
}

Result<void> check(const Buckets& options) {
  const auto& ends = options.boundaries;
  if (ends.empty() || ends.size() > max_buckets)
    return bad_buckets("boundaries", "a list of 1 to " + std::to_string(max_buckets) +
                                         " bucket boundaries is wanted, found " + std::to_string(ends.size()));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] >= 0 && (i == 0 || ends[i] > ends[i - 1])) continue;
    return bad_buckets("boundaries", "the boundaries of buckets are lengths in ascending order, found " +
                                         std::to_string(ends[i]) + " at place " + std::to_string(i));
  }
  const std::size_t buckets = ends.size() + (options.longer == Longer::bucket ? 1 : 0);
  if (options.sizes.size() != 1 && options.sizes.size() != buckets)
    return bad_buckets("sizes", "one number of rows is wanted, or one for each of the " + std::to_string(buckets) +
                                    " buckets; found " + std::to_string(options.sizes.size()));
  if (!(options.random_bucket >= 0 && options.random_bucket <= 1))
    return bad_buckets("random_bucket",
                       "a probability, from 0 to 1, is wanted, found " + std::to_string(options.random_bucket));
  for (const std::int64_t size : options.sizes) {
    if (size < 1 || size > 100'000'000)
      return bad_buckets("sizes", "a bucket has 1 to 100000000 rows, found " + std::to_string(size));
  }
  return {};
}

Result<Batching> bind(const Buckets& options, const Schema& in) {
  Batching batching;
  FOREBAY_DO(check(options));
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  if (pads) batching.delivery = Delivery::padded;
  FOREBAY_TRY(const ColumnId column, in.find(options.key).at(Field{"key"}));
  if (in[column].shape.rank() == 0)
    return bad_buckets("key", "tensor '" + options.key + "' is a single value and has no length");
  LengthKeys keys;
  keys.names.push_back(options.key);
  batching.attributes = length_attributes(keys, "key");
  batching.carries = std::ssize(options.boundaries) + 1;
  set_numbers(options, batching);
  batching.make = [options, column](BatcherContext context) {
    return std::make_unique<BucketBatcher>(options, column, context);
  };
  return batching;
}

}  // namespace

BatcherType buckets() {
  return describe<BatcherType, Buckets>("buckets", "Cuts batches of sequences of similar length.", bind)
      .required("key", &Buckets::key, "Tensor whose first size is the length of a sequence.")
      .required("boundaries", &Buckets::boundaries,
                "The largest length of each bucket, ascending. A sequence goes into the first bucket that it fits.")
      .required("sizes", &Buckets::sizes, "Rows of a batch: a list of one number for all buckets, or of one for each.")
      .field(
          "longer", &Buckets::longer,
          "What becomes of sequences beyond the last boundary: fail, drop them, or bucket: they have one of their own.")
      .field("remainder", &Buckets::remainder,
             "What becomes of buckets that are not full at the end (of each epoch, where epochs are hard): keep, drop.")
      .field("random_bucket", &Buckets::random_bucket,
             "Probability that a sequence goes into a random one of the buckets that it fits, in place of the first.")
      .field("seq_idx", &Buckets::seq_idx, seq_idx_doc)
      .field("epoch_end", &Buckets::epoch_end, epoch_end_doc)
      .field("pad", &Buckets::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .example({.options = R"({"key": "x", "boundaries": [1, 3], "sizes": [2], "longer": "drop"})",
                .in = R"({"x": [[1, 2], [3], [4, 5, 6], [7, 8, 9, 10], [11]]})",
                .out = R"([{"x": [[1, 2, 0], [4, 5, 6]]}, {"x": [[3], [11]]}])"})
      .example({.options = R"({"key": "x", "boundaries": [1], "sizes": [1, 2], "longer": "bucket"})",
                .in = R"({"x": [[1, 2], [3], [4, 5, 6]]})",
                .out = R"([{"x": [[3]]}, {"x": [[1, 2, 0], [4, 5, 6]]}])"});
}

}  // namespace batchers
}  // namespace forebay
