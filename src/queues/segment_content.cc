// SPDX-License-Identifier: Apache-2.0
#include "queues/segment_content.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

namespace forebay::queues {

namespace {

using Rows = std::vector<std::unique_ptr<LiveExample>>;

/// The strings of a batch, row after row.
class TextRows {
 public:
  void add(const Tensor& from, std::int64_t first, std::int64_t count) {
    const std::int64_t* const splits = from.byte_splits + first;
    const auto old = static_cast<std::int64_t>(texts_->bytes.size());
    texts_->bytes.insert(texts_->bytes.end(), from.bytes + splits[0], from.bytes + splits[count]);
    for (std::int64_t i = 1; i <= count; ++i) texts_->splits.push_back(old + splits[i] - splits[0]);
  }
  void add_empty(std::int64_t count) {
    texts_->splits.insert(texts_->splits.end(), static_cast<std::size_t>(count), texts_->splits.back());
  }
  void give_to(Tensor& tensor) {
    tensor.byte_splits = texts_->splits.data();
    tensor.bytes = texts_->bytes.data();
    tensor.owner = texts_;
  }

 private:
  struct Texts {
    std::vector<std::int64_t> splits{0};
    std::vector<std::byte> bytes;
  };
  const std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
};

/// The frames of the segment that an example has next: the first one, and how many are no padding.
std::pair<std::int64_t, std::int64_t> span_of(const LiveExample& example, const SaverPlan& plan) {
  const std::int64_t first = example.next * plan.num_unroll;
  return {first, std::clamp<std::int64_t>(example.frames - first, 0, plan.num_unroll)};
}

void fill_sequence(Tensor& to, const SaverPlan& plan, std::size_t number, const Rows& rows) {
  const SaverColumn& column = plan.sequences[number];
  if (column.text()) {
    TextRows texts;
    for (const auto& row : rows) {
      const auto [first, frames] = row ? span_of(*row, plan) : std::pair<std::int64_t, std::int64_t>{};
      if (row) texts.add(row->sequences[number], first * column.elements, frames * column.elements);
      texts.add_empty((plan.num_unroll - frames) * column.elements);
    }
    texts.give_to(to);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(plan.num_unroll) * column.bytes;
  std::byte* out = to.data;
  for (const auto& row : rows) {
    const auto [first, frames] = row ? span_of(*row, plan) : std::pair<std::int64_t, std::int64_t>{};
    const std::size_t found = static_cast<std::size_t>(frames) * column.bytes;
    if (row) std::memcpy(out, row->sequences[number].data + static_cast<std::size_t>(first) * column.bytes, found);
    std::memset(out + found, 0, bytes - found);
    out += bytes;
  }
}

/// Fills a tensor with one value of each row; `value` gives the whole tensor of an example.
template <class Value, class Bytes>
void fill_whole(Tensor& to, const SaverColumn& column, const Rows& rows, const Value& text, const Bytes& bytes) {
  if (column.text()) {
    TextRows texts;
    for (const auto& row : rows) row ? texts.add(text(*row), 0, column.elements) : texts.add_empty(column.elements);
    texts.give_to(to);
    return;
  }
  std::byte* out = to.data;
  for (const auto& row : rows) {
    if (row) {
      std::memcpy(out, bytes(*row), column.bytes);
    } else {
      std::memset(out, 0, column.bytes);
    }
    out += column.bytes;
  }
}

void fill_numbers(SegmentBatch::Content& to, const SaverPlan& plan, const Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LiveExample* const row = rows[i].get();
    const std::int64_t first = row == nullptr ? 0 : row->next * plan.num_unroll;
    const auto put = [i](Tensor& tensor, auto value) { reinterpret_cast<decltype(value)*>(tensor.data)[i] = value; };
    put(to.sequence, row == nullptr ? std::int32_t{-1} : row->next);
    put(to.sequence_count, row == nullptr ? std::int32_t{0} : row->count);
    put(to.total_length, row == nullptr ? std::int32_t{0} : row->length);
    const std::int64_t length = row == nullptr ? 0 : std::clamp<std::int64_t>(row->length - first, 0, plan.num_unroll);
    put(to.length, static_cast<std::int32_t>(length));
    put(to.insertion_index, row == nullptr ? std::int64_t{0} : row->index);
    put(to.epoch, row == nullptr ? std::int64_t{0} : row->epoch);
    put(to.reset, static_cast<std::uint8_t>(row == nullptr || row->next == 0));
    to.keys.push_back(row == nullptr ? nullptr : row->key);
  }
}

/// Sets type and shape of every tensor of a batch, and returns them.
std::vector<Tensor*> shape_tensors(SegmentBatch::Content& to, const SaverPlan& plan, std::int64_t rows) {
  std::vector<Tensor*> out;
  const auto add = [&](Tensor& tensor, DType dtype, const Shape& shape) {
    tensor.dtype = dtype;
    tensor.shape.assign(rows, shape);
    out.push_back(&tensor);
  };
  to.sequences.resize(plan.sequences.size());
  to.context.resize(plan.context.size());
  to.states.resize(plan.states.size());
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    Shape segment;
    segment.assign(plan.num_unroll, plan.sequences[i].shape);
    add(to.sequences[i], plan.sequences[i].dtype, segment);
  }
  for (std::size_t i = 0; i < plan.context.size(); ++i)
    add(to.context[i], plan.context[i].dtype, plan.context[i].shape);
  for (std::size_t i = 0; i < plan.states.size(); ++i) add(to.states[i], plan.states[i].dtype, plan.states[i].shape);
  for (Tensor* tensor : {&to.sequence, &to.sequence_count, &to.length, &to.total_length})
    add(*tensor, DType::int32, {});
  add(to.insertion_index, DType::int64, {});
  add(to.epoch, DType::int64, {});
  add(to.reset, DType::boolean, {});
  return out;
}

}  // namespace

