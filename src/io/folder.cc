// SPDX-License-Identifier: Apache-2.0
#include "io/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "io/file.h"

namespace forebay::io {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Entry::Kind kind_of(const std::string& folder, const dirent& item) {
  if (item.d_type != DT_UNKNOWN && item.d_type != DT_LNK) {
    return item.d_type == DT_DIR ? Entry::Kind::folder : Entry::Kind::file;
  }
  const std::string path = folder + "/" + item.d_name;
  struct stat status {};
  if (item.d_type == DT_UNKNOWN && ::lstat(path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) {
    return S_ISDIR(status.st_mode) ? Entry::Kind::folder : Entry::Kind::file;
  }
  if (::stat(path.c_str(), &status) != 0) return Entry::Kind::file;  // a broken link: opening it reports the error
  return S_ISDIR(status.st_mode) ? Entry::Kind::link_to_folder : Entry::Kind::file;
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

Result<std::vector<Entry>> list_folder(const std::string& path) {
  const std::unique_ptr<DIR, CloseFolder> folder{::opendir(path.empty() ? "." : path.c_str())};
  if (!folder) return system_error("list the folder", path, errno);
  std::vector<Entry> out;
  for (;;) {
    errno = 0;
    const dirent* const item = ::readdir(folder.get());  // NOLINT: no other thread uses this DIR
    if (item == nullptr) break;
    const std::string_view name{item->d_name};
    if (name == "." || name == "..") continue;
    out.push_back({.name = std::string{name}, .kind = kind_of(path.empty() ? "." : path, *item)});
  }
  if (errno != 0) return system_error("list the folder", path, errno);
  return out;
}

Result<std::string> real_path(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return system_error("open", path, errno);
  std::string out{real};
  ::free(real);  // NOLINT: realpath's memory
  return out;
}

Result<std::string> real_folder(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return system_error("open the folder", path, errno);
  std::string out{real};
  ::free(real);  // NOLINT: realpath's memory
  struct stat status {};
  if (::stat(out.c_str(), &status) != 0) return system_error("open the folder", path, errno);
  if (!S_ISDIR(status.st_mode)) return system_error("open the folder", path, ENOTDIR);
  return out;
}

Result<void> make_private_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == std::string::npos) {
      return system_error("make the folder", part, errno);
    }
    if (end == std::string::npos) break;
  }
  FOREBAY_DO(real_folder(path));
  return {};
}

bool ends_with_in_any_case(std::string_view name, std::string_view suffix) {
  if (name.size() < suffix.size()) return false;
  return std::equal(suffix.begin(), suffix.end(), name.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                    [](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace forebay::io
