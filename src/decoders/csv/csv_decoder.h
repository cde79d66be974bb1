// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/plugin.h>

#include "decoders/csv/fields.h"
#include "decoders/csv/values.h"

namespace forebay::decoders {

/// One field of a record, as the plan of a decoder sees it.
struct CsvFieldPlan {
  static constexpr std::int64_t no_column = -1;

  std::int64_t column = no_column;  ///< Number of its column in the options; no_column: left out.
  ColumnId id = 0;                  ///< Its tensor.
  bool wanted = false;              ///< The tensor is decoded.
  std::string name;
  CsvType type;
  std::optional<std::vector<std::byte>> default_value;  ///< Bytes of the element. Empty: the value is required.
};

struct CsvPlan {
  CsvSyntax syntax;
  std::string na_value;
  std::vector<CsvFieldPlan> fields;  ///< By place in the record, up to the last one that matters.
  std::size_t columns = 0;           ///< Fields that have a column.
  bool whole = true;                 ///< A record ends with the last field. False: what follows is not looked at.
};

/// Decodes records of comma-separated values. Const: any number of workers call it, each with its own memory.
///
/// A record is first read by the kernels, and field by field where these stop. If anything is wrong in it, it is read
/// again by the exact rules, which find the fault that comes first.
class CsvDecoder final : public Decoder {
 public:
  explicit CsvDecoder(CsvPlan plan, ReadFields kernel = read_fields());

  [[nodiscard]] std::unique_ptr<DecoderMemory> memory() const override;
  [[nodiscard]] Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                    DecoderMemory& memory) const override;

 private:
  class Memory;
  [[nodiscard]] bool quick(std::string_view record, std::size_t row, ColumnBlock& block, Memory& memory) const;
  [[nodiscard]] bool ends(std::string_view record, std::size_t at) const;
  [[nodiscard]] bool put(const CsvFieldPlan& field, std::string_view text, std::size_t row, ColumnBlock& block) const;
  [[nodiscard]] bool missing(std::string_view text) const { return text.empty() || text == plan_.na_value; }
  [[nodiscard]] Result<void> exact(std::string_view record, std::size_t row, ColumnBlock& block, Memory& memory) const;
  [[nodiscard]] Result<void> split(std::string_view record, Memory& memory) const;
  [[nodiscard]] Error wrong_number(const Memory& memory) const;
  [[nodiscard]] Error not_a_value(const CsvFieldPlan& field, std::string_view text) const;

  const CsvPlan plan_;
  const ReadFields kernel_;
  std::vector<CsvKernel> kernels_;  // by field; none for those that have no column of fixed size
  std::vector<ColumnId> appended_;  // string columns that are decoded
};

}  // namespace forebay::decoders
