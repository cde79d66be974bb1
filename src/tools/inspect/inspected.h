// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forebay/json.h>
#include <forebay/schema.h>

#include "tools/inspect/feature_stats.h"

namespace forebay::tools {

/// The pipeline that reads what was inspected, as it is put together.
struct Proposal {
  std::string kind;              ///< Name of the source.
  Json source = Json::object();  ///< Its options, with the files.
  std::string decoder = {};      ///< Empty: rows come ready.
  Json decode = Json::object();  ///< The decoder's options.
  bool skip_records = false;     ///< on_corrupt: skip_record.
};

/// One feature as it is reported.
struct InspectedFeature {
  std::string name;             ///< Of the tensor.
  std::string part = {};        ///< Of a SequenceExample: "context" or "lists".
  std::string kind = "column";  ///< fixed_len, var_len, …, or what the source gives: "column".
  std::string dtype = "string";
  std::string shape = "[]";
  std::string note = {};
  FeatureStats stats = {};
};

/// What was found in some files.
struct Inspected {
  std::string what;             ///< "tf.train.Example", "CSV", …
  std::int64_t files = 0;       ///< All …
  std::int64_t files_read = 0;  ///< … and those that were looked at.
  std::int64_t records = 0;
  std::int64_t bytes = -1;  ///< Of the records; -1: not known.
  bool sample = false;      ///< There is more.
  std::vector<InspectedFeature> features;
  std::vector<std::string> notes;
  Proposal proposal;
};

}  // namespace forebay::tools
