// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace forebay::stores::http {

/// What has threads that may be inside libcurl.
class Stops {
 public:
  virtual ~Stops() = default;
  virtual void stop() = 0;  ///< Returns when it has no thread any more. More than once does no harm.
};

/// Stops all that this process has.
void stop_all();

/// Stops it when this process exits: libraries for TLS are taken down then, and no thread may be in them.
void stop_at_exit(const std::shared_ptr<Stops>& what);

}  // namespace forebay::stores::http
