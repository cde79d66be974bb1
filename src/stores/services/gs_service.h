// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
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
  [[nodiscard]] Credentials& token() const;

  const Library& library_;
  const GsOptions options_;
  const std::string endpoint_;
  mutable PerProcess<std::shared_ptr<Credentials>> token_;
};

}  // namespace forebay::stores::http
