// SPDX-License-Identifier: Apache-2.0
#include <forebay/json.h>

#include <algorithm>
#include <cmath>

namespace forebay {

Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json Json::array(std::vector<Json> items) {
  Json out;
  out.kind_ = Kind::array;
  out.items_ = std::move(items);
  return out;
}

Json Json::object(std::vector<Member> members) {
  Json out;
  out.kind_ = Kind::object;
  out.members_ = std::move(members);
  return out;
}

const Json* Json::find(std::string_view key) const {
  const auto found = std::ranges::find(members_, key, &Member::first);
  return found == members_.end() ? nullptr : &found->second;
}

Json& Json::set(std::string key, Json value) {
  const auto found = std::ranges::find(members_, key, &Member::first);
  if (found != members_.end()) return found->second = std::move(value);
  return members_.emplace_back(std::move(key), std::move(value)).second;
}

std::string_view Json::kind_name() const {
  switch (kind_) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a float";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "a list";
    case Kind::object:
      return "an object";
  }
  return "null";
}

bool Json::operator==(const Json& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::null:
      return true;
    case Kind::boolean:
    case Kind::integer:
      return integer_ == other.integer_;
    case Kind::number:
      return number_ == other.number_ || (std::isnan(number_) && std::isnan(other.number_));
    case Kind::string:
      return text_ == other.text_;
    case Kind::array:
      return items_ == other.items_;
    case Kind::object:
      break;
  }
  if (members_.size() != other.members_.size()) return false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& [key, value] = members_[i];
    const Member& same_position = other.members_[i];  // usually both have the same order
    const Json* match = same_position.first == key ? &same_position.second : other.find(key);
    if (match == nullptr || !(value == *match)) return false;
  }
  return true;
}

}  // namespace forebay
