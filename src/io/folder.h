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
  enum class Kind : std::uint8_t { file, folder, link_to_folder };  ///< Anything but a folder is a `file`.
  std::string name;
  Kind kind = Kind::file;
};

/// Lists the entries of a folder, in no order. Fails with Code::io.
[[nodiscard]] Result<std::vector<Entry>> list_folder(const std::string& path);
/// The folder's absolute path without links. Fails with Code::io when it does not exist or is not a folder.
[[nodiscard]] Result<std::string> real_folder(const std::string& path);
[[nodiscard]] Result<std::string> real_path(const std::string& path);  ///< Absolute, without links; it must exist.
/// Creates the folder and its missing parents, with access for this user only. An existing folder stays as it is.
[[nodiscard]] Result<void> make_private_folder(const std::string& path);
/// Whether `name` ends in `suffix`; upper and lower case of ASCII letters are equal.
[[nodiscard]] bool ends_with_in_any_case(std::string_view name, std::string_view suffix);

/// The work that patterns may still cause, so that no pattern (such as */../*/../*) runs for ever.
struct GlobBudget {
  std::int64_t names = 4'000'000;  ///< Names that may be compared. System calls count as several names.
};

/// Returns the paths that match a pattern, relative to `folder`, sorted bytewise; none is not an error. Takes the work
/// from `budget`. Fails with Code::io for a folder that may not be read, and with Code::config when the budget is used
/// up.
[[nodiscard]] Result<std::vector<std::string>> glob(const std::string& pattern, const std::string& folder,
                                                    GlobBudget& budget);

}  // namespace forebay::io
