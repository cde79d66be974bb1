// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace forebay::stores::http {

/// The settings of a profile of AWS: those of its sections in the files `credentials` and `config` of ~/.aws, or of
/// $AWS_SHARED_CREDENTIALS_FILE and $AWS_CONFIG_FILE. A file that cannot be read has none.
class Profile {
 public:
  explicit Profile(std::string name);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool exists() const { return exists_; }
  [[nodiscard]] std::string get(std::string_view setting) const;  ///< Empty: none.

 private:
  void read(const std::string& path, const std::string& section);

  const std::string name_;
  bool exists_ = false;
  std::map<std::string, std::string, std::less<>> settings_;
};

/// A variable of the environment. Empty: none.
[[nodiscard]] std::string from_environment(const char* name);

}  // namespace forebay::stores::http
