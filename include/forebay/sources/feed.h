// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/plugin.h>

namespace forebay {

/// Reads rows that the program gives while the run goes on (forebay/feed.h). The document has no `decode`, one epoch,
/// and no order that reaches any row. The run has no state.
struct FeedRows {
  BindingName bind;  ///< The object is a feed.
};

}  // namespace forebay
