// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

namespace forebay::io {

/// One name in a folder; "." and ".." are never among them.
struct Entry {
  enum class Kind : std::uint8_t { file, folder, link_to_folder };  ///< Whatever is not a folder counts as a file.
  std::string name;
  Kind kind = Kind::file;
};

/// What is in a folder, in no order.
[[nodiscard]] Result<std::vector<Entry>> list_folder(const std::string& path);
/// The folder's absolute path without links; fails for what is missing or not a folder.
[[nodiscard]] Result<std::string> real_folder(const std::string& path);
[[nodiscard]] Result<std::string> real_path(const std::string& path);  ///< Absolute, without links; it must exist.
/// Makes the folder and what is missing above it, for this user alone; one that is there stays as it is.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);
[[nodiscard]] bool ends_with_in_any_case(std::string_view name, std::string_view suffix);

/// How much work patterns may be, in names looked at, so that none (such as */../*/../*) runs for ever.
struct GlobBudget {
  std::int64_t names = 4'000'000;
};

/// The paths that match, sorted bytewise; none is no error here, but a folder on the way that may not be read is one.
[[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern, const std::string& folder,
                                                    GlobBudget& budget);

}  // namespace forebay::io
