// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/json.h>

#include "engine/index/source_sizes.h"

/// Parts of a state document that several of its members need, and the member "data".
namespace forebay::plan {

/// The member of that name and kind. Fails with Code::state, data_loss; `wanted` is the kind in words.
[[nodiscard]] Result<const Json*> state_member(const Json& object, const char* name, Json::Kind kind,
                                               const char* wanted);
/// The same for an integer that is not negative.
[[nodiscard]] Result<std::int64_t> state_count(const Json& object, const char* name);

[[nodiscard]] std::string hex(std::uint64_t value);

/// The files of a run as JSON, as text for the checksum, and back. `read_data` fails with Code::state, data_loss.
[[nodiscard]] Json data_json(const engine::SourceSizes& sizes);
[[nodiscard]] std::string data_text(const engine::SourceSizes& sizes);
[[nodiscard]] Result<engine::SourceSizes> read_data(const Json& json);

}  // namespace forebay::plan
