// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a batcher.
#include <forebay/batchers/batch.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "batchers/padding.h"
#include "batchers/sequence_counter.h"

namespace forebay {

template <>
struct EnumNames<Remainder> {
  static constexpr std::array<std::string_view, 4> names{"keep", "drop", "pad", "repeat"};
};

template <>
struct FieldsOf<PadTensor> {
  static const Fields<PadTensor>& get() {
    static const Fields<PadTensor> fields =
        Fields<PadTensor>{}
            .required("tensor", &PadTensor::tensor, "Tensor to pad.")
            .field("shape", &PadTensor::shape,
                   "Sizes to pad to, without the batch axis; -1 or null: the batch's maximum.")
            .field("value", &PadTensor::value, "What to pad with; null: 0, false or \"\".");
    return fields;
  }
};

using PadList = JsonCodec<std::vector<PadTensor>>;

/// Stores the faults of an entry in the entry; `bind` reports them in the order of the entries. Only a value that is
/// neither a boolean nor a list is a fault here.
std::optional<Pad> JsonCodec<Pad>::read(const Json& json, std::vector<Error>& faults) {
  if (json.is(Json::Kind::boolean)) return json.boolean();
  if (!json.is(Json::Kind::array)) return fault_type(json, "a list", faults), std::nullopt;
  std::vector<PadTensor> out;
  std::size_t found = 0;
  for (const Json& item : json.items()) {
    std::vector<Error> wrong;
    auto entry = JsonCodec<PadTensor>::read(item, wrong);
    if (!entry) entry = PadTensor{.tensor = "", .faults = std::move(wrong)};
    found += entry->faults.size();
    out.push_back(*std::move(entry));
    if (found >= max_item_faults) break;
  }
  return out;
}

Json JsonCodec<Pad>::write(const Pad& value) {
  if (const bool* all = std::get_if<bool>(&value)) return *all;
  return PadList::write(std::get<std::vector<PadTensor>>(value));
}

Json JsonCodec<Pad>::schema() {
  Json out = Json::object();
  out.set("anyOf", Json::array({JsonCodec<bool>::schema(), PadList::schema()}));
  return out;
}

std::string JsonCodec<Pad>::python_type() { return "bool | " + PadList::python_type(); }

void JsonCodec<Pad>::add_tensors(const Json& json, std::vector<std::string>& names) {
  PadList::add_tensors(json, names);
}

namespace batchers {
namespace {

/// Cuts batches of `size` rows; `remainder` decides about a last one that is shorter. The engine owns the batcher and
/// calls it on one thread at a time. `cut` fails when the stream does, or when the rows exceed the budget.
class FixedBatcher final : public Batcher {
 public:
  FixedBatcher(const FixedBatch& options, const BatcherContext& context)
      : size_{static_cast<std::size_t>(options.size)}, remainder_{options.remainder}, reader_{context.reader} {
    if (options.seq_idx || options.epoch_end) counter_.emplace(context);
  }

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    std::shared_ptr<void> charge;  // of the new room; the engine counts it when this call returns
    while (out.elements().size() < size_) {
      if (out.room().empty()) FOREBAY_DO(make_room(out, charge));
      FOREBAY_TRY(const std::size_t count, in.pull(out.room()));
      if (count == 0) break;
      if (counter_) number(out.room().first(count), out);
      out.add(count);
    }
    const std::size_t count = out.elements().size();
    ended_ = count < size_;
    if (counter_ && count < size_) out.end_pass(counter_->sequences(out.pass()));
    if (count == 0) return Cut::end_of_pass;
    if (count == size_ || remainder_ == Remainder::keep) return Cut::batch;
    if (remainder_ == Remainder::pad) return out.pad_to(static_cast<std::int64_t>(size_)), Cut::batch;
    if (remainder_ == Remainder::repeat) return repeat(out, charge);
    reader_.drop(out.elements());
    out.clear();
    return Cut::end_of_pass;
  }

  /// Whether the last batch was the end of its pass, because the pass had too few rows for it.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Before the first `cut` of a batch.
  void set_size(std::int64_t size) { size_ = static_cast<std::size_t>(size); }

