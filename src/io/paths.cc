// SPDX-License-Identifier: Apache-2.0
#include "io/paths.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/core.h>
#include <sys/stat.h>

#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/patterns.h"
#include "io/regular.h"
#include "stores/registry.h"
#include "stores/waits.h"

namespace forebay::io {
namespace {

constexpr std::int64_t max_list_bytes = std::int64_t{1} << 30;
constexpr std::int64_t max_shards = 1'000'000;

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Result<void> check_path(const std::string& path) {
  if (path.empty()) return Error{Code::config, Detail::invalid_argument, "a path must not be empty"};
  if (path.find('\0') != std::string::npos) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("the path '{}' contains a NUL byte", path.c_str())};
  }
  FOREBAY_DO(stores::find_file_system(path));
  return {};
}

/// Returns N of "path@N"; 0 when the path does not end so.
std::int64_t shards_of(std::string_view path) {
  const std::size_t at = path.rfind('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == path.size() || path.size() - at > 8) return 0;
  std::int64_t count = 0;
  for (const char digit : path.substr(at + 1)) {
    if (digit < '0' || digit > '9') return 0;
    count = count * 10 + (digit - '0');
  }
  return count;
}

constexpr std::string_view wildcards = "*?[";

/// The text without the `\` before each wildcard; empty when a wildcard has none. A text without wildcards names a file
/// as it is, and so does each text of a file system that cannot list.
std::optional<std::string> without_escapes(const std::string& text) {
  if (text.find_first_of(wildcards) == std::string::npos) return text;
  if (const FileSystem* const system = stores::file_system_of(text); system != nullptr && !system->lists()) return text;
  if (first_wildcard(text) != std::string::npos) return std::nullopt;
  return unescaped(text);
}

/// Fails when a shard is missing or is no regular file.
Result<void> check_shard(const std::string& path, const std::string& shard) {
  auto found = check_regular(shard);
  if (found.ok() || found.error().detail() != Detail::not_found) return found;
  return Error{Code::config, Detail::not_found, fmt::format("'{}': shard '{}' is missing", path, shard)};
}

/// `ask`: whether the shards must be there.
Result<std::vector<std::string>> shard_paths(const std::string& path, std::int64_t count, bool ask) {
  if (count > max_shards) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("'{}': at most {} shards are allowed", path, max_shards)};
  }
  const std::string base = path.substr(0, path.rfind('@'));
  std::vector<std::string> out;
  for (std::int64_t shard = 0; shard < count; ++shard) {
    std::string name = fmt::format("{}-{:05}-of-{:05}", base, shard, count);
    if (ask) FOREBAY_DO(check_shard(path, name));
    out.push_back(std::move(name));
  }
  return out;
}

std::string_view strip(std::string_view line) {
  constexpr std::string_view white = " \t\r\n\v\f";
  const std::size_t begin = line.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(white) - begin + 1);
}

Result<std::string> read_text(const std::string& path) {
  if (FileSystem* const system = stores::file_system_of(path)) return stores::read_all(*system, path, max_list_bytes);
  FOREBAY_TRY(const File file, File::open(path));
  if (file.size() > max_list_bytes) {
    return Error{
        Code::data, Detail::resource_exhausted,
        fmt::format("'{}' has {} bytes; a list file may have at most {}", file.path(), file.size(), max_list_bytes),
        Place{.file = file.path()}};
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  FOREBAY_TRY(const std::size_t got, file.read(std::as_writable_bytes(std::span{text}), 0));
  text.resize(got);
  return text;
}

}  // namespace

