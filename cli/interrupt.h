// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace forebay::cli {

/// From now on the first Ctrl-C only sets what `interrupted` says; the second ends the process at once with 130.
/// A closed standard output ends it quietly.
void install_signals();

[[nodiscard]] bool interrupted();

}  // namespace forebay::cli
