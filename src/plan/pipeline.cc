// SPDX-License-Identifier: Apache-2.0
#include <forebay/pipeline.h>
#include <forebay/plugin.h>

namespace forebay {

namespace {

/// Returns the stage {"name": options} for the plug-in that has this options struct. For an unknown struct, returns a
/// stage that the planner refuses and that names the type.
Json stage_of(std::type_index type, const void* options) {
  Json stage = Json::object();
  const auto look = [&](const auto& types) {
    for (const auto& each : types) {
      if (each.description.options == type) stage.set(each.description.name, each.description.write(options));
    }
  };
  const Registry& registry = Registry::global();
  look(registry.sources());
  look(registry.decoders());
  look(registry.steps());
  look(registry.orders());
  look(registry.windows());
  look(registry.batchers());
  look(registry.combinations());
  if (stage.members().empty()) stage.set(type.name(), Json::object());
  return stage;
}

}  // namespace

Pipeline& Pipeline::set(const char* key, std::type_index type, const void* options) {
  document_.set(key, stage_of(type, options));
  return *this;
}

Pipeline& Pipeline::append(std::type_index type, const void* options) {
  Json steps = document_.find("steps") == nullptr ? Json::array() : *document_.find("steps");
  steps.items().push_back(stage_of(type, options));
  document_.set("steps", std::move(steps));
  return *this;
}

Pipeline& Pipeline::epochs(std::optional<std::int64_t> count) {
  document_.set("epochs", count ? Json{*count} : Json{});
  return *this;
}

Pipeline& Pipeline::seed(std::int64_t seed) {
  document_.set("seed", seed);
  return *this;
}

}  // namespace forebay
