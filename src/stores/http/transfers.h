// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "stores/http/call.h"
#include "stores/http/library.h"

namespace forebay::stores::http {

/// How requests are made.
struct Manner {
  std::int64_t connections = 32;       ///< To one host, at most.
  std::chrono::seconds deadline{180};  ///< A call that gets no byte for so long fails.
  std::string ca_file;                 ///< Certificates that are trusted. Empty: those of libcurl.
};

/// Calls that are under way, and the threads that make them: one for each 0.6 GB/s, four at most. A call that meets a
/// fault is tried again after a random time up to 0.1 s, 0.2 s, 0.4 s … 20 s (Brooker, "Exponential Backoff and
/// Jitter", AWS Architecture Blog, 2015), ten times, or until the deadline where the host fails for all.
///
/// Thread-safe. Calls are answered by its threads.
class Transfers {
 public:
  Transfers(const Library& library, Manner manner);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  void begin(std::unique_ptr<Call> call);

 private:
  class Shared;
  class Loop;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace forebay::stores::http
