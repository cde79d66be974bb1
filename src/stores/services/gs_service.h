// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <forebay/gs_files.h>

#include "stores/http/per_process.h"
#include "stores/services/credentials.h"
#include "stores/services/service.h"

namespace forebay::stores::http {

/// Google Cloud Storage. Paths are "gs://bucket/key". Its XML API gives ETags, ranges and lists as S3 does; who asks is
/// shown by a token.
class GsService final : public Service {
 public:
  GsService(const Library& library, GsOptions options);
  [[nodiscard]] Result<Address> address(const std::string& path) const override;
  void sign(Ask& ask, const std::string& path) const override;
  [[nodiscard]] Refusal refusal(const Came& came, const std::string& path) override;
  void when_ready(std::function<void()> go, std::function<void(const Error&)> fail) override;
  [[nodiscard]] bool lists() const override { return true; }

 private:
  /// What threads share.
  struct Shared {
    std::shared_ptr<Credentials> token;
    std::mutex mutex;
    std::string refused;  // the token that was refused last, and since when it was
    std::chrono::steady_clock::time_point since;
  };
  [[nodiscard]] Shared& shared() const;
  [[nodiscard]] Credentials& token() const { return *shared().token; }
  [[nodiscard]] bool was_refused_just_now(const std::string& token);

  const Library& library_;
  const GsOptions options_;
  const std::string endpoint_;
  mutable PerProcess<Shared> shared_;
};

}  // namespace forebay::stores::http
