// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <optional>

#include <fmt/core.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/folder.h"
#include "io/paths.h"

namespace forebay::io {
namespace {

// The costs of system calls, in names (GlobBudget).
constexpr std::int64_t inspect_cost = 8;
constexpr std::int64_t list_cost = 64;

/// Reads one element of the pattern at `at`, moves `at` after it, and returns whether `letter` fits. A `[` without `]`
/// means itself.
bool fits(std::string_view pattern, std::size_t& at, char letter) {
  const char first = pattern[at++];
  if (first == '?') return true;
  if (first == '\\' && at < pattern.size()) return pattern[at++] == letter;
  if (first != '[') return first == letter;
  const auto value = static_cast<unsigned char>(letter);
  std::size_t i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  const auto take = [&]() -> unsigned char {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    return static_cast<unsigned char>(pattern[i++]);
  };
  for (bool begin = true; i < pattern.size() && (begin || pattern[i] != ']'); begin = false) {
    const unsigned char least = take();
    unsigned char most = least;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      most = take();
    }
    found = found || (least <= value && value <= most);
  }
  if (i >= pattern.size()) return letter == '[';
  at = i + 1;
  return found != negated;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Whether the path exists. A broken link exists, too.
bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool wild(std::string_view segment) { return segment.find_first_of("*?[\\") != std::string_view::npos; }

Error too_much(const std::string& pattern) {
  return Error{Code::config, Detail::resource_exhausted,
               fmt::format("the pattern '{}' looks at too many names; name the folders in it", pattern)};
}

/// Returns the paths below `bases` that match one segment of the pattern.
Result<std::vector<std::string>> advance(const std::vector<std::string>& bases, const std::string& segment, bool last,
                                         const std::string& pattern, GlobBudget& budget) {
  std::vector<std::string> out;
  for (const std::string& base : bases) {
    if (!wild(segment)) {
      std::string path = resolve(segment, base);
      if ((budget.names -= inspect_cost) < 0) return too_much(pattern);
      errno = 0;
      if (last ? is_there(path) : is_folder(path))
        out.push_back(std::move(path));
      else if (errno == EACCES)
        return system_error("look into", path, EACCES);
      continue;
    }
    auto entries = list_folder(base);
    if (!entries.ok()) {
      // A base that was removed, or is not a folder, has no match. A folder that may not be read might have one.
      const Detail detail = entries.error().detail();
      if (detail == Detail::resource_exhausted || detail == Detail::permission_denied) return entries.error();
      continue;
    }
    // A long segment costs more to compare: it counts as several names for each entry.
    budget.names -= list_cost + static_cast<std::int64_t>(entries->size() * (1 + segment.size() / 64));
    if (budget.names < 0) return too_much(pattern);
    for (const Entry& entry : *entries) {
      if (entry.name != store_folder && (last || entry.kind != Entry::Kind::file) && matches(segment, entry.name)) {
        out.push_back(resolve(entry.name, base));
      }
    }
  }
  return out;
}

/// The folders in `bases` and all folders below them; with `last`, all files in these instead. Links to folders are not
/// followed, so there is no loop.
Result<std::vector<std::string>> descend(std::vector<std::string> bases, bool last, const std::string& pattern,
                                         GlobBudget& budget) {
  std::vector<std::string> files;
  for (std::size_t next = 0; next < bases.size(); ++next) {
    const std::string base = bases[next];
    const auto entries = list_folder(base);
    if (!entries.ok()) {
      const Detail detail = entries.error().detail();
      if (detail == Detail::resource_exhausted || detail == Detail::permission_denied) return entries.error();
      continue;
    }
    budget.names -= list_cost + static_cast<std::int64_t>(entries->size());
    if (budget.names < 0) return too_much(pattern);
    for (const Entry& entry : *entries) {
      if (entry.kind == Entry::Kind::folder && entry.name != store_folder) bases.push_back(resolve(entry.name, base));
      if (last && entry.kind == Entry::Kind::file) files.push_back(resolve(entry.name, base));
    }
  }
  return last ? files : bases;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // position in the pattern after the last `*`
  std::size_t resume = 0;                     // position in the name where that `*` ends
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      resume = n;
      continue;
    }
    if (p < pattern.size() && fits(pattern, p, name[n])) {
      ++n;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    n = ++resume;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::vector<std::string>> glob(const std::string& pattern, const std::string& folder, GlobBudget& budget) {
  std::string_view rest = pattern;
  std::vector<std::string> found{folder};
  if (rest.starts_with('/')) found = {"/"};
  while (!rest.empty() && !found.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string segment{rest.substr(0, end)};
    rest.remove_prefix(end);
    if (segment.empty()) break;
    const bool last = rest.find_first_not_of('/') == std::string_view::npos;
    if (segment == "**") {
      FOREBAY_TRY(found, descend(std::move(found), last, pattern, budget));
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      continue;
    }
    FOREBAY_TRY(found, advance(found, segment, last, pattern, budget));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace forebay::io
