// SPDX-License-Identifier: Apache-2.0
#include <forebay/fields.h>

#include <utility>

namespace forebay {

void FieldTable::add(std::string name, std::string doc, const Range& range, bool required, const OptionType& type,
                     std::size_t offset, const void* defaults) {
  FieldInfo info{.name = std::move(name), .doc = std::move(doc), .required = required};
  if (!required) info.default_value = type.write(static_cast<const std::byte*>(defaults) + offset);
  info.schema = with_range(type.schema(), range);
  info.python_type = type.python_type();
  info.kind = type.kind;
  info.add_tensors = type.add_tensors;
  infos_.push_back(std::move(info));
  members_.push_back({&type, offset, range});
}

bool FieldTable::read(const Json& json, void* options, std::vector<Error>& faults) const {
  const std::size_t before = faults.size();
  if (!check_keys(json, infos_, faults)) return false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& [type, offset, range] = members_[i];
    const Json* value = json.find(infos_[i].name);
    if (value != nullptr) type->read(*value, static_cast<std::byte*>(options) + offset, range, infos_[i].name, faults);
  }
  return faults.size() == before;
}

Json FieldTable::write(const void* options) const {
  Json out = Json::object();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    out.set(infos_[i].name, member.type->write(static_cast<const std::byte*>(options) + member.offset));
  }
  return out;
}

}  // namespace forebay
