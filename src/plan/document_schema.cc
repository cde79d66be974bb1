// SPDX-License-Identifier: Apache-2.0
#include <forebay/reference.h>

#include "plan/document/branch_document.h"
#include "plan/document/pipeline_document.h"
#include "plan/loader/loader_document.h"
#include "plan/loader/manifest.h"

namespace forebay {
namespace plan {
namespace {

constexpr const char* draft = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of a stage, {plugin: options}.
template <class Type>
Json stage_schema(const Type& type) {
  Json options = object_schema(type.description.fields);
  options.set("description", type.description.doc);
  Json properties = Json::object();
  properties.set(type.description.name, std::move(options));
  Json out = type_schema("object");
  out.set("properties", std::move(properties));
  out.set("required", Json::array({Json{type.description.name}}));
  out.set("additionalProperties", false);
  return out;
}

template <class Type>
void add_stages(const std::vector<Type>& types, std::vector<Json>& out) {
  for (const Type& type : types) out.push_back(stage_schema(type));
}

Json one_of(std::vector<Json> schemas) {
  Json out = Json::object();
  out.set("oneOf", Json::array(std::move(schemas)));
  return out;
}

/// Replaces the schema of a property; the description stays.
void refine(Json& document, const char* key, Json schema) {
  for (auto& [name, properties] : document.members()) {
    if (name != "properties") continue;
    if (const Json* general = properties.find(key)) {
      if (const Json* doc = general->find("description")) schema.set("description", *doc);
    }
    properties.set(key, std::move(schema));
  }
}

/// The schema of a combination, whose branches have the schema `branch`.
Json combination_schema(const CombineType& type, const Json& branch) {
  CombineType out{.description = type.description, .bind = {}};
  for (FieldInfo& field : out.description.fields) {
    if (field.kind == FieldKind::branches) field.schema = list_schema(branch);
  }
  return stage_schema(out);
}

/// The schemas of steps. An option that is a decoder is one of `decoders`.
void add_steps(const std::vector<StepType>& types, const std::vector<Json>& decoders, std::vector<Json>& out) {
  for (StepType type : types) {
    for (FieldInfo& field : type.description.fields) {
      if (field.kind != FieldKind::decoder) continue;
      Json schema = one_of(decoders);
      schema.set("description", field.doc);
      field.schema = std::move(schema);
    }
    out.push_back(stage_schema(type));
  }
}

Json full_pipeline_schema(const Registry& registry) {
  std::vector<Json> sources, decoders, steps, branch_steps;
  add_stages(registry.sources(), sources);
  add_stages(registry.decoders(), decoders);
  add_steps(registry.steps(), decoders, steps);
  add_stages(registry.orders(), steps);
  branch_steps = steps;
  add_stages(registry.windows(), steps);
  add_stages(registry.batchers(), steps);
  Json branch = branch_schema();
  refine(branch, "source", one_of(sources));
  refine(branch, "decode", one_of(decoders));
  refine(branch, "steps", list_schema(one_of(std::move(branch_steps))));
  for (const CombineType& type : registry.combinations()) sources.push_back(combination_schema(type, branch));
  Json out = pipeline_schema();
  refine(out, "$schema", type_schema("string"));
  refine(out, "source", one_of(std::move(sources)));
  refine(out, "decode", one_of(std::move(decoders)));
  refine(out, "steps", list_schema(one_of(std::move(steps))));
  return out;
}

Json with_draft(Json schema, const char* title) {
  Json out = Json::object();
  out.set("$schema", draft);
  out.set("title", title);
  for (auto& [key, value] : schema.members()) out.set(key, std::move(value));
  return out;
}

Json field_reference(const FieldInfo& field) {
  Json out = Json::object();
  out.set("name", field.name);
  out.set("doc", field.doc);
  out.set("required", field.required);
  if (!field.required) out.set("default", field.default_value);
  out.set("type", field.python_type);
  out.set("kind", std::string{to_string(field.kind)});
  out.set("schema", field.schema);
  return out;
}

/// Returns an example as JSON, or as a string when the text is not JSON.
Json example_part(const std::string& text) {
  auto json = parse_json(text);
  return json.ok() ? *std::move(json) : Json{text};
}

Json reference_of(const char* kind, const Description& description) {
  std::vector<Json> fields, examples;
  for (const FieldInfo& field : description.fields) fields.push_back(field_reference(field));
  for (const Example& example : description.examples) {
    Json json = Json::object();
    json.set("options", example_part(example.options));
    json.set("in", example_part(example.in));
    json.set("out", example_part(example.out));
    examples.push_back(std::move(json));
  }
  Json json = Json::object();
  json.set("kind", kind);
  json.set("name", description.name);
  json.set("doc", description.doc);
  json.set("fields", Json::array(std::move(fields)));
  json.set("examples", Json::array(std::move(examples)));
  return json;
}

template <class Type>
void add_reference(const char* kind, const std::vector<Type>& types, std::vector<Json>& out) {
  for (const Type& type : types) {
    out.push_back(reference_of(kind, type.description));
    if constexpr (std::is_same_v<Type, SourceType>) out.back().set("rows", type.rows);
  }
}

/// Returns the name of a schema's type: "integer", "array | null".
std::string type_text(const Json& schema) {
  if (const Json* type = schema.find("type")) return type->string();
  std::string out;
  if (const Json* choices = schema.find("anyOf")) {
    for (const Json& choice : choices->items()) out += (out.empty() ? "" : " | ") + type_text(choice);
  }
  return out.empty() ? "any" : out;
}

Json schema_reference(const char* name, const char* doc, const Json& schema) {
  std::vector<Json> fields;
  for (const auto& [key, property] : schema.find("properties")->members()) {
    const Json* default_json = property.find("default");
    const Json* words = property.find("description");
    FieldInfo field{.name = key, .doc = words != nullptr ? words->string() : "", .required = default_json == nullptr};
    if (default_json != nullptr) field.default_value = *default_json;
    field.schema = property;
    field.python_type = type_text(property);
    fields.push_back(field_reference(field));
  }
  Json json = Json::object();
  json.set("kind", "document part");
  json.set("name", name);
  json.set("doc", doc);
  json.set("fields", Json::array(std::move(fields)));
  json.set("examples", Json::array());
  return json;
}

}  // namespace
}  // namespace plan

Json document_schema() {
  return plan::with_draft(plan::any_of({plan::loader_schema(), plan::full_pipeline_schema(Registry::global())}),
                          "Forebay document");
}

Json manifest_document_schema() { return plan::with_draft(plan::manifest_schema(), "Forebay manifest"); }

Json plugin_reference() {
  const Registry& registry = Registry::global();
  std::vector<Json> out;
  plan::add_reference("format", registry.sources(), out);
  plan::add_reference("decoder", registry.decoders(), out);
  plan::add_reference("step", registry.steps(), out);
  plan::add_reference("order", registry.orders(), out);
  plan::add_reference("window", registry.windows(), out);
  plan::add_reference("batcher", registry.batchers(), out);
  plan::add_reference("combination", registry.combinations(), out);
  return Json::array(std::move(out));
}

Json feature_reference() {
  std::vector<Json> out;
  for (const Description& kind : feature_kinds()) out.push_back(plan::reference_of("feature", kind));
  return Json::array(std::move(out));
}

Json document_reference() {
  Json out = plugin_reference();
  const auto add = [&](const char* name, const char* doc, const Json& schema) {
    out.items().push_back(plan::schema_reference(name, doc, schema));
  };
  add("pipeline", "The members of a pipeline document.", plan::pipeline_schema());
  add("branch", "The members of a branch of a combination.", plan::branch_schema());
  add("independent", "The `args` of a loader document of this type.",
      plan::loader_fields(plan::LoaderType::independent).schema());
  add("feature", "How a decoder makes one tensor, in `features`, `context` or `lists`.",
      JsonCodec<ExampleFeature>::schema());
  add("manifest", "The members of a manifest.", plan::manifest_schema());
  const Json kinds = feature_reference();
  out.items().insert(out.items().end(), kinds.items().begin(), kinds.items().end());
  return out;
}

}  // namespace forebay
