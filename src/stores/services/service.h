// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "stores/http/address.h"
#include "stores/http/call.h"

namespace forebay::stores::http {

/// What is said of all files over http.
struct Manners {
  bool allow_http = false;
  std::int64_t connections = 32;
  std::int64_t deadline = 180;  // seconds
  std::string ca_file;          // empty: that of the system
};

/// A kind of server: where its files are, and how it knows who asks. Thread-safe.
class Service {
 public:
  virtual ~Service() = default;
  /// Fails with Code::config for a path that names no file.
  [[nodiscard]] virtual Result<Address> address(const std::string& path) const = 0;
  /// Adds to a request for the service itself what shows who asks.
  virtual void sign(Ask& ask, const std::string& path) const = 0;
  /// What the service says of a request that it has refused.
  struct Refusal {
    bool at_once = false;  ///< It is asked again: `address` or `sign` now do otherwise.
    bool later = false;    ///< It is asked again in a while.
    bool slower = false;   ///< And less often.
    std::string what;      ///< For the error; empty: nothing.
  };
  [[nodiscard]] virtual Refusal refusal(const Came& came, const std::string& path) = 0;
  /// Calls `go` when requests can be signed, or `fail`. On any thread, also before it returns.
  virtual void when_ready(std::function<void()> go, std::function<void(const Error&)> fail) = 0;

  [[nodiscard]] virtual bool lists() const { return false; }
};

}  // namespace forebay::stores::http