void fill(SegmentBatch::Content& to, const SaverPlan& plan, const Rows& rows, SaverMemory& memory) {
  memory.place(shape_tensors(to, plan, std::ssize(rows)));
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) fill_sequence(to.sequences[i], plan, i, rows);
  for (std::size_t i = 0; i < plan.context.size(); ++i) {
    fill_whole(
        to.context[i], plan.context[i], rows, [i](const LiveExample& row) -> const Tensor& { return row.context[i]; },
        [i](const LiveExample& row) { return row.context[i].data; });
  }
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    const std::size_t offset = plan.states[i].offset;
    fill_whole(
        to.states[i], plan.states[i], rows, [i](const LiveExample& row) -> const Tensor& { return row.texts[i]; },
        [offset](const LiveExample& row) { return row.states.data() + offset; });
  }
  fill_numbers(to, plan, rows);
  to.saved.resize(plan.states.size());
}

Result<void> check_values(const SegmentBatch::Content& batch, const SaverPlan& plan, std::size_t state,
                          const Tensor& values) {
  const SaverColumn& column = plan.states[state];
  return check_tensor(values, column.dtype, batch.states[state].shape, fmt::format("state {}", quote(column.name)));
}

void copy_values(const SegmentBatch::Content& batch, const SaverPlan& plan, std::size_t state, const Tensor& values) {
  const SaverColumn& column = plan.states[state];
  const std::byte* from = values.data;
  for (std::size_t i = 0; i < batch.rows.size(); ++i, from += column.bytes) {
    LiveExample* const row = batch.rows[i].get();
    if (row == nullptr) continue;
    if (column.text()) {
      const std::int64_t first = static_cast<std::int64_t>(i) * column.elements;
      row->texts[state] = copy_texts(values, first, column.elements, column.shape);
    } else {
      std::memcpy(row->states.data() + column.offset, from, column.bytes);
    }
  }
}

}  // namespace forebay::queues
