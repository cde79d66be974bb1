// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>

#include <algorithm>

#include <fmt/core.h>
#include <forebay/messages.h>

// The kind of a plug-in follows from its folder.
#define FOREBAY_TYPE_sources SourceType
#define FOREBAY_TYPE_decoders DecoderType
#define FOREBAY_TYPE_steps StepType
#define FOREBAY_TYPE_orders OrderType
#define FOREBAY_TYPE_windows WindowType
#define FOREBAY_TYPE_batchers BatcherType
#define FOREBAY_TYPE_combine CombineType

#define PLUGIN(folder, name)    \
  namespace forebay::folder {   \
  FOREBAY_TYPE_##folder name(); \
  }
#include "plugins.def"
#undef PLUGIN

namespace forebay {
namespace {

/// Adds a type. It replaces an earlier one of the same name.
template <class Type>
void put(std::vector<Type>& types, Type type) {
  const auto same = [&](const Type& other) { return other.description.name == type.description.name; };
  const auto old = std::find_if(types.begin(), types.end(), same);
  if (old != types.end()) {
    *old = std::move(type);
  } else {
    types.push_back(std::move(type));
  }
}

}  // namespace

Registry::Registry() {
#define PLUGIN(folder, name) add(folder::name());
#include "plugins.def"
#undef PLUGIN
}

Registry& Registry::global() {
  static Registry registry;
  return registry;
}

Result<Bound<Decoder>> bind_decoder(const DecoderChoice& decoder, const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const DecoderType& type : Registry::global().decoders()) {
    if (type.description.name == decoder.name) return type.bind(decoder.options, wanted);
    names.push_back(type.description.name);
  }
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("there is no decoder {}{}", quote(decoder.name), among(decoder.name, names, "known")),
               decoder.options.place()};
}

void Registry::add(SourceType type) { put(sources_, std::move(type)); }
void Registry::add(DecoderType type) { put(decoders_, std::move(type)); }
void Registry::add(StepType type) { put(steps_, std::move(type)); }
void Registry::add(OrderType type) { put(orders_, std::move(type)); }
void Registry::add(WindowType type) { put(windows_, std::move(type)); }
void Registry::add(BatcherType type) { put(batchers_, std::move(type)); }
void Registry::add(CombineType type) { put(combinations_, std::move(type)); }

}  // namespace forebay