 private:
  void number(std::span<const Handle> elements, BatchRows& out) {
    for (const Handle& element : elements) out.number(counter_->next(element, out.pass()));
  }

  /// Grows the room to that of an earlier batch, else doubles it: the stream may have much fewer rows than `size`.
  Result<void> make_room(BatchRows& out, std::shared_ptr<void>& charge) {
    const std::size_t room = std::min(size_, std::max({min_room, out.capacity(), 2 * out.elements().size()}));
    FOREBAY_DO(charge_room(room, out, charge));
    out.make_room(room);
    return {};
  }

  /// Charges `room` rows to the budget, unless `out` has that room. Fails when they exceed the budget.
  Result<void> charge_room(std::size_t room, const BatchRows& out, std::shared_ptr<void>& charge) {
    if (room <= std::max(min_room, out.capacity())) return {};
    FOREBAY_TRY(charge, reader_.charge(static_cast<std::int64_t>(room) * bytes_a_row)
                            .at("a batch with room for " + std::to_string(room) + " rows"));
    return {};
  }

  /// Fills the batch with its own records, from the first one on.
  Result<Cut> repeat(BatchRows& out, std::shared_ptr<void>& charge) {
    FOREBAY_DO(charge_room(size_, out, charge));
    const std::size_t count = out.elements().size();
    out.make_room(size_);
    for (std::size_t i = 0; i < size_ - count; ++i) out.room()[i] = out.elements()[i % count];
    reader_.hold(out.room());
    for (std::size_t i = 0; counter_ && i < size_ - count; ++i) out.number(out.numbers()[i % count]);
    out.add(size_ - count);
    return Cut::batch;
  }

  static constexpr std::size_t min_room = 4096;
  std::size_t size_;
  bool ended_ = false;
  const Remainder remainder_;
  Reader& reader_;
  std::optional<SequenceCounter> counter_;  // set: sequences are numbered
};

/// Cuts batches whose rows a function of the program says, by the number of the batch. The engine owns the batcher and
/// calls it on one thread at a time. `cut` fails as that of FixedBatcher does, and for an answer that is no size.
class AskedBatcher final : public Batcher {
 public:
  AskedBatcher(FixedBatch options, const BatcherContext& context)
      : options_{std::move(options)},
        ask_{context.ask},
        reader_{context.reader},
        number_{context.first},
        batcher_{options_, context} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override {
    if (!size_) {
      auto size = ask();
      if (!size.ok()) return size.error().code() == Code::cancelled ? size.error() : refuse(in, size.error());
      size_ = *size;
    }
    if (*size_ == 0 && ended_) {  // the batch without rows is one of the next pass, if there is one
      ended_ = false;
      return Cut::end_of_pass;
    }
    if (*size_ == 0) return next(), Cut::batch;
    batcher_.set_size(*size_);
    FOREBAY_TRY(const Cut got, batcher_.cut(in, out));
    ended_ = got == Cut::batch && batcher_.ended();
    if (got == Cut::batch) next();
    return got;
  }

 private:
  static constexpr int max_empty = 1000;

  /// The rows of the present batch.
  Result<std::int64_t> ask() {
    FOREBAY_TRY(const Function::Integers answer, ask_(std::array{number_}));
    const std::string told =
        "the size of batch " + std::to_string(number_) + " that function '" + *options_.size_function + "' gives: ";
    if (answer.size() != 1) {
      return Error{Code::data, Detail::invalid_argument,
                   told + "must be one integer, found " + std::to_string(answer.size())};
    }
    if (answer.front() < 0 || answer.front() > options_.size) {
      return Error{Code::data, Detail::invalid_argument,
                   told + "must be from 0 to `size`, " + std::to_string(options_.size) + ", found " +
                       std::to_string(answer.front())};
    }
    empty_ = answer.front() == 0 ? empty_ + 1 : 0;
    if (empty_ == max_empty) {
      return Error{Code::data, Detail::failed_precondition,
                   told + "is 0, and so are those of the " + std::to_string(max_empty - 1) +
                       " batches before it: this run would never end"};
    }
    return answer.front();
  }

