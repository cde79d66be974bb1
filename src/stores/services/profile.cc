// SPDX-License-Identifier: Apache-2.0
#include "stores/services/profile.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "stores/http/trimmed.h"

namespace forebay::stores::http {

namespace {

std::string or_in_home(const char* variable, const char* name) {
  std::string path = from_environment(variable);
  return path.empty() ? from_environment("HOME") + "/.aws/" + name : path;
}

}  // namespace

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string{} : std::string{value};
}

Profile::Profile(std::string name) : name_{std::move(name)} {
  read(or_in_home("AWS_CONFIG_FILE", "config"), name_ == "default" ? name_ : "profile " + name_);
  read(or_in_home("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name_);
}

/// Lines of a setting that has settings of its own are indented, and are left out.
void Profile::read(const std::string& path, const std::string& section) {
  std::ifstream file{path};
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      inside = trimmed(text.substr(1, text.find(']') - 1)) == section;
      exists_ = exists_ || inside;
      continue;
    }
    const std::size_t equals = text.find('=');
    if (!inside || equals == std::string_view::npos || line.front() == ' ' || line.front() == '\t') continue;
    settings_.insert_or_assign(std::string{trimmed(text.substr(0, equals))}, trimmed(text.substr(equals + 1)));
  }
}

std::string Profile::get(std::string_view setting) const {
  const auto found = settings_.find(setting);
  return found == settings_.end() ? std::string{} : found->second;
}

}  // namespace forebay::stores::http
