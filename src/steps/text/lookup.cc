// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/lookup.h>

#include <memory>
#include <unordered_map>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "columns/fill.h"
#include "steps/output.h"
#include "steps/rules.h"
#include "steps/text/strings.h"
#include "steps/text/text_hash.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t max_number = std::int64_t{1} << 62;

/// The entries of a vocabulary and their numbers, from 0. The step shares it with the planner, which fills it before
/// the step runs.
class Vocabulary {
 public:
  /// False: it is there already.
  bool add(std::string_view token) { return numbers_.emplace(token, std::ssize(numbers_)).second; }
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view token) const {
    const auto found = numbers_.find(token);
    return found == numbers_.end() ? std::nullopt : std::optional{found->second};
  }
  [[nodiscard]] std::int64_t size() const { return std::ssize(numbers_); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view token) const { return std::hash<std::string_view>{}(token); }
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_;
};

/// Replaces the strings of a column by numbers. The plan owns the step. It is immutable once its vocabulary is read:
/// any number of workers call it at once.
class VocabularyLookup final : public Step {
 public:
  VocabularyLookup(Lookup options, TextColumns columns, std::shared_ptr<const Vocabulary> vocabulary)
      : options_{std::move(options)}, columns_{columns}, vocabulary_{std::move(vocabulary)} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[columns_.from];
    Column& out = block[columns_.to];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = options_.tensor}));
    if (!in.fixed()) {
      columns::copy_rows(in, out);
      out.values.resize(static_cast<std::size_t>(in.elements()) * size_of(out.dtype));
    }
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const auto [begin, end] = elements_of(in, row);
      std::optional<std::string_view> missing;
      for (std::int64_t element = begin; element < end; ++element) {
        const std::string_view token = text_at(in, element);
        const auto number = number_of(token);
        if (!number && !missing) missing = token;
        put(out, element, number.value_or(0));
      }
      if (!missing) continue;
      const Error fault = data_fault(options_.tensor, row, fmt::format("{} is not in the vocabulary", quote(*missing)));
      if (context.faults == nullptr) return fault;
      context.faults->add(row, fault);
    }
    return {};
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view token) const {
    if (const auto found = vocabulary_->find(token)) return options_.first_id + *found;
    if (options_.unknown == UnknownToken::error) return std::nullopt;
    if (options_.unknown == UnknownToken::id) return options_.unknown_id;
    TextHash hash;
    hash.add(token);
    return options_.first_id + vocabulary_->size() + hash.bucket(options_.buckets);
  }

  static void put(Column& out, std::int64_t element, std::int64_t number) {
    if (out.dtype == DType::int32) {
      out.values.as<std::int32_t>()[element] = static_cast<std::int32_t>(number);
    } else {
      out.values.as<std::int64_t>()[element] = number;
    }
  }

  const Lookup options_;
  const TextColumns columns_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
};

/// Fails when a number does not fit the dtype.
Result<void> check_numbers(const Lookup& options, std::int64_t entries) {
  if (options.dtype != DType::int64 && options.dtype != DType::int32)
    return refusal(fmt::format("numbers are int64 or int32, not {}", to_string(options.dtype))).at(Field{"dtype"});
  const std::int64_t limit = options.dtype == DType::int32 ? INT32_MAX : max_number;
  const auto check = [&](const char* option, std::int64_t number) -> Result<void> {
    if (number >= -limit && number <= limit) return {};
    return refusal(fmt::format("{} does not hold the number {}", to_string(options.dtype), number)).at(Field{option});
  };
  FOREBAY_DO(check("first_id", options.first_id));
  FOREBAY_DO(check("first_id", options.first_id + entries));
  if (options.unknown == UnknownToken::id) FOREBAY_DO(check("unknown_id", options.unknown_id));
  if (options.unknown == UnknownToken::hash) {
    FOREBAY_DO(check("buckets", options.buckets));
    FOREBAY_DO(check("buckets", options.first_id + entries + options.buckets));
  }
  return {};
}

