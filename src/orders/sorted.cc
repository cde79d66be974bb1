// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/sorted.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "expression/tree.h"

namespace forebay::orders {
namespace {

/// Sorts numbers in time that grows with their count only.
///
///     keys: sort key, place ─► one stable pass for each 11 bits that differ, lowest first ─► places in order
class RadixSort {
 public:
  struct Key {
    std::uint64_t value = 0;
    std::uint32_t place = 0;
  };

  static void sort(std::vector<Key>& keys) {
    std::uint64_t some = 0, all = ~std::uint64_t{0};
    for (const Key& key : keys) some |= key.value, all &= key.value;
    std::vector<Key> other(keys.size());
    for (int shift = 0; shift < 64; shift += bits) {
      if ((((some ^ all) >> shift) & mask) == 0) continue;  // equal in all keys
      pass(keys, other, shift);
      keys.swap(other);
    }
  }

 private:
  static constexpr int bits = 11;
  static constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;

  static void pass(const std::vector<Key>& from, std::vector<Key>& to, int shift) {
    std::array<std::size_t, mask + 1> next{};
    for (const Key& key : from) ++next[(key.value >> shift) & mask];
    std::size_t begin = 0;
    for (std::size_t& place : next) begin += std::exchange(place, begin);
    for (const Key& key : from) to[next[(key.value >> shift) & mask]++] = key;
  }
};

/// All records of a pass, sorted by an attribute. Holds their places and only a window of the next handles.
///
///     list: files, counts ─► keys: an attribute of each record ─► sort: places ─► window: located, fetched ─► out
///
/// The run owns the order; one thread at a time calls it. `pull` repeats the errors of the reader and of the upstream.
class SortedOrder final : public Handles {
 public:
  SortedOrder(Sorted options, OrderContext context) : options_{std::move(options)}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    context_.reader->drop(std::span{window_}.subspan(next_));
    window_.clear();
    files_.clear();
    first_.clear();
    keys_.clear();
    places_.clear();
    charge_.reset();
    next_ = done_ = 0;
    listed_ = sorted_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (!listed_) FOREBAY_DO(list());
    if (!sorted_) FOREBAY_DO(sort());
    if (next_ == window_.size()) FOREBAY_DO(refill());
    if (!fetched_) {
      FOREBAY_TRY(fetched_, context_.reader->fetch(std::span{window_}.subspan(next_)));
    }
    const std::size_t count = std::min(out.size(), window_.size() - next_);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
    next_ += count;
    return count;
  }

 private:
  static constexpr std::size_t keys_at_once = 4096;

