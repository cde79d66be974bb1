// SPDX-License-Identifier: Apache-2.0
#include <forebay/batchers/batch_ends.h>
#include <forebay/plugin.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "batchers/measured.h"
#include "batchers/padding.h"

namespace forebay {

namespace {

constexpr std::string_view frames_prefix = "frames in the batch of ";

}  // namespace

std::string frames_in_batch(std::string_view name) { return std::string{frames_prefix}.append(name); }
bool is_frames_in_batch(std::string_view name) { return name.starts_with(frames_prefix); }

namespace batchers {
namespace {

/// A column that is padded to what the rows say.
struct FramesKey {
  ColumnId column = 0;
  std::string told_by;
};

/// Cuts a batch after each row whose keys are not 0. The engine owns the batcher; one thread at a time calls it.
class EndsBatcher final : public Batcher {
 public:
  EndsBatcher(const std::vector<TensorName>& keys, std::vector<FramesKey> frames, BatcherContext context)
      : keys_{keys}, frames_{std::move(frames)}, stream_{std::move(context), keys_.size() + frames_.size(), false} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      FOREBAY_TRY(const bool more, stream_.ready(in, out));
      if (!more) {
        if (rows_ == 0) return stream_.end(out);
        rows_ = 0;
        return Cut::batch;
      }
      const bool ends = stream_.length(0) != 0;
      for (std::size_t key = 1; key < keys_.size(); ++key) {
        if ((stream_.length(key) != 0) != ends) return disagree(key, ends);
      }
      for (std::size_t i = 0; i < frames_.size() && rows_ == 0; ++i)
        out.pad_frames(frames_[i].column, stream_.length(keys_.size() + i));
      if (!out.epoch()) out.set_epoch(stream_.pass());
      out.of_pass(stream_.pass());
      out.row(stream_.take());
      rows_ = ends ? 0 : rows_ + 1;
      if (ends) return Cut::batch;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> carried() const override { return {rows_}; }

  Result<void> resume(std::span<const std::int64_t> carried) override {
    if (carried.size() != 1)
      return Error{Code::state, Detail::data_loss, "corrupt state: section 'batcher' does not fit batches with ends"};
    rows_ = carried.front();
    return {};
  }

 private:
  [[nodiscard]] Error disagree(std::size_t key, bool ends) const {
    return stream_.fault(
        Error{Code::data, Detail::failed_precondition,
              fmt::format("this row is {} last one of a batch by '{}', and it is {} by '{}'; batches that lie side by "
                          "side have equally many rows",
                          ends ? "the" : "not the", keys_.front(), ends ? "not" : "one", keys_[key])});
  }

  const std::vector<TensorName> keys_;
  const std::vector<FramesKey> frames_;
  Measured stream_;
  std::int64_t rows_ = 0;  // of the open batch
};

Result<std::vector<Attribute>> attributes_of(const BatchEnds& options, const Schema& in, Batching& batching) {
  std::vector<Attribute> out;
  for (std::size_t i = 0; i < options.keys.size(); ++i) {
    const Field field{"keys", std::to_string(i)};
    FOREBAY_TRY(const ColumnId id, in.find(options.keys[i]).at(field));
    const ColumnSpec& column = in[id];
    const bool fits = column.dtype == DType::boolean || is_integer(column.dtype);
    if (!fits || column.shape.rank() != 0) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("must be a boolean or an integer of shape [], found {} of shape {}",
                               to_string(column.dtype), column.shape.text())}
          .at(field);
    }
    batching.hides.push_back(id);
    out.push_back({.expression = Expression{quoted_name(options.keys[i])},
                   .kind = column.dtype == DType::boolean ? AttributeKind::condition : AttributeKind::integer,
                   .option = {"keys"}});
  }
  if (out.empty()) return Error{Code::config, Detail::invalid_argument, "must name a tensor"}.at(Field{"keys"});
  return out;
}

Result<Batching> bind(const BatchEnds& options, const Schema& in) {
  Batching batching;
  FOREBAY_TRY(const bool pads, read_delivery(options.pad, options.require_equal, in, batching));
  FOREBAY_TRY(batching.attributes, attributes_of(options, in, batching));
  std::vector<FramesKey> frames;
  for (const ColumnId id : in.visible()) {
    const auto told = in.find(frames_in_batch(in[id].name));
    if (!told.ok()) continue;
    batching.hides.push_back(*told);
    if (!pads) continue;
    frames.push_back({.column = id, .told_by = in[*told].name});
    batching.attributes.push_back({.expression = Expression{quoted_name(frames.back().told_by)},
                                   .kind = AttributeKind::integer,
                                   .option = {"keys"}});
  }
  batching.carries = 1;
  batching.marked = true;
  batching.make = [keys = options.keys, frames](BatcherContext context) {
    return std::make_unique<EndsBatcher>(keys, frames, std::move(context));
  };
  return batching;
}

}  // namespace

BatcherType batch_ends() {
  return describe<BatcherType, BatchEnds>("batch_ends", "Cuts batches where the rows say so.", bind)
      .required("keys", &BatchEnds::keys,
                "Tensors of shape [], boolean or integer: not 0 where a batch ends. Several must agree.")
      .field("require_equal", &BatchEnds::require_equal,
             "Rows of unequal shape are an error instead of being delivered ragged.")
      .field("pad", &BatchEnds::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .example({.options = R"({"keys": ["end"]})",
                .in = R"({"x": [1, 2, 3, 4, 5], "end": [0, 1, 1, 0, 0]})",
                .out = R"([{"x": [1, 2]}, {"x": [3]}, {"x": [4, 5]}])"});
}

}  // namespace batchers
}  // namespace forebay
