// SPDX-License-Identifier: Apache-2.0
#include "stores/services/bucket_path.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

namespace forebay::stores::http {

namespace {

bool is_bucket(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text != "." && text != ".." &&
         std::ranges::all_of(text, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '_';
         });
}

bool has_dots(std::string_view key) {
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part == "." || part == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

BucketPath BucketPath::of(const std::string& path) {
  const std::size_t begin = path.find("://") + 3;
  const std::size_t slash = std::min(path.find('/', begin), path.size());
  return {path.substr(begin, slash - begin), slash == path.size() ? std::string{} : path.substr(slash + 1)};
}

Result<BucketPath> BucketPath::checked(const std::string& path) {
  BucketPath out = of(path);
  if (!is_bucket(out.bucket))
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("'{}': '{}' is no name of a bucket; {}BUCKET/KEY has letters, digits, `.`, `-` and `_` "
                             "there",
                             path, out.bucket, path.substr(0, path.find("://") + 3))};
  if (has_dots(out.key))
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("'{}': keys with the parts `.` and `..` cannot be asked for; copy the object to another key",
                    path)};
  return out;
}

}  // namespace forebay::stores::http
