// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/format.h>

#include "tools/inspect/feature_stats.h"

namespace forebay::tools {

/// What was seen of the records of one file, or of several whose looks were merged in their order.
struct RecordLook {
  std::int64_t files = 0;
  std::int64_t records = 0;
  std::int64_t bytes = 0;                                   ///< Of the records.
  bool more = false;                                        ///< A file has more records than were looked at.
  StringStats payloads;                                     ///< The records as strings.
  std::int64_t sequences = 0, examples = 0, malformed = 0;  ///< Records by what MessageLook finds.
  std::optional<Error> first_malformed;
  FeatureTable features;              ///< Features of Examples, of contexts; extensions of tar archives.
  FeatureTable lists;                 ///< Of SequenceExamples.
  std::vector<FeatureStats> columns;  ///< Fields of CSV records.

  void merge(RecordLook&& other);
};

/// Adds one record to a look. The record has `record_slack` bytes after its end. Called on any thread, for one file on
/// one thread at a time; an error ends the file.
using LookAtRecord = std::function<Result<void>(std::string_view record, RecordLook& look)>;
/// Makes what looks at the records of one file.
using MakeLook = std::function<LookAtRecord()>;

/// The files to look at, and how much of them.
struct RecordPass {
  Source source;                        ///< With the files.
  std::optional<std::int64_t> records;  ///< Of each file, at most; nothing: all.
  std::int64_t threads = 0;
  std::function<bool()> go_on = {};
};

/// Reads the files, several at once, and merges what was seen in the order of the files: the result does not depend on
/// the number of threads. Fails with the error of the first file that has one, and with Code::cancelled.
[[nodiscard]] Result<RecordLook> look_at_records(const RecordPass& pass, const MakeLook& make);

}  // namespace forebay::tools
