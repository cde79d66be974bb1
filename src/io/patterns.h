// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/error.h>
#include <forebay/file_system.h>

namespace forebay::io {

/// The files in folders of stores. Each folder is listed once. For one plan, on its thread.
class FolderLists {
 public:
  /// The files of a folder, as of stores::list; they stay as long as this object.
  [[nodiscard]] Result<std::span<const ListedFile>> of(FileSystem& system, const std::string& folder, bool deep);
  /// Lists the folders of patterns of stores, all at the same time. `of` asks again for one that cannot be listed.
  void ask(std::span<const std::string> patterns);

 private:
  std::map<std::pair<std::string, bool>, std::vector<ListedFile>> lists_;
};

/// Returns the result of io::expand for each pattern by itself, with the versions that lists of stores tell. A pattern
/// that takes too much work ends the list. A folder that may not be read fails with Code::io, as it might have a match.
[[nodiscard]] std::vector<Result<std::vector<ListedFile>>> expand_each(const std::vector<std::string>& patterns,
                                                                       const std::string& folder, FolderLists& lists);

/// Returns the files of a file system that a pattern names, sorted bytewise: `*`, `?` and `[…]` within a segment of the
/// path, `**` for any number of segments. The scheme and what stands before the first wildcard's folder are as they
/// are.
[[nodiscard]] Result<std::vector<ListedFile>> matching_files(FileSystem& system, const std::string& pattern,
                                                             FolderLists& lists);

/// The path that one text of a list of files names: the text has no wildcard, or a `\` before each. Empty for a
/// pattern, and for a text that ends in "@N". Nothing is asked of the file system.
[[nodiscard]] std::optional<std::string> named_path(const std::string& text, const std::string& folder);

/// The place of the first wildcard, `*`, `?` or `[`, that has no `\` before it; npos: there is none.
[[nodiscard]] std::size_t first_wildcard(std::string_view pattern);
/// The text with each `\` taken away, and what follows it as it is.
[[nodiscard]] std::string unescaped(std::string_view pattern);

/// Whether the text is the name of one local file as it is: it has no wildcard, `\`, "@", NUL byte or scheme, and is
/// not empty. Most lists have such names only.
[[nodiscard]] bool is_plain_name(std::string_view text);

/// The files that a list names are asked for before they are opened when there are at most this many.
inline constexpr std::size_t max_files_asked = 1000;

/// The current folder; empty when it is not known.
[[nodiscard]] std::string current_folder();

}  // namespace forebay::io
