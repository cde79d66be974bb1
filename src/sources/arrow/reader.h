// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forebay/arrow.h>

#include "sources/arrow/batch_reader.h"

namespace forebay {

/// The tensors of a record batch, and how they are read.
class ArrowReader::Plan {
 public:
  std::vector<arrow::Column> columns;
  Schema schema;                    // of the columns, each with its `present` after it
  std::vector<std::string> fields;  // columns of the batch, each once
  std::vector<std::string> types;   // of the fields, as `type_text` says

  /// `in_memory`: dictionaries may be delivered as codes.
  [[nodiscard]] static Result<std::shared_ptr<Plan>> make(const ArrowSchema& schema, const Arrow& options,
                                                          bool in_memory, bool projected);

  /// `categories`: by column; needed when a column is delivered as codes. `first_row`: of the batch, for errors.
  [[nodiscard]] Result<std::shared_ptr<const RowBlock>> read(ArrowArray& batch, std::span<arrow::Categories> categories,
                                                             std::int64_t first_row) const;
};

}  // namespace forebay
