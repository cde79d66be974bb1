// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/batcher.h>
#include <forebay/column.h>
#include <forebay/combine.h>
#include <forebay/decoder_choice.h>
#include <forebay/describe.h>
#include <forebay/format.h>
#include <forebay/order.h>
#include <forebay/record.h>
#include <forebay/step.h>
#include <forebay/window.h>

/// The contracts of the kinds of plug-in: sources (format.h), decoders (here), steps (step.h), orders (order.h),
/// batchers (batcher.h), windows (window.h), combinations (combine.h). The planner calls `bind` once for a stage, on
/// one thread. Formats, decoders and steps are const while they run, because any number of workers call them at once.
/// Orders and batchers run on one thread at a time and keep state.
///
/// A fault that `bind` returns names the option that it is about, with `.at(Field{"slice"})`. The description turns
/// that into the option's place in the document.
namespace forebay {

/// A small file that an operator is made of, a vocabulary for example. The planner reads it, at most 64 MiB, and a
/// plan's hash knows its content.
struct SmallFile {
  DataFile path;
  std::vector<std::string> option;  ///< The option that names the file, for faults (Field).
  /// Called once, before the operator runs. Fails with Code::config; the error names `path`, that of the file.
  std::function<Result<void>(std::string_view content, const std::string& path)> read;
};

/// The result of binding a decoder or a step.
template <class Operator>
struct Bound {
  std::unique_ptr<Operator> op;
  Schema out;  ///< The columns after it.
  /// Columns of a step's input that it needs when it runs. The planner has a column decoded only when a stage reads it
  /// or it is delivered, so a column that is missing here may be empty when the step runs.
  std::vector<ColumnId> reads = {};
  bool draws = false;      ///< Of a step: it calls StepContext::draw.
  bool expensive = false;  ///< Of a step: a row takes a good part of a millisecond or more, so it is not worked twice.
  std::vector<SmallFile> files = {};  ///< Of a step: read right after it is bound.
};

// ---------------------------------------------------------------- decoders: records → columns

/// What a decoder keeps between the calls of one worker: layouts of messages, scratch memory. It never affects results.
class DecoderMemory {
 public:
  virtual ~DecoderMemory() = default;
  /// Bytes of the memory that grows with the records; the engine counts them in the budget.
  [[nodiscard]] virtual std::int64_t bytes() const { return 0; }
};

/// Turns records into columns. Immutable; any number of workers call it at once, each with its own DecoderMemory.
class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual std::unique_ptr<DecoderMemory> memory() const = 0;  ///< Makes the memory of one worker.
  /// Decodes `records` into the rows from `first_row` on of the wanted columns. Fixed numeric columns already have
  /// their rows and are written in place; strings and variable columns are appended to. Other columns are not touched.
  /// On failure the error's place has `row` (index in `records`) and `feature`, and the columns are unspecified.
  [[nodiscard]] virtual Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                            DecoderMemory& memory) const = 0;
  /// Whether `decode` does no more than read each byte once, straight into a row, and decides nothing by the bytes.
  /// The records of a format without checksums may then lie in a mapping, where another process changes them during
  /// the call (ADR 0060).
  [[nodiscard]] virtual bool copies_only() const { return false; }
};

struct DecoderType {
  Description description;
  /// `wanted` names the columns to decode; empty means all. `out` has the same columns and ids for any `wanted`.
  std::function<Result<Bound<Decoder>>(const Json& options, const std::vector<std::string>& wanted)> bind;
  template <class Options>
  using Bind = Result<Bound<Decoder>> (*)(const Options&, const std::vector<std::string>&);
};

/// Finds the decoder in Registry::global and binds it. Fails with Code::config and the places of all faults. A step may
/// call it.
[[nodiscard]] Result<Bound<Decoder>> bind_decoder(const DecoderChoice& decoder,
                                                  const std::vector<std::string>& wanted = {});

// ---------------------------------------------------------------- steps: columns → columns (step.h)

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

/// All plug-ins of a process: those of src/plugins.def, and those that a program adds before it plans. A type
/// replaces an earlier one of its kind with the same name. Not thread-safe while `add` is called.
class Registry {
 public:
  static Registry& global();
  void add(SourceType type);
  void add(DecoderType type);
  void add(StepType type);
  void add(OrderType type);
  void add(WindowType type);
  void add(BatcherType type);
  void add(CombineType type);

  [[nodiscard]] const std::vector<SourceType>& sources() const { return sources_; }
  [[nodiscard]] const std::vector<DecoderType>& decoders() const { return decoders_; }
  [[nodiscard]] const std::vector<StepType>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<OrderType>& orders() const { return orders_; }
  [[nodiscard]] const std::vector<WindowType>& windows() const { return windows_; }
  [[nodiscard]] const std::vector<BatcherType>& batchers() const { return batchers_; }
  [[nodiscard]] const std::vector<CombineType>& combinations() const { return combinations_; }

 private:
  Registry();
  std::vector<SourceType> sources_;
  std::vector<DecoderType> decoders_;
  std::vector<StepType> steps_;
  std::vector<OrderType> orders_;
  std::vector<WindowType> windows_;
  std::vector<BatcherType> batchers_;
  std::vector<CombineType> combinations_;
};

}  // namespace forebay
