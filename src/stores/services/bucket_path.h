// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/error.h>

namespace forebay::stores::http {

/// The parts of "s3://bucket/key".
struct BucketPath {
  std::string bucket, key;

  [[nodiscard]] static BucketPath of(const std::string& path);
  /// The same. Fails with Code::config where the bucket has a letter that none has, and for keys that cannot be asked
  /// for: libcurl takes the parts "." and ".." out of an address, and another file would be asked for.
  [[nodiscard]] static Result<BucketPath> checked(const std::string& path);
};

}  // namespace forebay::stores::http
