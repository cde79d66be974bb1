// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <csignal>

namespace forebay::cli {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  if (interrupts != 0) ::_exit(130);
  interrupts = 1;
}

}  // namespace

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // some parent processes ignore the signal, and children inherit that
}

bool interrupted() { return interrupts != 0; }

}  // namespace forebay::cli
