// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <forebay/s3_files.h>

#include "stores/http/per_process.h"
#include "stores/services/credentials.h"
#include "stores/services/service.h"

namespace forebay::stores::http {

/// S3, and stores that speak its language. Paths are "s3://bucket/key".
///
/// libcurl signs (AWS Signature Version 4). The payload is left out of the signature, and parameters are sorted by us:
/// versions of libcurl before 8 sign neither by themselves as servers expect it.
class S3Service final : public Service {
 public:
  S3Service(const Library& library, S3Options options);
  [[nodiscard]] Result<Address> address(const std::string& path) const override;
  void sign(Ask& ask, const std::string& path) const override;
  [[nodiscard]] Refusal refusal(const Came& came, const std::string& path) override;
  void when_ready(std::function<void()> go, std::function<void(const Error&)> fail) override;
  [[nodiscard]] bool lists() const override { return true; }

 private:
  /// What threads share.
  struct Shared {
    std::shared_ptr<Credentials> credentials;
    std::mutex mutex;
    std::map<std::string, std::string, std::less<>> regions;  // of buckets, as they have said
  };
  [[nodiscard]] Shared& shared() const;
  [[nodiscard]] std::string region_of(const std::string& bucket) const;

  const Library& library_;
  const S3Options options_;
  const std::string endpoint_, region_;
  const bool anonymous_, requester_pays_;
  mutable PerProcess<Shared> shared_;
};

}  // namespace forebay::stores::http
