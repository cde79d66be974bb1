// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "columns/wire.h"

namespace forebay::decoders {

/// Which map of a record was looked into.
enum class Looked : std::uint8_t { example, context, lists };

/// What to say about a record that lacks `key`, as the end of a sentence: that it is a message of the other type, that
/// the key is there in another place or without values, or what the record has and the nearest name. `cure`: what helps
/// where the record may lack it. Says only that for an empty message, and for one that is malformed.
[[nodiscard]] std::string about_missing(columns::Wire record, Looked looked, const std::string& key,
                                        const std::string& cure);

}  // namespace forebay::decoders