std::size_t first_wildcard(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (wildcards.find(pattern[i]) != std::string_view::npos) return i;
    if (pattern[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

std::string unescaped(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    out += pattern[i];
  }
  return out;
}

std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string current_folder() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

std::string resolve(const std::string& path, const std::string& folder) {
  if (folder.empty() || folder == "." || path.starts_with('/') || stores::file_system_of(path) != nullptr) return path;
  return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

bool is_plain_name(std::string_view text) {
  static constexpr auto special = [] {
    std::array<bool, 256> out{};
    for (const char each : {'\0', '*', '?', '[', '\\', '@', ':'}) out[static_cast<unsigned char>(each)] = true;
    return out;
  }();
  bool found = text.empty();
  for (const char each : text) found |= special[static_cast<unsigned char>(each)];
  return !found;
}

std::optional<std::string> named_path(const std::string& text, const std::string& folder) {
  const auto name = without_escapes(stores::without_signature(text));
  if (!name || shards_of(*name) > 0) return std::nullopt;
  return resolve(*name, folder);
}

namespace {

/// The files that the patterns name without wildcards; each shard counts.
std::size_t count_named(const std::vector<std::string>& patterns) {
  std::size_t count = 0;
  for (const std::string& pattern : patterns) {
    const auto name = without_escapes(pattern);
    if (name) count += static_cast<std::size_t>(std::max<std::int64_t>(1, shards_of(*name)));
  }
  return count;
}

std::vector<ListedFile> without_versions(std::vector<std::string> paths) {
  std::vector<ListedFile> out;
  out.reserve(paths.size());
  for (std::string& path : paths) out.push_back({.path = std::move(path), .version = {}});
  return out;
}

Result<std::vector<ListedFile>> expand_one(const std::string& text, const std::string& folder, GlobBudget& budget,
                                           bool ask, FolderLists& lists) {
  FOREBAY_DO(check_path(text));
  const std::string pattern = stores::without_signature(text);
  if (const auto name = without_escapes(pattern)) {
    std::string path = resolve(*name, folder);
    const std::int64_t shards = shards_of(*name);
    const bool local = stores::file_system_of(path) == nullptr;
    if (shards == 0 || exists(path)) return without_versions({std::move(path)});
    FOREBAY_TRY(std::vector<std::string> paths, shard_paths(path, shards, ask && local));
    return without_versions(std::move(paths));
  }
  const std::string path = resolve(pattern, folder);
  FileSystem* const system = stores::file_system_of(path);
  if (system == nullptr && exists(path)) return without_versions({path});  // the name of a file has wildcards in it
  std::vector<ListedFile> found;
  if (system == nullptr) {
    FOREBAY_TRY(std::vector<std::string> paths, glob(pattern, folder, budget));
    found = without_versions(std::move(paths));
  } else {
    FOREBAY_TRY(found, matching_files(*system, path, lists));
  }
  std::erase_if(found, [](const ListedFile& file) { return AtomicFile::unfinished(file.path); });
  for (ListedFile& file : found) {
    if (folder == "." && file.path.starts_with("./")) file.path.erase(0, 2);  // as `resolve`
  }
  if (!found.empty()) return found;
  return Error{Code::config, Detail::not_found, fmt::format("no file matches '{}'{}", path, shell_hint(path))};
}

}  // namespace

std::vector<Result<std::vector<ListedFile>>> expand_each(const std::vector<std::string>& patterns,
                                                         const std::string& folder, FolderLists& lists) {
  std::vector<Result<std::vector<ListedFile>>> out;
  GlobBudget budget;
  const bool ask = count_named(patterns) <= max_files_asked;
  for (const std::string& pattern : patterns) {
    out.push_back(expand_one(pattern, folder, budget, ask, lists));
    if (budget.names < 0) break;
  }
  return out;
}

Result<std::vector<std::string>> expand(const std::vector<std::string>& patterns, const std::string& folder) {
  std::vector<std::string> out;
  std::vector<Error> faults;
  FolderLists lists;
  for (auto& found : expand_each(patterns, folder, lists)) {
    if (found.ok())
      std::ranges::transform(*found, std::back_inserter(out), [](ListedFile& file) { return std::move(file.path); });
    else
      faults.push_back(found.error());
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return out;
}

Result<std::vector<std::string>> read_list(const std::string& path) {
  FOREBAY_DO(check_path(path));
  FOREBAY_TRY(std::string text, read_text(path));
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const std::string folder = parent(path);
  std::vector<std::string> out;
  std::int32_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line{strip(rest.substr(0, end))};
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty()) continue;
    FOREBAY_DO(check_path(line).at(Place{.file = path, .line = number, .column = 1}));
    out.push_back(resolve(stores::without_signature(line), folder));
  }
  if (out.empty()) {
    return Error{Code::config, Detail::invalid_argument, fmt::format("the list file '{}' names no file", path),
                 Place{.file = path}};
  }
  return out;
}

namespace {

/// Every file below a local folder whose name ends so, sorted bytewise.
Result<std::vector<std::string>> find_local_files(const std::string& folder, std::string_view suffix) {
  FOREBAY_TRY(const std::string root, real_folder(folder));
  std::vector<std::string> out;
  std::vector<std::string> waiting{root};
  while (!waiting.empty()) {
    const std::string here = std::move(waiting.back());
    waiting.pop_back();
    FOREBAY_TRY(const std::vector<Entry> entries, list_folder(here));
    for (const Entry& entry : entries) {
      std::string path = resolve(entry.name, here);
      if (entry.kind == Entry::Kind::folder) {
        if (entry.name != store_folder) waiting.push_back(std::move(path));
      } else if (entry.kind != Entry::Kind::link_to_folder && ends_with_in_any_case(entry.name, suffix)) {
        out.push_back(std::move(path));
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<std::vector<std::string>> find_files(const std::string& folder, std::string_view suffix) {
  FOREBAY_DO(check_path(folder));
  std::vector<std::string> out;
  if (FileSystem* const system = stores::file_system_of(folder)) {
    FOREBAY_TRY(auto files,
                stores::list({.system = system, .path = folder.ends_with('/') ? folder : folder + "/", .deep = true}));
    const std::string hidden = fmt::format("/{}/", store_folder);
    for (ListedFile& file : files) {
      if (ends_with_in_any_case(base_name(file.path), suffix) && file.path.find(hidden) == std::string::npos)
        out.push_back(std::move(file.path));
    }
    std::sort(out.begin(), out.end());
  } else {
    FOREBAY_TRY(out, find_local_files(folder, suffix));
  }
  if (!out.empty()) return out;
  return Error{Code::config, Detail::not_found, fmt::format("no file ending in '{}' in '{}' or below", suffix, folder),
               Place{.file = folder}};
}

}  // namespace forebay::io
