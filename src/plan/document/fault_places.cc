// SPDX-License-Identifier: Apache-2.0
#include "plan/document/fault_places.h"

#include <algorithm>
#include <charconv>

namespace forebay::plan {
namespace {

Error moved(const Error& fault, const Json& to, std::string message) {
  Place place = to.place();
  place.feature = fault.place().feature;
  return Error{fault.code(), fault.detail(), std::move(message), std::move(place)};
}

/// The member whose name the message begins with, and the rest of the message.
std::pair<const Json*, std::string> named_first(const std::string& message, const Json& options) {
  for (const auto& [key, value] : options.members()) {
    if (message.starts_with(key + ": ")) return {&value, message.substr(key.size() + 2)};
    if (message.starts_with(key + " '")) return {&value, message};
  }
  return {nullptr, message};
}

}  // namespace

std::string take_token(std::string_view& pointer) {
  const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
  const std::string_view token = pointer.substr(1, end - 1);
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    out += !escape ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  pointer.remove_prefix(end);
  return out;
}

const Json* find_pointer(const Json& json, std::string_view pointer) {
  const Json* at = &json;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    const std::string token = take_token(pointer);
    if (at->is(Json::Kind::object)) {
      at = at->find(token);
      continue;
    }
    std::size_t index = 0;
    const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
    const bool there = read.ec == std::errc{} && read.ptr == token.data() + token.size() && index < at->items().size();
    at = there ? &at->items()[index] : nullptr;
  }
  return at;
}

void keep_new(const Faults& found, Faults& faults) {
  for (const Error& fault : found) {
    const bool known = std::any_of(faults.begin(), faults.end(), [&](const Error& other) {
      return other.message() == fault.message() && other.place().pointer == fault.place().pointer;
    });
    if (!known) faults.push_back(fault);
  }
}

Error at_option(const Error& fault, const Json& options) {
  const std::string& pointer = fault.place().pointer;
  const std::string& root = options.place().pointer;
  if (fault.place().line == 0 && !pointer.empty()) {
    if (const Json* value = find_pointer(options, pointer)) return moved(fault, *value, fault.message());
  }
  if (pointer == root) {
    auto [member, message] = named_first(fault.message(), options);
    return member != nullptr ? moved(fault, *member, std::move(message)) : fault;
  }
  if (!pointer.starts_with(root + "/")) return fault;
  const Json* value = find_pointer(options, std::string_view{pointer}.substr(root.size()));
  const bool inner = value != nullptr && value->place().pointer == pointer;  // and not from another document
  return inner ? moved(fault, *value, fault.message()) : fault;
}

}  // namespace forebay::plan
