// SPDX-License-Identifier: Apache-2.0
// The functions of OrderPlane about the batcher and the rows that it has placed.
#include <algorithm>
#include <utility>

#include "engine/order/order_plane.h"
#include "engine/order/placed_rows.h"

namespace forebay::engine {

namespace {

/// Removes all items but `from` … `to` - 1, if there are any.
template <class Item>
void keep_range(std::vector<Item>& items, std::size_t from, std::size_t to) {
  if (items.empty()) return;
  const auto begin = items.begin();
  items.erase(begin + static_cast<std::ptrdiff_t>(to), items.end());
  items.erase(begin, begin + static_cast<std::ptrdiff_t>(from));
}

}  // namespace

BatcherContext OrderPlane::batcher_context() {
  BatcherContext out{.reader = reader(),
                     .first_attribute = program_.batcher_attribute,
                     .endless = !program_.epochs,
                     .first = start_.batch,
                     .ask = ask_of(open_files_, program_.batching.asks),
                     .seed = program_.seed,
                     .windows = windows_ && program_.windows->windowing.grain == WindowGrain::sequences};
  out.gauge = &batcher_gauge_;
  if (!program_.branches.empty()) return out;
  if (windows_) {
    out.identity = [this](const Handle& window) { return windows_->identity(window); };
    out.at = [this](const Handle& window, const Error& error) { return windows_->at(window, error); };
    return out;
  }
  OpenFiles& files = open_files_.branch(0);
  out.identity = [&files](const Handle& record) { return files.identity(record); };
  out.at = [this, &files](const Handle& record, const Error& error) {
    return place_of_element(program_, files.table()[record.block].file,
                            error.at(Place{.record = files.record_of(record)}));
  };
  return out;
}

/// Makes the batch that the batcher has placed the rows of `layout`.
Result<void> OrderPlane::take_rows(BatchLayout& layout) {
  layout.rows = rows_.rows();
  layout.epoch = rows_.epoch().value_or(passes_->batch_epoch());
  layout.longest.assign(rows_.longest().begin(), rows_.longest().end());
  layout.numbers.assign(rows_.numbers().begin(), rows_.numbers().end());
  if (!rows_.placed()) return {};
  if (program_.batching.packs.empty())
    return Error{Code::internal, "the batcher places spans of elements, and lists no columns in Batching::packs"};
  if (windows_) FOREBAY_DO(windows_->check_parts(rows_.parts()));
  reader().drop(place_rows(rows_, layout));
  return {};
}

/// The pass has no more batches. A pass that had none gets one without rows, for Batching::epoch_end.
bool OrderPlane::end_of_pass(BatchLayout& layout) {
  if (!program_.batching.epoch_end || passes_->over()) return false;
  sequences_[passes_->epoch()] = rows_.sequences();
  if (std::exchange(cut_in_pass_, 0) > 0) {
    ended_pass_ = passes_->epoch();
    return false;
  }
  if (ended_pass_ == passes_->epoch()) return false;  // it was given
  ended_pass_ = passes_->epoch();
  layout.clear();
  layout.taken.spans.resize(std::max<std::size_t>(1, layout.taken.spans.size()));
  layout.epoch = passes_->epoch();
  return true;
}

/// Adds the empty row that ends an epoch to its last batch.
void OrderPlane::add_epoch_end(BatchLayout& layout) {
  if (!program_.batching.epoch_end || !layout.ends_epoch.value_or(false)) return;
  const auto found = sequences_.find(layout.epoch);
  layout.epoch_count = found == sequences_.end() ? 0 : found->second;
  sequences_.erase(sequences_.begin(), sequences_.upper_bound(layout.epoch));
  ++layout.rows;
  if (!program_.batching.packs.empty()) layout.taken.whole.push_back(RowSpans::no_element);
}

/// In sequences, when they are numbered; else as much as is known of the pass.
Fraction OrderPlane::done_of_epoch(const BatchLayout& layout) {
  if (!layout.numbers.empty()) {
    Fraction out = complete_frac(std::ranges::max(layout.numbers), passes_->sequences());
    out.exact = out.exact && !windows_;  // a record may have no window
    if (epoch_frac_.first == layout.epoch) out.value = std::max(out.value, epoch_frac_.second);
    epoch_frac_ = {layout.epoch, out.value};
    return out;
  }
  if (layout.epoch < pass_) return {.value = 1, .exact = true};
  return {.value = std::max(1e-10, static_cast<double>(done_) * 1e-6)};
}

/// Drops the rows of the other shards. Rows that the count does not divide are dealt as evenly as possible.
void OrderPlane::keep_shard(BatchLayout& layout) {
  const std::int64_t first = layout.rows * shard_.index / shard_.count;
  const std::int64_t end = layout.rows * (shard_.index + 1) / shard_.count;
  if (end < layout.rows) layout.epoch_count = -1;
  keep_range(layout.numbers, std::min<std::size_t>(layout.numbers.size(), static_cast<std::size_t>(first)),
             std::min<std::size_t>(layout.numbers.size(), static_cast<std::size_t>(end)));
  if (!program_.batching.packs.empty()) {
    const auto frames_of = [this](const Handle& window, std::size_t axis) {
      return windows_->table().frames(window, axis);
    };
    pad_as_whole_batch(program_, frames_of, layout);
    reader().drop(keep_rows(layout, first, end));
    return;
  }
  const auto records = static_cast<std::int64_t>(layout.handles.size());
  const std::span<const Handle> all{layout.handles};
  const auto from = static_cast<std::size_t>(std::min(first, records));
  const auto to = static_cast<std::size_t>(std::min(end, records));
  reader().drop(all.first(from));
  reader().drop(all.subspan(to));
  const std::size_t a_row = layout.identities.size() / std::max<std::size_t>(1, all.size());  // several side by side
  keep_range(layout.handles, from, to);
  keep_range(layout.occurrences, from, to);
  keep_range(layout.identities, from * a_row, to * a_row);
  layout.rows = end - first;
}

}  // namespace forebay::engine
