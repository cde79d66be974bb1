// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace forebay::cli {

/// From now on the first Ctrl-C only makes `interrupted` true; the second one ends the process at once with 130. A
/// closed standard output ends the process quietly.
void install_signals();

[[nodiscard]] bool interrupted();

}  // namespace forebay::cli
