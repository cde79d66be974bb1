// SPDX-License-Identifier: Apache-2.0
// Manifests: the bytes are the manifest of a loader document over a file that is not there.
#include <forebay/json.h>
#include <forebay/plan.h>

#include "fuzz/check.h"

using forebay::Json;

namespace {

Json named(std::string from) {
  Json feature = Json::object();
  feature.set("from_name", from);
  feature.set("to_name", from);
  return feature;
}

Json loader(const std::string& manifest, const std::string& list) {
  Json paths = Json::object();
  paths.set("manifest_file", manifest);
  paths.set("list_file", list);
  Json dataset = Json::object();
  dataset.set("type", "list");
  dataset.set("args", std::move(paths));
  Json args = Json::object();
  args.set("dataset", std::move(dataset));
  args.set("num_read_buffer_bytes", 0);
  args.set("num_prefetch", 1);
  args.set("target_batch_size", 4);
  args.set("drop_remainder", false);
  args.set("epochs", 1);
  args.set("primary_features", Json::array({named("x"), named("label"), named("raw"), named("name")}));
  Json document = Json::object();
  document.set("type", "independent");
  document.set("args", std::move(args));
  return document;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static forebay::fuzz::ScratchFile manifest;
  static forebay::fuzz::ScratchFile list;
  static const Json document = [] {
    const std::string_view name = "/proc/self/no-such-file\n";
    list.fill(std::as_bytes(std::span{name}));
    return loader(manifest.path(), list.path());
  }();
  manifest.fill(forebay::fuzz::bytes_of(data, size));
  auto plan = forebay::Plan::make(document);
  forebay::fuzz::check(plan.ok() || !plan.error().text().empty(), "a refusal says why");
  return 0;
}
