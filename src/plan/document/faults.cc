// SPDX-License-Identifier: Apache-2.0
#include "plan/document/faults.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <forebay/messages.h>

namespace forebay::plan {

void complain(const Json& found, std::string message, Faults& faults) {
  faults.emplace_back(Code::config, Detail::invalid_argument, std::move(message), found.place());
}

void misplace(const Json& stage, std::string message, Faults& faults) {
  faults.emplace_back(Code::config, Detail::failed_precondition, std::move(message), stage.place());
}

bool is_misplaced(const Error& fault) {
  return fault.code() == Code::config && fault.detail() == Detail::failed_precondition;
}

namespace {

/// Sorts the faults by place; those without a place come last.
void sort_by_place(Faults& faults) {
  std::vector<std::string> files;
  const auto number = [&](const std::string& file) { return std::find(files.begin(), files.end(), file); };
  for (const Error& fault : faults) {
    if (number(fault.place().file) == files.end()) files.push_back(fault.place().file);
  }
  const auto key = [&](const Error& fault) {
    const Place& place = fault.place();
    return std::tuple{place.line == 0, number(place.file) - files.begin(), place.line, place.column};
  };
  std::stable_sort(faults.begin(), faults.end(), [&](const Error& a, const Error& b) { return key(a) < key(b); });
}

}  // namespace

Error together(Faults faults) {
  sort_by_place(faults);
  if (faults.size() > max_faults) {
    const std::size_t more = faults.size() - max_faults;
    faults.erase(faults.begin() + max_faults, faults.end());
    faults.emplace_back(Code::config, Detail::invalid_argument, fmt::format("{} more faults", more));
  }
  return Error::all(std::move(faults));
}

void keep_new(const Faults& found, Faults& faults) {
  for (const Error& fault : found) {
    const bool known = std::any_of(faults.begin(), faults.end(), [&](const Error& other) {
      return other.message() == fault.message() && other.place().pointer == fault.place().pointer;
    });
    if (!known) faults.push_back(fault);
  }
}

}  // namespace forebay::plan
