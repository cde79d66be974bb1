// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/ngrams.h>

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "steps/output.h"
#include "steps/rules.h"
#include "steps/text/strings.h"
#include "steps/text/text_hash.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t max_ngram = 1024;  // of an n-gram
constexpr std::int64_t max_buckets = std::int64_t{1} << 62;
constexpr std::int64_t ngrams_a_look = 1 << 14;

/// Makes the n-grams of the rows of a column. The plan owns the step. It is immutable: any number of workers call it at
/// once.
class NgramMaking final : public Step {
 public:
  NgramMaking(Ngrams options, TextColumns columns, bool of_bytes)
      : options_{std::move(options)}, columns_{columns}, of_bytes_{of_bytes} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[columns_.from];
    Column& out = block[columns_.to];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const auto made = make_row(in, row, context, out);
      std::int64_t count = 0;
      if (made.ok()) {
        count = *made;
      } else {
        const Error fault = made.error().at(Place{.feature = options_.tensor, .row = row});
        if (context.faults == nullptr || fault.detail() == Detail::resource_exhausted) return fault;
        context.faults->add(row, fault);
      }
      out.end_row({&count, 1});
    }
    return {};
  }

 private:
  /// The items of a row and the bytes of its text.
  struct Row {
    const Column& in;
    ElementRange tokens;
    std::int64_t items = 0;
    std::int64_t bytes = 0;
  };

  Result<std::int64_t> make_row(const Column& in, std::int64_t row, const StepContext& context, Column& out) const {
    Row items{.in = in, .tokens = elements_of(in, row)};
    const auto* const splits = in.byte_splits.as<std::int64_t>();
    items.bytes = splits[items.tokens.end] - splits[items.tokens.begin];
    items.items = of_bytes_ ? items.bytes : items.tokens.end - items.tokens.begin;
    std::int64_t count = 0;
    std::int64_t needed = 0;  // bytes of all n-grams: each byte and each separator lies in at most n of them
    for (std::int64_t n = options_.min; n <= std::min(options_.max, items.items); ++n) {
      count += items.items - n + 1;
      needed += n * (items.bytes + items.items * std::ssize(options_.separator));
      if (count <= max_elements && (options_.buckets || needed <= max_bytes)) continue;
      return Error{Code::data, Detail::invalid_argument,
                   fmt::format("the {} items of the row make too many n-grams; choose a smaller `max`, split the "
                               "text, or set `buckets`",
                               items.items)};
    }
    std::shared_ptr<void> charge;
    if (context.budget != nullptr) {
      const std::int64_t size = count * static_cast<std::int64_t>(sizeof(std::int64_t));
      FOREBAY_TRY(charge, context.budget->charge(size + (options_.buckets ? 0 : needed)));
    }
    std::int64_t made = 0;
    for (std::int64_t n = options_.min; n <= std::min(options_.max, items.items); ++n) {
      for (std::int64_t first = 0; first + n <= items.items; ++first) {
        if (++made % ngrams_a_look == 0) StopCheck::look(context.stop);
        add_ngram(items, first, n, out);
      }
    }
    return count;
  }

  void add_ngram(const Row& row, std::int64_t first, std::int64_t n, Column& out) const {
    if (options_.buckets) {
      TextHash hash;
      visit(row, first, n, [&](std::string_view part) { hash.add(part); });
      return out.values.push(hash.bucket(*options_.buckets));
    }
    visit(row, first, n, [&](std::string_view part) {
      if (!part.empty()) std::memcpy(out.bytes.extend(part.size()), part.data(), part.size());
    });
    out.byte_splits.push(static_cast<std::int64_t>(out.bytes.size()));
  }

  /// Gives the parts of the n-gram's text, one after the other.
  template <class Take>
  void visit(const Row& row, std::int64_t first, std::int64_t n, const Take& take) const {
    if (of_bytes_) {
      return take(
          text_at(row.in, row.tokens.begin).substr(static_cast<std::size_t>(first), static_cast<std::size_t>(n)));
    }
    for (std::int64_t i = first; i < first + n; ++i) {
      if (i > first) take(options_.separator);
      take(text_at(row.in, row.tokens.begin + i));
    }
  }

  static constexpr std::int64_t max_bytes = std::int64_t{1} << 33;

  const Ngrams options_;
  const TextColumns columns_;
  const bool of_bytes_;
};

Result<void> check_sizes_of(const Ngrams& options) {
  if (options.min <= options.max) return {};
  return refusal(fmt::format("must be at least `min`, {}; found {}", options.min, options.max)).at(Field{"max"});
}

Result<Bound<Step>> bind_ngrams(const Ngrams& options, const Schema& in) {
  FOREBAY_DO(check_sizes_of(options));
  FOREBAY_TRY(const ColumnId id, find_dense(in, options.tensor).at(Field{"tensor"}));
  if (in[id].shape.rank() > 1) {
    return refusal(fmt::format("'{}' has shape {}; n-grams are made of one string, or of the tokens of one axis",
                               options.tensor, in[id].shape.text()))
        .at(Field{"tensor"});
  }
  const bool of_bytes = in[id].shape.rank() == 0;
  Schema out = in;
  ColumnSpec made{.name = {},
                  .dtype = options.buckets ? DType::int64 : DType::string,
                  .shape = {unknown_dim},
                  .delivery = Delivery::ragged};
  FOREBAY_TRY(const TextColumns columns,
              bind_text(options.tensor, options.out, in[id].shape.rank(), std::move(made), out));
  return Bound<Step>{
      .op = std::make_unique<NgramMaking>(options, columns, of_bytes), .out = std::move(out), .reads = {columns.from}};
}

Result<void> check_ngrams(const Json& options) {
  std::vector<Error> none;  // faults of the types are already reported
  Ngrams read;
  for (const auto& [name, member] : {std::pair{"min", &Ngrams::min}, std::pair{"max", &Ngrams::max}}) {
    const Json* const value = options.find(name);
    if (value == nullptr) continue;
    if (const auto number = JsonCodec<std::int64_t>::read(*value, none)) read.*member = *number;
  }
  return check_sizes_of(read);
}

}  // namespace

StepType ngrams() {
  StepType type =
      describe<StepType, Ngrams>("ngrams", "Makes the n-grams of the bytes of a string, or of the tokens of a row.",
                                 bind_ngrams)
          .required("tensor", &Ngrams::tensor, "One string for each row: its bytes; or strings of one axis: tokens.")
          .field("out", &Ngrams::out, "Name of the n-grams; null: they replace the tensor.")
          .field("min", &Ngrams::min, "Items of the shortest n-grams.", {.min = 1, .max = max_ngram})
          .field("max", &Ngrams::max, "Items of the longest n-grams.", {.min = 1, .max = max_ngram})
          .field("separator", &Ngrams::separator, "Stands between the tokens of an n-gram.")
          .field("buckets", &Ngrams::buckets, "Numbers from 0 to buckets - 1, by hash; null: the n-grams as strings.",
                 {.min = 1, .max = max_buckets})
          .example({.options = R"({"tensor": "t"})",
                    .in = R"({"t": [["a", "b", "c"], ["d"]]})",
                    .out = R"({"t": [["a", "b", "c", "a b", "b c"], ["d"]]})"})
          .example({.options = R"({"tensor": "t", "min": 3, "max": 3})",
                    .in = R"({"t": ["abcd", "xyz"]})",
                    .out = R"({"t": [["abc", "bcd"], ["xyz"]]})"});
  return with_rules(std::move(type), check_ngrams);
}

}  // namespace forebay::steps
