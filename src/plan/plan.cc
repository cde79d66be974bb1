// SPDX-License-Identifier: Apache-2.0
#include <forebay/plan.h>

#include <fmt/core.h>

#include "config/document.h"
#include "engine/program/plan_access.h"
#include "io/paths.h"
#include "plan/builder/build.h"
#include "plan/loader/lower.h"

namespace forebay {

namespace {

Error neither(const Json& document, const char* found) {
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("{}; a loader document has \"type\" and \"args\" (and perhaps \"inputs\" and \"targets\"), "
                           "a pipeline document has \"source\", \"decode\" and \"steps\"",
                           found),
               document.place()};
}

Result<Plan> make_loader(const Json& document, const std::string& folder, FileChecks checks) {
  FOREBAY_TRY(const plan::CheckedLoader loader, plan::read_loader(document, folder));
  const bool known = loader.listed && checks == FileChecks::few;                     // the listing has seen the files
  auto made = plan::build(plan::lower(loader), {.folder = "."}, Registry::global(),  // its paths are resolved
                          known ? std::nullopt : std::optional{checks});
  if (!made.ok()) return plan::in_loader_words(made.error(), loader);
  return made;
}

}  // namespace

Result<Plan> Plan::make(const Json& document, const std::string& folder, const Bindings& bindings, FileChecks checks) {
  if (!document.is(Json::Kind::object)) return neither(document, "the document is no object");
  const auto has = [&](const char* key) { return document.find(key) != nullptr; };
  const bool pipeline = has("source") || has("decode") || has("steps");
  const bool loader = has("type") || has("args");
  if (pipeline == loader)
    return neither(document, pipeline ? "the document mixes two forms" : "the document is of no known form");
  return loader ? make_loader(document, folder, checks)
                : plan::build(document, {.folder = folder, .bindings = bindings}, Registry::global(), checks);
}

Result<Plan> Plan::load(const std::string& path, const Bindings& bindings, FileChecks checks) {
  FOREBAY_TRY(const Json document, read_document(path));
  return make(document, document_folder(path), bindings, checks);
}

const std::vector<ColumnSpec>& Plan::outputs() const { return parts_->outputs; }
const std::vector<std::string>& Plan::inputs() const { return parts_->inputs; }
const std::vector<std::string>& Plan::targets() const { return parts_->targets; }
Json Plan::lowered() const { return plan::lowered(*parts_); }
std::optional<std::int64_t> Plan::batches() const { return parts_->batches; }
std::uint64_t Plan::hash() const { return parts_->hash; }
std::uint64_t Plan::stream() const { return parts_->program->stream; }
std::optional<std::int64_t> Plan::epochs() const { return parts_->program->epochs; }
const Shard& Plan::shard() const { return parts_->program->shard; }
const std::vector<PlanStage>& Plan::stages() const { return parts_->stages; }
std::string Plan::text() const {
  std::string out;
  for (const PlanStage& stage : parts_->stages) out += fmt::format("{:<9} {}\n", stage.where, stage.text);
  return out;
}

}  // namespace forebay
