// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <forebay/format.h>

namespace forebay::sources {

/// The rows that the program binds under the name. `what` says in messages what the source takes: "arrays".
/// Fails with Code::config at the option `bind` when there are none, or when they are not of the kind: all in memory,
/// or read one after the other.
[[nodiscard]] Result<Source> bound_rows(const std::string& name, const BindContext& context, bool resident,
                                        std::string_view what);

}  // namespace forebay::sources
