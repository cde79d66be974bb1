// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <forebay/error.h>

namespace forebay::decoders {

/// Appends the message of a tf.train.Example that is written as JSON text, by the JSON mapping of protobuf 3. Fails
/// with Code::data, line, column and feature; `out` then has part of the message.
[[nodiscard]] Result<void> append_example(std::string_view json, std::string& out);

}  // namespace forebay::decoders
