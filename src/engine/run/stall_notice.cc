// SPDX-License-Identifier: Apache-2.0
#include <forebay/stall_notice.h>

#include <cstdlib>

namespace forebay {

StallNotice::StallNotice() : every_{30} {
  const char* const given = std::getenv("FOREBAY_STALL_SECONDS");
  const double seconds = given != nullptr ? std::strtod(given, nullptr) : 0;
  if (seconds > 0) every_ = seconds;
}

std::optional<std::string> StallNotice::look(const Loader& loader) {
  const Stats stats = loader.stats();
  if (stats.waiting_seconds < said_ + every_) return std::nullopt;
  said_ = stats.waiting_seconds;
  return stats.waiting;
}

}  // namespace forebay
