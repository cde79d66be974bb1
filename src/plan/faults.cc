// SPDX-License-Identifier: Apache-2.0
#include "plan/faults.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"

namespace forebay::plan {

void complain(const Json& found, std::string message, Faults& faults) {
  faults.emplace_back(Code::config, Detail::invalid_argument, std::move(message), found.place());
}

void keep(const Error& error, Faults& faults) {
  if (error.faults().empty()) {
    faults.push_back(error);
  } else {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  }
}

void point_at_options(const Json& options, Faults& found) {
  for (Error& fault : found) {
    const std::string& message = fault.message();
    const std::size_t colon = message.find(": ");
    if (colon == std::string::npos) continue;
    const Json* const option = options.find(message.substr(0, colon));
    if (option == nullptr || option->place().pointer.empty()) continue;
    Place place = fault.place();
    if (place.pointer != options.place().pointer && place.pointer != option->place().pointer) continue;
    place.pointer = option->place().pointer;
    place.line = option->place().line;
    place.column = option->place().column;
    fault = Error{fault.code(), fault.detail(), message.substr(colon + 2), std::move(place)};
  }
}

Error together(Faults faults) {
  if (faults.size() > most_faults) {
    const std::size_t more = faults.size() - most_faults;
    faults.erase(faults.begin() + most_faults, faults.end());
    faults.emplace_back(Code::config, Detail::invalid_argument, fmt::format("{} more faults", more));
  }
  std::stable_partition(faults.begin(), faults.end(), [](const Error& fault) { return fault.code() == Code::config; });
  return Error::all(std::move(faults));
}

std::string hint(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? std::string{} : fmt::format("; did you mean '{}'?", near);
}

std::string among(std::string_view name, std::span<const std::string> candidates, std::string_view words) {
  constexpr std::size_t most_named = 30;
  const std::string near = hint(name, candidates);
  const auto shown = candidates.first(std::min(candidates.size(), most_named));
  return fmt::format(
      "{} {}: {}{}", near.empty() ? ";" : near, words, fmt::join(shown, ", "),
      shown.size() < candidates.size() ? fmt::format(" and {} more", candidates.size() - shown.size()) : "");
}

}  // namespace forebay::plan
