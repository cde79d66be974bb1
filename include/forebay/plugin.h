// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <forebay/column.h>
#include <forebay/describe.h>
#include <forebay/format.h>
#include <forebay/order.h>
#include <forebay/record.h>

/// The contracts of the five kinds of plug-in; formats stand in format.h, orders and batchers in order.h. Every one is
/// single-threaded by contract; formats, decoders and steps are const while running, because any number of workers call
/// them at once.
namespace forebay {

/// What an operator's binding gives back: the operator, and the columns that there are after it.
template <class Operator>
struct Bound {
  std::unique_ptr<Operator> op;
  Schema out;
};

// ---------------------------------------------------------------- decoders: records → columns

/// What a decoder remembers between calls of one worker (layouts it saw, scratch); never affects results.
class DecoderMemory {
 public:
  virtual ~DecoderMemory() = default;
  /// Bytes of what grows with the records, for the budget.
  [[nodiscard]] virtual std::int64_t bytes() const { return 0; }
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual std::unique_ptr<DecoderMemory> memory() const = 0;
  /// Decodes `records` into rows first_row… of the columns that it was bound to make: fixed numeric ones already have
  /// their rows and are written in place; strings and variable columns are appended to. The others are not touched. An
  /// error's place has `row` (index in `records`) and `feature`; columns are then unspecified.
  [[nodiscard]] virtual Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                            DecoderMemory& memory) const = 0;
};

struct DecoderType {
  Description description;
  /// `wanted` are the names of the columns somebody uses (projection); empty means all.
  std::function<Result<Bound<Decoder>>(const Json& options, const std::vector<std::string>& wanted)> bind;
  template <class Options>
  using Bind = Result<Bound<Decoder>> (*)(const Options&, const std::vector<std::string>&);
};

// ---------------------------------------------------------------- steps: columns → columns

class Step {
 public:
  virtual ~Step() = default;
  /// Reads columns of the schema it was bound to and fills the ones it made. All have the block's number of rows; fixed
  /// numeric outputs already have their rows, variable and string outputs are empty. Sees whole columns.
  [[nodiscard]] virtual Result<void> apply(ColumnBlock& block) const = 0;
};

struct StepType {
  Description description;
  std::function<Result<Bound<Step>>(const Json& options, const Schema& in)> bind;
  template <class Options>
  using Bind = Result<Bound<Step>> (*)(const Options&, const Schema&);
};

// ---------------------------------------------------------------- registration

template <class Type, class Options>
[[nodiscard]] Describer<Type, Options> describe(std::string name, std::string doc,
                                                typename Type::template Bind<Options> bind) {
  return Describer<Type, Options>{std::move(name), std::move(doc), bind};
}

/// All plug-ins of a process: those of src/plugins.def and those a program adds before it plans.
class Registry {
 public:
  static Registry& global();
  void add(SourceType type);
  void add(DecoderType type);
  void add(StepType type);
  void add(OrderType type);
  void add(BatcherType type);

  [[nodiscard]] const std::vector<SourceType>& sources() const { return sources_; }
  [[nodiscard]] const std::vector<DecoderType>& decoders() const { return decoders_; }
  [[nodiscard]] const std::vector<StepType>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<OrderType>& orders() const { return orders_; }
  [[nodiscard]] const std::vector<BatcherType>& batchers() const { return batchers_; }

 private:
  Registry();
  std::vector<SourceType> sources_;
  std::vector<DecoderType> decoders_;
  std::vector<StepType> steps_;
  std::vector<OrderType> orders_;
  std::vector<BatcherType> batchers_;
};

}  // namespace forebay
