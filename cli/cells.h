// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/batch.h>
#include <forebay/json.h>

namespace forebay::cli {

/// The real and imaginary parts of complex numbers, alternating.
[[nodiscard]] Tensor parts_of(const Tensor& complex);

/// One element. Floats are the shortest decimals that read back the same; nan and infinities are strings;
/// complex numbers are [real, imaginary].
[[nodiscard]] Json element_json(const Tensor& tensor, std::int64_t element);

/// Row `row` of a value as nested lists; of a sparse value {indices, values}, with the indices inside the row.
/// After `most` elements "…" stands for the rest.
[[nodiscard]] Json row_json(const Value& value, std::int64_t row, std::int64_t most);

/// The type of one row: "float32[784]", "string ragged", …
[[nodiscard]] std::string type_text(const Value& value);

}  // namespace forebay::cli