Result<void> check_lookup(const Lookup& options) {
  if (options.file.has_value() == !options.tokens.empty())
    return refusal("give either a file or a list of tokens that is not empty").at(Field{"file"});
  Vocabulary seen;
  for (std::size_t i = 0; i < options.tokens.size(); ++i) {
    if (!seen.add(options.tokens[i])) {
      return refusal(fmt::format("{} is there twice; every token has one number", quote(options.tokens[i])))
          .at(Field{"tokens", std::to_string(i)});
    }
  }
  return check_numbers(options, std::ssize(options.tokens));
}

/// Adds the lines of a file. A last line without a line feed counts; a byte order mark before the first one does not.
Result<void> read_vocabulary(std::string_view content, const std::string& path, Vocabulary& out) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  std::int64_t line = 1;
  for (std::size_t at = content.starts_with(mark) ? mark.size() : 0; at < content.size(); ++line) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    std::string_view token = content.substr(at, end - at);
    if (token.ends_with('\r')) token.remove_suffix(1);
    if (!out.add(token)) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("{} is in line {} for the second time (first in line {}); every token has one number",
                               quote(token), line, *out.find(token) + 1),
                   Place{.file = path, .line = static_cast<std::int32_t>(line), .column = 1}};
    }
    at = end + 1;
  }
  if (out.size() == 0) return refusal(quote(path) + " names no token; write one on each line");
  return {};
}

Result<Bound<Step>> bind_lookup(const Lookup& options, const Schema& in) {
  FOREBAY_DO(check_lookup(options));
  Schema out = in;
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  ColumnSpec made = in[from];
  made.dtype = options.dtype;
  made.pad = {};
  FOREBAY_TRY(const TextColumns columns, bind_text(options.tensor, options.out, std::nullopt, std::move(made), out));
  const auto vocabulary = std::make_shared<Vocabulary>();
  for (const std::string& token : options.tokens) vocabulary->add(token);
  Bound<Step> bound{.op = std::make_unique<VocabularyLookup>(options, columns, vocabulary),
                    .out = std::move(out),
                    .reads = {columns.from}};
  if (options.file) {
    const auto read = [vocabulary, options](std::string_view content, const std::string& path) -> Result<void> {
      FOREBAY_DO(read_vocabulary(content, path, *vocabulary));
      return check_numbers(options, vocabulary->size());
    };
    bound.files.push_back({.path = *options.file, .option = {"file"}, .read = read});
  }
  return bound;
}

Result<void> check_lookup_json(const Json& options) {
  std::vector<Error> none;  // faults of the types are already reported
  Lookup read;
  const auto take = [&]<class T>(const char* name, T& member) {
    const Json* const value = options.find(name);
    if (value == nullptr) return;
    if (auto found = JsonCodec<T>::read(*value, none)) member = *std::move(found);
  };
  take("file", read.file);
  take("tokens", read.tokens);
  take("unknown", read.unknown);
  take("unknown_id", read.unknown_id);
  take("buckets", read.buckets);
  take("first_id", read.first_id);
  take("dtype", read.dtype);
  return check_lookup(read);
}

}  // namespace

StepType lookup() {
  StepType type =
      describe<StepType, Lookup>("lookup", "Replaces strings by their numbers in a vocabulary.", bind_lookup)
          .required("tensor", &Lookup::tensor, "Strings to look up.")
          .field("out", &Lookup::out, "Name of the numbers; null: they replace the tensor.")
          .field("file", &Lookup::file, "File of the vocabulary: one token a line.")
          .field("tokens", &Lookup::tokens, "The vocabulary, instead of a file.")
          .field("unknown", &Lookup::unknown, "What other strings get: error, id or hash.")
          .field("unknown_id", &Lookup::unknown_id, "Of id: the number of all other strings.",
                 {.min = -max_number, .max = max_number})
          .field("buckets", &Lookup::buckets, "Of hash: numbers after the vocabulary's, which other strings share.",
                 {.min = 1, .max = max_number})
          .field("first_id", &Lookup::first_id, "Number of the first token.", {.min = -max_number, .max = max_number})
          .field("dtype", &Lookup::dtype, "int64 or int32.")
          .example({.options = R"({"tensor": "t", "tokens": ["the", "cat"], "unknown": "id", "unknown_id": 9})",
                    .in = R"({"t": [["the", "dog"], ["cat"]]})",
                    .out = R"({"t": [[0, 9], [1]]})"});
  return with_rules(std::move(type), check_lookup_json);
}

}  // namespace forebay::steps
