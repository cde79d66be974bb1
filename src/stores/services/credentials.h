// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <forebay/s3_files.h>

#include "stores/http/exits.h"
#include "stores/http/library.h"

namespace forebay::stores::http {

/// Looks for credentials where `options` say, as `s3_files` has it. Waits.
[[nodiscard]] Result<S3Credentials> look_for_credentials(const S3Options& options, const Library& library);

/// Credentials that are asked for anew before they expire, by a thread of their own. Thread-safe.
class Credentials final : public Stops {
 public:
  explicit Credentials(S3CredentialsSource source) : source_{std::move(source)} {}
  ~Credentials() override { stop(); }
  /// Calls `go` when there are some, or `fail`.
  void when_there(std::function<void()> go, std::function<void(const Error&)> fail);
  [[nodiscard]] S3Credentials now();
  /// The service has refused `used` as too old.
  void expired(const S3Credentials& used);
  void stop() override;

 private:
  struct Waiting {
    std::function<void()> go;
    std::function<void(const Error&)> fail;
  };
  void look();
  void tell(const Result<S3Credentials>& found);

  const S3CredentialsSource source_;
  std::mutex mutex_;
  std::optional<S3Credentials> now_;
  bool looking_ = false, stopped_ = false;
  std::vector<Waiting> waiting_;
  std::thread thread_;
};

}  // namespace forebay::stores::http
