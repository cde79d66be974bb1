// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The command `forebay`, whole: parses the arguments, runs the verb, prints, and returns the exit code. Signals are
/// handled as in a program of its own from here on, so a process calls it once, on its main thread, and then ends.
/// Exported with this name by the Python module, too, whose console script calls it (python/forebay_command.py).
extern "C" [[gnu::visibility("default")]] int forebay_command(int argc, char** argv);
