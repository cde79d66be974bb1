// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/check_utf8.h>

#include <fmt/core.h>

#include "columns/fill.h"
#include "config/utf8.h"
#include "steps/output.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

/// Checks the strings of a column. The plan owns the step. It is immutable: any number of workers call it at once.
class Utf8Check final : public Step {
 public:
  Utf8Check(CheckUtf8 options, TextColumns columns) : options_{std::move(options)}, columns_{columns} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[columns_.from];
    Column& out = block[columns_.to];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = options_.tensor}));
    if (!in.fixed()) columns::copy_rows(in, out);
    for (std::int64_t row = 0; row < in.rows; ++row) {
      StopCheck::look(context.stop);
      const auto [begin, end] = elements_of(in, row);
      std::optional<Error> first;
      for (std::int64_t element = begin; element < end; ++element) {
        const auto fault = append(text_at(in, element), out);
        if (fault && !first) first = fault->at(Place{.feature = options_.tensor, .row = row});
      }
      if (!first) continue;
      if (context.faults == nullptr) return *first;
      context.faults->add(row, *first);
    }
    return {};
  }

 private:
  /// Appends the string, or an empty one and returns the fault.
  std::optional<Error> append(std::string_view text, Column& out) const {
    const std::size_t good = config::utf8_valid_bytes(text);
    if (good < text.size() && options_.invalid == InvalidUtf8::error) {
      out.push_string({});
      return Error{
          Code::data, Detail::data_loss,
          fmt::format("byte {} of the string, 0x{:02x}, is no UTF-8", good, static_cast<std::uint8_t>(text[good]))};
    }
    for (std::size_t valid = good;;) {
      if (valid > 0) std::memcpy(out.bytes.extend(valid), text.data(), valid);
      text.remove_prefix(valid);
      if (text.empty()) break;
      std::memcpy(out.bytes.extend(replacement.size()), replacement.data(), replacement.size());
      text.remove_prefix(config::utf8_broken_length(text));
      valid = config::utf8_valid_bytes(text);
    }
    out.byte_splits.push(static_cast<std::int64_t>(out.bytes.size()));
    return std::nullopt;
  }

  const CheckUtf8 options_;
  const TextColumns columns_;
};

Result<Bound<Step>> bind_utf8(const CheckUtf8& options, const Schema& in) {
  Schema out = in;
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  FOREBAY_TRY(const TextColumns columns, bind_text(options.tensor, options.out, std::nullopt, in[from], out));
  return Bound<Step>{
      .op = std::make_unique<Utf8Check>(options, columns), .out = std::move(out), .reads = {columns.from}};
}

}  // namespace

StepType check_utf8() {
  return describe<StepType, CheckUtf8>("check_utf8", "Checks that strings are UTF-8, or replaces what is not.",
                                       bind_utf8)
      .required("tensor", &CheckUtf8::tensor, "Strings to check.")
      .field("out", &CheckUtf8::out, "Name of the checked strings; null: they replace the tensor.")
      .field("invalid", &CheckUtf8::invalid, "error: a fault of the row; replace: U+FFFD for each broken part.")
      .example({.options = R"({"tensor": "t", "invalid": "replace"})",
                .in = R"({"t": ["base64:Yf9i", "ok"]})",
                .out = R"({"t": ["a\ufffdb", "ok"]})"});
}

}  // namespace forebay::steps
