// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "io/paths.h"
#include "io/patterns.h"
#include "stores/registry.h"
#include "stores/waits.h"

namespace forebay::io {
namespace {

using Segments = std::vector<std::string>;

Segments split(std::string_view path) {
  Segments out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) out.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

/// As `matches`, with segments for letters: `**` stands for any number of them, and at the end for one at least.
bool fits(std::span<const std::string> pattern, std::span<const std::string> name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t after = pattern.size() + 1;  // place in the pattern after the last `**`
  std::size_t resume = 0;                  // place in the name where that `**` ends
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      after = ++p;
      resume = n;
      if (after == pattern.size()) return true;
    } else if (p < pattern.size() && matches(pattern[p], name[n])) {
      ++p;
      ++n;
    } else if (after <= pattern.size()) {
      p = after;
      n = ++resume;
    } else {
      return false;
    }
  }
  return p == pattern.size();
}

/// A pattern: the folder before its first segment with a wildcard, and the segments from there on.
struct Parts {
  std::string folder;
  Segments segments;
  [[nodiscard]] bool deep() const { return segments.size() > 1 || segments.front() == "**"; }
};

Parts parts_of(const std::string& pattern) {
  const std::size_t slash = pattern.rfind('/', first_wildcard(pattern));
  return {.folder = unescaped(pattern.substr(0, slash + 1)),
          .segments = split(std::string_view{pattern}.substr(slash + 1))};
}

}  // namespace

Result<std::span<const ListedFile>> FolderLists::of(FileSystem& system, const std::string& folder, bool deep) {
  const auto key = std::pair{folder, deep};
  auto found = lists_.find(key);
  if (found == lists_.end()) {
    FOREBAY_TRY(auto files, stores::list({.system = &system, .path = folder, .deep = deep}));
    found = lists_.emplace(key, std::move(files)).first;
  }
  return std::span<const ListedFile>{found->second};
}

void FolderLists::ask(std::span<const std::string> patterns) {
  std::map<std::pair<std::string, bool>, FileSystem*> missing;
  for (const std::string& pattern : patterns) {
    if (first_wildcard(pattern) == std::string::npos) continue;
    const Parts parts = parts_of(pattern);
    FileSystem* const system = stores::file_system_of(pattern);
    if (system != nullptr && system->lists() && !lists_.contains({parts.folder, parts.deep()}))
      missing.emplace(std::pair{parts.folder, parts.deep()}, system);
  }
  std::vector<stores::Folder> folders;
  for (const auto& [key, system] : missing)
    folders.push_back({.system = system, .path = key.first, .deep = key.second});
  auto found = stores::list_all(folders);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (found[i].ok()) lists_.emplace(std::pair{folders[i].path, folders[i].deep}, *std::move(found[i]));
  }
}

Result<std::vector<ListedFile>> matching_files(FileSystem& system, const std::string& pattern, FolderLists& lists) {
  const Parts parts = parts_of(pattern);
  const std::string& folder = parts.folder;
  FOREBAY_TRY(const auto all, lists.of(system, folder, parts.deep()));
  std::vector<ListedFile> out;
  for (const ListedFile& file : all) {
    const std::string& path = file.path;
    if (!path.starts_with(folder))
      return Error{Code::internal, fmt::format("a file system listed '{}' in the folder '{}'", path, folder)};
    const Segments name = split(std::string_view{path}.substr(folder.size()));
    if (std::ranges::find(name, store_folder) == name.end() && fits(parts.segments, name)) out.push_back(file);
  }
  std::ranges::sort(out, {}, &ListedFile::path);
  const auto same = [](const ListedFile& one, const ListedFile& other) { return one.path == other.path; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

}  // namespace forebay::io
