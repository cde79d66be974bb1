// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/decode.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "steps/output.h"

namespace forebay::steps {
namespace {

/// What one worker keeps: the decoder's memory, the list of records, and the decoder's columns, empty between calls.
struct RecordsMemory final : StepMemory {
  RecordsMemory(std::unique_ptr<DecoderMemory> decoder, std::size_t columns) : memory{std::move(decoder)} {
    block.columns.resize(columns);
  }
  std::int64_t bytes() const override {
    return memory->bytes() + static_cast<std::int64_t>(records.capacity() * sizeof(Record));
  }

  std::unique_ptr<DecoderMemory> memory;
  std::vector<Record> records;
  ColumnBlock block;
};

/// Gives the strings of a column to a decoder. The plan owns the step. It is immutable: any number of workers call it
/// at once. The decoder writes into the columns of the batch: they are moved to its block and back.
class DecodeStrings final : public Step {
 public:
  DecodeStrings(std::unique_ptr<Decoder> decoder, DecodeColumn options, std::vector<std::string> names, ColumnId from,
                std::vector<ColumnId> to)
      : decoder_{std::move(decoder)},
        options_{std::move(options)},
        names_{std::move(names)},
        from_{from},
        to_{std::move(to)} {}

  std::unique_ptr<StepMemory> memory() const override {
    return std::make_unique<RecordsMemory>(decoder_->memory(), to_.size());
  }

  Result<void> apply(ColumnBlock& rows, const StepContext& context, StepMemory* memory) const override {
    auto& own = static_cast<RecordsMemory&>(*memory);
    StopCheck::look(context.stop);
    const Column& in = rows[from_];
    own.records.clear();
    for (std::int64_t row = 0; row < in.rows; ++row) own.records.push_back(in.string(row));
    own.block.rows = in.rows;
    const Lent columns{rows, own.block, to_};
    const Result<void> done = decoder_->decode(own.records, 0, own.block, *own.memory);
    if (done.ok()) return {};
    return done.error().at(fmt::format("tensor {}", quote(options_.column)));
  }

  /// Binds the decoder again, as the planner does for the decoder of records. The ids of columns do not change.
  Result<std::unique_ptr<Step>> projected(const std::function<bool(ColumnId)>& used) const override {
    std::vector<std::string> wanted;
    for (std::size_t i = 0; i < to_.size(); ++i) {
      if (used(to_[i])) wanted.push_back(names_[i]);
    }
    if (wanted.size() == names_.size()) return nullptr;
    if (wanted.empty()) wanted.push_back(names_.back());  // a decoder must have at least one column
    FOREBAY_TRY(Bound<Decoder> decoder, bind_decoder(options_.as, wanted));
    return std::unique_ptr<Step>{std::make_unique<DecodeStrings>(std::move(decoder.op), options_, names_, from_, to_)};
  }

 private:
  /// Lends the columns of some rows to the decoder's block; they come back also when the decoder throws.
  class Lent {
   public:
    Lent(ColumnBlock& rows, ColumnBlock& own, const std::vector<ColumnId>& ids) : rows_{rows}, own_{own}, ids_{ids} {
      swap_columns();
    }
    ~Lent() { swap_columns(); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    void swap_columns() {
      for (std::size_t i = 0; i < ids_.size(); ++i) std::swap(rows_[ids_[i]], own_.columns[i]);
    }
    ColumnBlock& rows_;
    ColumnBlock& own_;
    const std::vector<ColumnId>& ids_;
  };

  const std::unique_ptr<Decoder> decoder_;
  const DecodeColumn options_;
  const std::vector<std::string> names_;  // of the decoder's columns
  const ColumnId from_;
  const std::vector<ColumnId> to_;  // by column of the decoder
};

Result<Bound<Step>> bind(const DecodeColumn& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, in.find(options.column).at(Field{"column"}));
  const ColumnSpec& strings = in[from];
  if (strings.dtype != DType::string || strings.shape.rank() != 0 || !strings.parts.empty()) {
    return refusal(fmt::format("must be one string a row; {} is {}{}", quote(options.column), to_string(strings.dtype),
                               strings.shape.text()))
        .at(Field{"column"});
  }
  FOREBAY_TRY(Bound<Decoder> decoder, bind_decoder(options.as));
  Schema out = in;
  if (!options.keep) out.hide(from);
  std::vector<ColumnId> to;
  std::vector<std::string> names;
  for (std::size_t id = 0; id < decoder.out.size(); ++id) {
    ColumnSpec spec = decoder.out[static_cast<ColumnId>(id)];
    if (const auto other = out.find(spec.name); other.ok()) {
      return refusal(fmt::format("the decoder makes {}, and there is a tensor of that name already; rename it, or give "
                                 "this one another name",
                                 quote(spec.name)))
          .at(Field{"as"});
    }
    names.push_back(spec.name);
    to.push_back(out.put(std::move(spec)));
  }
  return Bound<Step>{
      .op = std::make_unique<DecodeStrings>(std::move(decoder.op), options, std::move(names), from, std::move(to)),
      .out = std::move(out),
      .reads = {from}};
}

}  // namespace

StepType decode() {
  return describe<StepType, DecodeColumn>(
             "decode", "Decodes the strings of a column with a decoder; the decoder's tensors take their place.", bind)
      .required("column", &DecodeColumn::column, "The strings, one a row.")
      .required("as", &DecodeColumn::as, "The decoder and its options: {decoder: options}.")
      .field("keep", &DecodeColumn::keep, "Keep the strings beside the tensors.")
      .example({.options = R"({"column": "x", "as": {"record": {"name": "y"}}})",
                .in = R"({"x": ["ab", ""], "z": [1, 2]})",
                .out = R"({"z": [1, 2], "y": ["ab", ""]})"});
}

}  // namespace forebay::steps
