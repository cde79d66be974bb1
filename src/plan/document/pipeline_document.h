// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/describe.h>

#include "plan/document/deferred_json.h"
#include "plan/document/faults.h"
#include "plan/document/on_corrupt.h"

namespace forebay::plan {

enum class EpochBoundary : std::uint8_t { straddle, hard };

/// `{plugin: options}`, with one member.
struct Stage {
  std::string plugin;
  const Json* json = nullptr;  ///< The whole object.
  const Json* options = nullptr;
};

/// The top level of a pipeline document.
struct PipelineDocument {
  StageObject source;
  std::optional<StageObject> decode;
  ListOf<StageObject> steps;
  std::optional<std::int64_t> epochs = 1;
  std::int64_t seed = 0;
  EpochBoundary epoch_boundary = EpochBoundary::straddle;
  bool deterministic = true;
  PolicyOrBudgets on_corrupt;
  std::int64_t threads = 0;
  JsonOf<FieldKind::bytes> memory{0};
  std::int64_t prefetch = 0;
  JsonOf<FieldKind::shard> shard;
  std::optional<std::vector<std::string>> inputs;
  std::optional<std::vector<std::string>> targets;
};

/// The one plug-in that an object names. Adds a fault and gives nothing when it names none or several.
[[nodiscard]] std::optional<Stage> read_stage(const Json& json, std::string_view what, Faults& faults);

/// A number of bytes: an integer, or text like "1GiB" or "500 MB". 0 when it is left out or wrong.
[[nodiscard]] std::int64_t read_memory(const Json* json, Faults& faults);

/// The members of the top level; those that could not be read have their defaults, and `complete` is false.
struct ReadPipeline {
  PipelineDocument document;
  bool complete = true;
};
[[nodiscard]] ReadPipeline read_pipeline(const Json& json, Faults& faults);

/// The members of the top level, as users see them.
[[nodiscard]] const std::vector<FieldInfo>& pipeline_infos();

/// JSON Schema of the top level without the plug-ins: `source`, `decode` and the items of `steps` are any object.
[[nodiscard]] Json pipeline_schema();

}  // namespace forebay::plan
