// SPDX-License-Identifier: Apache-2.0
#include "steps/text/strings.h"

#include <utility>

#include <fmt/core.h>

#include "steps/output.h"

namespace forebay::steps {

Result<TextColumns> bind_text(const std::string& tensor, const std::optional<NewTensorName>& out,
                              std::optional<std::size_t> rank, ColumnSpec made, Schema& schema) {
  FOREBAY_TRY(const ColumnId from, find_dense(schema, tensor).at(Field{"tensor"}));
  const ColumnSpec& found = schema[from];
  if (found.dtype != DType::string || (rank && found.shape.rank() != *rank)) {
    const char* const wanted = !rank ? "strings" : *rank == 0 ? "one string for each row" : "strings of one axis";
    return refusal(fmt::format("'{}' is {} of shape {}; this step takes {}", tensor, to_string(found.dtype),
                               found.shape.text(), wanted))
        .at(Field{"tensor"});
  }
  if (out) FOREBAY_DO(check_new_name(*out, schema).at(Field{"out"}));
  made.name = out ? std::string{*out} : tensor;
  return TextColumns{.from = from, .to = schema.put(std::move(made))};
}

}  // namespace forebay::steps
