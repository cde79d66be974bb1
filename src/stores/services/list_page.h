// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

namespace forebay::stores::http {

/// A page of the list of a bucket: an answer to ListObjectsV2 with `encoding-type=url`.
struct ListPage {
  struct File {
    std::string key;
    std::string etag;        ///< With its quotes. Empty: not said.
    std::int64_t size = -1;  ///< Bytes. -1: not said.
  };
  std::vector<File> files;
  std::string next;  ///< The token of the page after it. Empty: it is the last.

  /// Fails with Code::io for a text that is none.
  [[nodiscard]] static Result<ListPage> of(std::string_view xml);
};

/// What a service says of a refusal: the texts of `Code`, `Message` and `Region` in its answer. Empty where it says
/// nothing.
struct ServiceError {
  std::string code, message, region;

  [[nodiscard]] static ServiceError of(std::string_view xml);
};

}  // namespace forebay::stores::http
