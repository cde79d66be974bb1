// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <forebay/loader.h>

namespace forebay {

/// Tells a program that waits with `next_within` what each thread does, every half minute without a batch. The
/// environment variable FOREBAY_STALL_SECONDS sets another number of seconds; a value that is not a positive number is
/// ignored. One thread.
class StallNotice {
 public:
  StallNotice();
  /// Called each time `next_within` timed out. Returns the notice when one is due.
  [[nodiscard]] std::optional<std::string> look(const Loader& loader);
  void delivered() { said_ = 0; }  ///< Called when a batch came.

 private:
  double every_;
  double said_ = 0;  // seconds without the present batch at the last notice
};

}  // namespace forebay
