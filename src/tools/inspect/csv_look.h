// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>
#include <forebay/json.h>

#include "base/csv_record.h"
#include "tools/inspect/inspected.h"
#include "tools/inspect/record_look.h"

namespace forebay::tools {

/// How the fields of CSV files are divided and what they are called.
struct CsvForm {
  CsvRules rules;
  bool header = false;
  std::vector<std::string> names;  ///< Of all fields, each once.
  bool own_names = false;          ///< Those of the header cannot be names of tensors, so the document gives others.
};

/// Finds delimiter, header and names in the beginning of a file. Options that are given stay as they are. Fails with
/// Code::data when it has no record.
[[nodiscard]] Result<CsvForm> csv_form(std::string_view head, const std::string& path, const Json& options);

/// The options of the source: those that were given, and what is not a default.
void set_csv_options(const CsvForm& form, Json& options);

/// Looks at the records of CSV files.
[[nodiscard]] MakeLook csv_look(const CsvForm& form);

/// The columns as features, and the options of the decoder.
void propose_csv(const CsvForm& form, const RecordLook& look, Inspected& out);

}  // namespace forebay::tools
