// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "stores/services/file_call.h"

namespace forebay::stores::http {

/// Asks for the names and the versions of the files in a folder of a bucket, page by page.
class ListCall final : public FileCall {
 public:
  /// `folder`: "s3://bucket/" and a prefix; `address`: of the bucket.
  ListCall(std::shared_ptr<Means> means, std::string folder, Address address, bool deep, FileSystem::Listed listed);
  [[nodiscard]] std::span<std::byte> out() const override { return *page_; }
  [[nodiscard]] bool takes_body(const Reply& reply) const override { return reply.status() == 200; }
  void fail(const Error& error) override { listed_(error); }
  [[nodiscard]] bool wanted() const override { return true; }

 private:
  [[nodiscard]] Step judge(const Came& came) override;
  [[nodiscard]] Error gone() const override;
  void complete(Ask& ask) const override;
  [[nodiscard]] std::string attempt() const override { return "list '" + path() + prefix_ + "'"; }

  const FileSystem::Listed listed_;
  const std::string prefix_;
  const bool deep_;
  const std::unique_ptr<std::vector<std::byte>> page_;
  std::string token_;
  int pages_ = 0;
  std::vector<ListedFile> files_;
};

/// `text` with all but letters, digits, `-`, `_`, `.`, `~` and those of `keep` as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view keep = "");

}  // namespace forebay::stores::http