  /// Pulls all files of the pass, indexes them and takes the memory of the keys.
  Result<void> list() {
    while (true) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, context_.upstream->pull({&file, 1}));
      if (count == 0) break;
      files_.push_back(file);
    }
    FOREBAY_TRY(const auto counts, context_.reader->index(files_));
    std::int64_t records = 0;
    first_.assign(1, 0);
    for (const std::int64_t count : counts) first_.push_back(records += count);
    if (records > std::int64_t{UINT32_MAX}) {
      return Error{Code::data, Detail::resource_exhausted,
                   "sorted: there are " + std::to_string(records) + " records, at most " + std::to_string(UINT32_MAX) +
                       " can be sorted"};
    }
    const auto bytes = records * static_cast<std::int64_t>(2 * sizeof(RadixSort::Key));
    FOREBAY_TRY(charge_, context_.reader->charge(bytes).at("the keys of " + std::to_string(records) + " records"));
    keys_.reserve(static_cast<std::size_t>(records));
    listed_ = true;
    return {};
  }

  /// The name of a record by its number among all records.
  [[nodiscard]] RecordName name(std::int64_t record) const {
    const auto file = std::upper_bound(first_.begin(), first_.end(), record) - first_.begin() - 1;
    return {.file = files_[static_cast<std::size_t>(file)].block,
            .record = record - first_[static_cast<std::size_t>(file)]};
  }

  /// Asks for the keys that are not known yet, and sorts. May be interrupted and called again.
  Result<void> sort() {
    const std::int64_t records = first_.back();
    std::vector<RecordName> names;
    std::vector<std::int64_t> values;
    while (std::ssize(keys_) < records) {
      const std::int64_t first = std::ssize(keys_);
      const std::int64_t count = std::min<std::int64_t>(keys_at_once, records - first);
      names.resize(static_cast<std::size_t>(count));
      values.resize(names.size());
      for (std::int64_t i = 0; i < count; ++i) names[static_cast<std::size_t>(i)] = name(first + i);
      FOREBAY_DO(context_.reader->attributes_of(context_.first_attribute, names, values));
      for (std::int64_t i = 0; i < count; ++i)
        keys_.push_back({key_of(values[static_cast<std::size_t>(i)]), static_cast<std::uint32_t>(first + i)});
    }
    RadixSort::sort(keys_);
    places_.reserve(keys_.size());
    for (const RadixSort::Key& key : keys_) places_.push_back(key.place);
    std::vector<RadixSort::Key>{}.swap(keys_);
    FOREBAY_TRY(charge_, context_.reader->charge(std::ssize(places_) * std::int64_t{sizeof(std::uint32_t)}));
    sorted_ = true;
    return {};
  }

  /// A key whose order as an unsigned number is the wanted one.
  [[nodiscard]] std::uint64_t key_of(std::int64_t value) const {
    const std::uint64_t key = static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
    return options_.descending ? ~key : key;
  }

  /// Replaces the used-up window by the handles of the next records. At the end the window stays empty. A failure
  /// changes nothing.
  Result<void> refill() {
    const std::size_t count = std::min(places_.size() - done_, static_cast<std::size_t>(context_.reader->window()));
    names_.resize(count);
    for (std::size_t i = 0; i < count; ++i) names_[i] = name(places_[done_ + i]);
    located_.resize(count);
    FOREBAY_DO(context_.reader->locate(names_, located_));
    window_.swap(located_);
    fetched_ = false;
    next_ = 0;
    done_ += count;
    return {};
  }

  const Sorted options_;
  OrderContext context_;
  std::vector<Handle> files_;
  std::vector<std::int64_t> first_;  // by file: the number of its first record; then the number of records
  bool listed_ = false;
  std::vector<RadixSort::Key> keys_;
  std::vector<std::uint32_t> places_;  // numbers of records in their order
  std::shared_ptr<void> charge_;       // of keys_ or places_, to the budget
  bool sorted_ = false;
  std::size_t done_ = 0;  // records of the pass that have been in a window
  std::vector<Handle> window_;
  std::vector<Handle> located_;
  std::size_t next_ = 0;  // index in window_
  bool fetched_ = false;  // the rest of the window has its bytes
  std::vector<RecordName> names_;
};

Result<Ordering> bind(const Sorted& options) {
  if (const auto tree = expression::parse(options.by); !tree.ok()) return tree.error().at(Field{"by"});
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<SortedOrder>(options, std::move(context));
                  },
                  .grain = Grain::files_to_records,
                  .random_access = true,
                  .attributes = {{.expression = options.by, .kind = AttributeKind::integer, .option = {"by"}}}};
}

}  // namespace

OrderType sorted() {
  return describe<OrderType, Sorted>(
             "sorted",
             "Puts all records of all files in the order of an integer, by their indexes; instead of `interleave`.",
             bind)
      .required("by", &Sorted::by, "The integer, for example `length(tokens)`; docs/expressions.md has the grammar.")
      .field("descending", &Sorted::descending,
             "The largest numbers come first. Equal ones stay in the order of the files.")
      .example({.options = R"({"by": "-n"})", .in = R"([1, 3, 2])", .out = R"([3, 2, 1])"});
}

}  // namespace forebay::orders
