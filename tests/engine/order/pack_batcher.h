// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/plugin.h>

/// A batcher that packs, for tests of rows that are made of spans.
namespace forebay::testing {

/// Options of the batcher. `generated`: names of the columns of Batching::generated, by kind.
struct Pack {
  TensorName key;
  std::vector<TensorName> with;  ///< Tensors that have the spans of `key`, too.
  std::int64_t frames = 1;
  std::int64_t rows = 1;
  std::optional<NewTensorName> segment_ids, positions, cu_seqlens;
};

/// Fills rows of `frames` frames with one element after the other; an element goes on in the next row, and the next
/// batch.
class PackBatcher final : public Batcher {
 public:
  PackBatcher(const Pack& options, BatcherContext context) : options_{options}, context_{context} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      if (left_ == 0) {
        FOREBAY_TRY(const bool more, next(in, out));
        if (!more) return end(out);
      }
      if (rows_ == 0 || at_ == options_.frames) {
        if (rows_ == options_.rows) return rows_ = 0, Cut::batch;
        out.begin_row();
        ++rows_;
        at_ = 0;
      }
      place(out);
    }
  }
  [[nodiscard]] std::vector<std::int64_t> carried() const override { return {rows_, at_}; }
  Result<void> resume(std::span<const std::int64_t> carried) override {
    rows_ = carried[0];
    at_ = carried[1];
    return {};
  }

 private:
  Result<bool> next(Handles& in, const BatchRows& out) {
    FOREBAY_TRY(const std::size_t count, in.pull({&element_, 1}));
    if (count == 0) return false;
    pass_ = out.pass();
    start_ = 0;
    FOREBAY_DO(context_.reader.attributes(context_.first_attribute, {&element_, 1}, {&left_, 1}));
    if (left_ == 0) context_.reader.drop({&element_, 1});
    return left_ > 0 ? true : next(in, out);
  }
  void place(BatchRows& out) {
    if (!out.epoch()) out.set_epoch(pass_);
    const std::int64_t length = std::min(left_, options_.frames - at_);
    if (out.rows() > 0) {
      out.span(element_, start_, length, at_);
    } else {  // the row began before the restart
      context_.reader.drop({&element_, 1});
    }
    start_ += length;
    left_ -= length;
    at_ += length;
    if (left_ > 0) context_.reader.hold({&element_, 1});
  }
  Result<Cut> end(BatchRows& out) {
    if (rows_ == 0) return Cut::end_of_pass;
    if (empty_row_) out.begin_row();
    return rows_ = 0, Cut::batch;
  }

  const Pack options_;
  const BatcherContext context_;
  Handle element_;
  std::int64_t left_ = 0, start_ = 0, pass_ = 0;
  std::int64_t rows_ = 0, at_ = 0;  // of the open batch, and of its last row
  const bool empty_row_ = true;     // the last batch of a pass ends with one
};

inline Result<Batching> bind_pack(const Pack& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId column, in.find(options.key));
  Batching out;
  out.make = [options](BatcherContext context) { return std::make_unique<PackBatcher>(options, context); };
  out.attributes = {{.expression = Expression{"length(" + options.key + ")"}, .kind = AttributeKind::integer}};
  out.packs = {column};
  for (const TensorName& name : options.with) {
    FOREBAY_TRY(const ColumnId other, in.find(name));
    out.packs.push_back(other);
  }
  if (options.segment_ids) out.generated.emplace_back(Generated::segment_ids, *options.segment_ids);
  if (options.positions) out.generated.emplace_back(Generated::positions, *options.positions);
  if (options.cu_seqlens) out.generated.emplace_back(Generated::cu_seqlens, *options.cu_seqlens);
  out.delivery = Delivery::padded;
  out.carries = true;
  return out;
}

/// Registers the batcher `test_pack`, once for the program.
inline void register_pack() {
  static const bool registered = [] {
    Registry::global().add(
        describe<BatcherType, Pack>("test_pack", "Fills rows with one element after the other.", bind_pack)
            .required("key", &Pack::key, "Tensor to pack.")
            .field("with", &Pack::with, "Tensors to pack in the same way.")
            .required("frames", &Pack::frames, "Frames of a row.", {.min = 1})
            .required("rows", &Pack::rows, "Rows of a batch.", {.min = 1})
            .field("segment_ids", &Pack::segment_ids, "Name of a tensor: the number of the span, by frame.")
            .field("positions", &Pack::positions, "Name of a tensor: the place in the span, by frame.")
            .field("cu_seqlens", &Pack::cu_seqlens, "Name of a tensor: where the spans begin.")
            .example({.options = R"({"key": "x", "frames": 2, "rows": 1})",
                      .in = R"({"x": [[1, 2], [3]]})",
                      .out = R"([{"x": [[1, 2]]}, {"x": [[3], [0]]}])"}));
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace forebay::testing
