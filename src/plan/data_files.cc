// SPDX-License-Identifier: Apache-2.0
#include "plan/data_files.h"

#include <algorithm>
#include <unordered_set>

#include "engine/requests/open_file.h"
#include "io/patterns.h"
#include "io/regular.h"
#include "plan/bind/stages.h"
#include "stores/registry.h"

namespace forebay::plan {
namespace {

/// A data file, and the item of the list that stands for it.
struct Listed {
  std::string path;
  const Json* item;
};

/// The files that the items name, at most `max`. Items that are patterns are added to `patterns`.
std::vector<Listed> named_files(const Json& paths, const std::string& folder, std::size_t max,
                                std::vector<const Json*>& patterns) {
  std::vector<Listed> out;
  for (const Json& item : paths.items()) {
    if (out.size() == max) break;
    if (!item.is(Json::Kind::string)) continue;
    const std::string& text = item.string();
    if (!stores::find_file_system(text).ok()) continue;  // a fault of the source's `bind`
    if (auto path = io::named_path(item.string(), folder)) {
      out.push_back({*std::move(path), &item});
    } else {
      patterns.push_back(&item);
    }
  }
  return out;
}

/// Adds the files that match the patterns. A pattern without a match is a fault of the source's `bind`.
/// What has come with its version was there a moment ago.
void add_matches(const std::vector<const Json*>& patterns, const BindContext& context, std::vector<Listed>& out) {
  std::vector<std::string> texts;
  for (const Json* pattern : patterns) texts.push_back(pattern->string());
  const auto found = io::expand_each(texts, context.folder, *context.lists);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].ok()) continue;
    for (const ListedFile& file : *found[i]) {
      if (!file.version) out.push_back({file.path, patterns[i]});
    }
  }
}

}  // namespace

const FieldInfo* paths_field(const Description& source) {
  const auto& fields = source.fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [](const FieldInfo& f) { return f.kind == FieldKind::paths; });
  return found == fields.end() ? nullptr : &*found;
}

BindContext with_files(BindContext context, const std::shared_ptr<engine::KnownVersions>& known) {
  context.open = [known](const std::string& path) -> Result<std::shared_ptr<const io::RandomAccessFile>> {
    FOREBAY_TRY(auto file, engine::open_file(path, known));
    return std::shared_ptr<const io::RandomAccessFile>{std::move(file)};
  };
  context.lists = std::make_shared<io::FolderLists>();
  if (!known) return context;
  context.listed = [known](const ListedFile& file) {
    known->add_listed(*stores::file_system_of(file.path), file.path,
                      {.size = file.version->size, .version = file.version->version});
  };
  return context;
}

namespace {

/// The files and patterns of stores that the sources of a document name.
struct Named {
  std::vector<std::string> files;     // of each source, unless it names too many to check
  std::int64_t sources = 0;           // that have some of these
  std::vector<std::string> patterns;  // whole
};

void add_named(const Json& document, const BindContext& context, const Registry& registry, Named& out) {
  const Json* const source = document.is(Json::Kind::object) ? document.find("source") : nullptr;
  if (source == nullptr || !source->is(Json::Kind::object) || source->members().size() != 1) return;
  const auto& [name, options] = source->members().front();
  if (!options.is(Json::Kind::object)) return;
  if (const Json* const branches = options.find("branches"); branches != nullptr && branches->is(Json::Kind::array)) {
    for (const Json& branch : branches->items()) add_named(branch, context, registry, out);
  }
  const SourceType* const type = find_type(registry.sources(), name);
  const FieldInfo* const field = type != nullptr ? paths_field(type->description) : nullptr;
  const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
  if (paths == nullptr || !paths->is(Json::Kind::array)) return;
  std::vector<const Json*> patterns;
  std::vector<Listed> files = named_files(*paths, context.folder, io::max_files_asked + 1, patterns);
  if (files.size() > io::max_files_asked) files.clear();
  const std::size_t before = out.files.size();
  for (Listed& file : files) {
    if (stores::file_system_of(file.path) != nullptr) out.files.push_back(std::move(file.path));
  }
  out.sources += out.files.size() > before ? 1 : 0;
  for (const Json* const pattern : patterns) {
    std::string path = stores::without_signature(pattern->string());
    if (stores::file_system_of(path) != nullptr) out.patterns.push_back(std::move(path));
  }
}

}  // namespace

void ask_together(const Json& document, const BindContext& context, const Registry& registry,
                  std::optional<FileChecks> checks, const std::shared_ptr<engine::KnownVersions>& known) {
  Named named;
  add_named(document, context, registry, named);
  if (named.patterns.size() > 1) context.lists->ask(named.patterns);
  if (checks && named.sources > 1) static_cast<void>(engine::find_files(named.files, {}, known));
}

void check_files(const Json& paths, const BindContext& context, const engine::OnCorrupt& policy, FileChecks checks,
                 const std::shared_ptr<engine::KnownVersions>& known, Faults& faults) {
  std::vector<const Json*> patterns;
  const std::size_t max = checks == FileChecks::few ? io::max_files_asked + 1 : SIZE_MAX;
  std::vector<Listed> files = named_files(paths, context.folder, max, patterns);
  if (checks == FileChecks::few && files.size() > io::max_files_asked) return;
  if (checks == FileChecks::all) add_matches(patterns, context, files);
  const std::size_t before = faults.size();
  std::unordered_set<std::string_view> asked;
  std::vector<std::string> requested;  // and asked for together
  for (const Listed& file : files) {
    if (stores::file_system_of(file.path) != nullptr) requested.push_back(file.path);
  }
  const auto answers = engine::find_files(requested, {}, known);
  std::size_t next = 0;
  for (const auto& [path, item] : files) {
    const bool local = stores::file_system_of(path) == nullptr;
    const std::size_t answer = local ? 0 : next++;
    if (!asked.insert(path).second) continue;
    auto found = local ? io::check_regular(path) : Result<void>{};
    if (!local && !answers[answer].ok()) found = answers[answer].error();
    if (found.ok() || engine::passes_over_file(policy, found.error())) continue;
    if (faults.size() - before > max_faults) return;
    const Error& error = found.error();
    const auto same = [&](const Error& fault) { return fault.message() == error.message(); };
    if (std::any_of(faults.begin(), faults.end(), same)) continue;  // the source has looked into the file, too
    keep_new({{error.code(), error.detail(), error.message(), item->place()}}, faults);
  }
}

}  // namespace forebay::plan
