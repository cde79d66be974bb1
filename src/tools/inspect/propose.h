// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/inspect/inspected.h"
#include "tools/inspect/record_look.h"

namespace forebay::tools {

/// Looks at records that may be tf.train messages.
[[nodiscard]] MakeLook message_look();
/// Looks at records as strings.
[[nodiscard]] MakeLook payload_look();
/// Looks at records of tar archives, by extension.
[[nodiscard]] MakeLook tar_look();

/// The features of tf.train messages, or of records that are none, and the decoder that reads all that was seen
/// without an error.
void propose_messages(const RecordLook& look, Inspected& out);
/// One string for each record.
void propose_payloads(const RecordLook& look, const std::string& name, Inspected& out);
void propose_tar(const RecordLook& look, Inspected& out);

}  // namespace forebay::tools
