// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::tests {

/// A temporary folder; the destructor removes it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "forebay-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file (and the folders of its path) and returns its path.
  std::string write(const std::string& name, std::string_view bytes = {}) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << bytes;
    return path.string();
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator{path_})
      out.push_back(entry.path().filename().string());
    return out;
  }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream{path, std::ios::binary}.rdbuf();
  return out.str();
}

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace forebay::tests
