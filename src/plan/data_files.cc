// SPDX-License-Identifier: Apache-2.0
#include "plan/data_files.h"

#include <algorithm>

#include "io/paths.h"
#include "io/patterns.h"
#include "io/regular.h"
#include "plan/loader/lower.h"

namespace forebay::plan {
namespace {

/// Returns the item of the list that is this path, or the list itself for a file of a pattern.
const Json& named_by(const std::string& path, const Json& paths, const std::string& folder) {
  for (const Json& item : paths.items()) {
    const std::string written = io::resolve(item.string(), folder);
    if (written == path || written == literal(path)) return item;
  }
  return paths;
}

}  // namespace

const FieldInfo* paths_field(const Description& source) {
  const auto& fields = source.fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [](const FieldInfo& f) { return f.kind == FieldKind::paths; });
  return found == fields.end() ? nullptr : &*found;
}

void check_files(const std::vector<std::string>& files, const Json& paths, const std::string& folder,
                 const engine::OnCorrupt& policy, Faults& faults) {
  const std::size_t before = faults.size();
  for (const std::string& path : files) {
    const auto found = io::check_regular(path);
    if (found.ok() || engine::passes_over_file(policy, found.error())) continue;
    if (faults.size() - before > max_faults) return;
    const Error& error = found.error();
    keep_new({{error.code(), error.detail(), error.message(), named_by(path, paths, folder).place()}}, faults);
  }
}

std::vector<std::string> known_files(const Json& paths, const std::string& folder) {
  std::vector<std::string> patterns, out;
  for (const Json& item : paths.items()) {
    if (item.is(Json::Kind::string)) patterns.push_back(item.string());
  }
  for (auto& found : io::expand_each(patterns, folder)) {
    if (found.ok()) out.insert(out.end(), found->begin(), found->end());
  }
  return out;
}

}  // namespace forebay::plan
