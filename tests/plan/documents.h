// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <forebay/plan.h>

/// Documents and the small data sets that they name, for the tests of planning.
namespace forebay::testing {

/// A temporary folder; it is removed when the test ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "forebay_plan_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const { std::ofstream{path_ + "/" + name} << text; }

 private:
  std::string path_;
};

inline Json parse(const std::string& text) {
  auto json = parse_json(text);
  return json.ok() ? *json : Json{json.error().text()};
}

/// Every fault of the document as "line:column pointer: message"; nothing when it can be planned.
inline std::vector<std::string> faults(const std::string& document, const std::string& folder = ".") {
  const auto plan = Plan::make(parse(document), folder);
  std::vector<std::string> out;
  if (plan.ok()) return out;
  const auto add = [&](const Error& fault) {
    const Place& place = fault.place();
    out.push_back(std::to_string(place.line) + ":" + std::to_string(place.column) + " " + place.pointer + ": " +
                  fault.message());
  };
  if (plan.error().faults().empty()) add(plan.error());
  for (const Error& fault : plan.error().faults()) add(fault);
  return out;
}

}  // namespace forebay::testing
