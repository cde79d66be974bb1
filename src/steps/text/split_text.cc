// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/split_text.h>

#include <algorithm>
#include <limits>
#include <span>

#include "steps/output.h"
#include "steps/rules.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

constexpr std::string_view white_space = " \t\n\v\f\r";

/// Splits the strings of a column. The plan owns the step. It is immutable: any number of workers call it at once.
class TextSplitting final : public Step {
 public:
  TextSplitting(SplitText options, TextColumns columns) : options_{std::move(options)}, columns_{columns} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[columns_.from];
    Column& out = block[columns_.to];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
    for (std::int64_t row = 0; row < in.rows; ++row) {
      StopCheck::look(context.stop);
      const std::int64_t tokens = options_.separator ? split_at(text_at(in, row), out) : split(text_at(in, row), out);
      out.end_row({&tokens, 1});
    }
    return {};
  }

 private:
  static void push(std::string_view token, Column& out) { out.push_string(std::as_bytes(std::span{token})); }

  std::int64_t split(std::string_view text, Column& out) const {
    const std::int64_t limit = options_.max_tokens.value_or(std::numeric_limits<std::int64_t>::max());
    std::int64_t tokens = 0;
    for (std::size_t at = text.find_first_not_of(white_space); at < text.size() && tokens < limit; ++tokens) {
      const std::size_t end = std::min(text.find_first_of(white_space, at), text.size());
      push(text.substr(at, end - at), out);
      at = text.find_first_not_of(white_space, end);
    }
    return tokens;
  }

  std::int64_t split_at(std::string_view text, Column& out) const {
    const std::string& separator = *options_.separator;
    const std::int64_t limit = options_.max_tokens.value_or(std::numeric_limits<std::int64_t>::max());
    std::int64_t tokens = 0;
    for (std::size_t at = 0; at <= text.size() && tokens < limit;) {
      const std::size_t end = std::min(text.find(separator, at), text.size());
      if (end > at || !options_.skip_empty) {
        push(text.substr(at, end - at), out);
        ++tokens;
      }
      if (end == text.size()) break;
      at = end + separator.size();
    }
    return tokens;
  }

  const SplitText options_;
  const TextColumns columns_;
};

Result<void> check_separator(const std::optional<std::string>& separator) {
  if (!separator || !separator->empty()) return {};
  return refusal("must not be empty; leave it out to split at white space, or take byte_ids for single bytes")
      .at(Field{"separator"});
}

Result<Bound<Step>> bind_split(const SplitText& options, const Schema& in) {
  FOREBAY_DO(check_separator(options.separator));
  Schema out = in;
  FOREBAY_TRY(
      const TextColumns columns,
      bind_text(options.tensor, options.out, 0,
                {.name = {}, .dtype = DType::string, .shape = {unknown_dim}, .delivery = Delivery::ragged}, out));
  return Bound<Step>{
      .op = std::make_unique<TextSplitting>(options, columns), .out = std::move(out), .reads = {columns.from}};
}

Result<void> check_split(const Json& options) {
  std::vector<Error> none;  // faults of the type are already reported
  const Json* const found = options.find("separator");
  if (found == nullptr) return {};
  return check_separator(JsonCodec<std::optional<std::string>>::read(*found, none).value_or(std::nullopt));
}

}  // namespace

StepType split_text() {
  StepType type =
      describe<StepType, SplitText>("split_text", "Splits strings into tokens, at white space or at a separator.",
                                    bind_split)
          .required("tensor", &SplitText::tensor, "Strings to split, one for each row.")
          .field("out", &SplitText::out, "Name of the tokens; null: they replace the tensor.")
          .field("separator", &SplitText::separator, "Stands between the tokens; null: white space of ASCII.")
          .field("skip_empty", &SplitText::skip_empty, "Whether empty tokens between separators are left out.")
          .field("max_tokens", &SplitText::max_tokens, "Tokens of a row at most; the text after them is dropped.",
                 {.min = 1, .max = max_elements})
          .example({.options = R"({"tensor": "t"})",
                    .in = R"({"t": ["the cat\tsat", " ", "on"]})",
                    .out = R"({"t": [["the", "cat", "sat"], [], ["on"]]})"})
          .example({.options = R"({"tensor": "t", "separator": ", ", "max_tokens": 2})",
                    .in = R"({"t": ["a, b, c", "d"]})",
                    .out = R"({"t": [["a", "b"], ["d"]]})"});
  return with_rules(std::move(type), check_split);
}

}  // namespace forebay::steps