  /// Where the stream has ended there is no such batch, so it does not matter what the function says about it.
  Result<Cut> refuse(Handles& in, const Error& error) {
    Handle row;
    FOREBAY_TRY(const std::size_t count, in.pull({&row, 1}));
    if (count == 0) return Cut::end_of_pass;
    reader_.drop({&row, 1});
    return error;
  }

  void next() {
    ++number_;
    size_.reset();
  }

  const FixedBatch options_;
  const Ask ask_;
  Reader& reader_;
  std::int64_t number_;               // of the present batch
  std::optional<std::int64_t> size_;  // of that batch; empty: not asked yet
  bool ended_ = false;                // the batch before was the last one of its pass
  int empty_ = 0;                     // consecutive batches of 0 rows
  FixedBatcher batcher_;
};

/// Batches whose rows a function says have no fixed number of rows.
void ask_for_sizes(const FixedBatch& options, Batching& batching) {
  batching.asks = AskedFunction{.name = *options.size_function, .option = {"size_function"}};
  batching.make = [options](const BatcherContext& context) { return std::make_unique<AskedBatcher>(options, context); };
  batching.make_sized = {};
  batching.fixed = false;
  batching.max_rows.reset();
  batching.batches = [](std::int64_t) { return std::optional<std::int64_t>{}; };
}

Result<Batching> bind(const FixedBatch& options, const Schema& in) {
  Batching batching;
  FOREBAY_DO(read_delivery(options.pad, options.require_equal, in, batching));
  batching.make = [options](const BatcherContext& context) { return std::make_unique<FixedBatcher>(options, context); };
  batching.make_sized = [options](const BatcherContext& context, std::int64_t rows) {
    FixedBatch sized = options;
    sized.size = rows;
    return std::make_unique<FixedBatcher>(sized, context);
  };
  batching.fixed = true;
  set_numbers(options, batching);
  batching.remainder = options.remainder;
  batching.max_rows = options.size;
  batching.batches = [options](std::int64_t rows) -> std::optional<std::int64_t> {
    const auto out = rows / options.size + (options.remainder != Remainder::drop && rows % options.size != 0 ? 1 : 0);
    return options.epoch_end ? std::max<std::int64_t>(out, 1) : out;  // an epoch without a batch gets one that ends it
  };
  if (options.size_function) ask_for_sizes(options, batching);
  return batching;
}

}  // namespace

BatcherType batch() {
  return describe<BatcherType, FixedBatch>("batch", "Cuts the stream into batches of one size.", bind)
      .required("size", &FixedBatch::size, "Rows of a batch.", {.min = 1, .max = 100'000'000})
      .field("size_function", &FixedBatch::size_function,
             "Name of a function that the program binds. It is asked with the number of each batch, from 0 on, and "
             "answers with its rows, from 0 to `size`.")
      .field("remainder", &FixedBatch::remainder,
             "What becomes of a last batch that is not full: keep it short, drop it, pad it with empty rows, or repeat "
             "its own records, from its first one on.")
      .field("pad", &FixedBatch::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .field("seq_idx", &FixedBatch::seq_idx, seq_idx_doc)
      .field("epoch_end", &FixedBatch::epoch_end, epoch_end_doc)
      .field("require_equal", &FixedBatch::require_equal,
             "Refuse rows of unequal shape instead of delivering them ragged.")
      .example({.options = R"({"size": 2})", .in = R"([1, 2, 3, 4, 5])", .out = R"([[1, 2], [3, 4], [5]])"})
      .example({.options = R"({"size": 2, "remainder": "drop"})", .in = R"([1, 2, 3])", .out = R"([[1, 2]])"})
      .example({.options = R"({"size": 3, "remainder": "repeat"})",
                .in = R"([1, 2, 3, 4])",
                .out = R"([[1, 2, 3], [4, 4, 4]])"});
}

}  // namespace batchers
}  // namespace forebay
