// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// What the label of a file comes from.
enum class LabelFrom : std::uint8_t { nothing, folder };
template <>
struct EnumNames<LabelFrom> {
  static constexpr std::array<std::string_view, 2> names{"nothing", "folder"};
};

/// Reads whole files: each is one record, whose key is its path. An order of files moves parts of 4,096 files.
struct WholeFile {
  Paths files;                            ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::int64_t max_file_bytes = 1 << 30;  ///< A larger file is an error, before memory is taken.
  /// folder: a tensor has the number of each file's folder in the sorted names of all their folders.
  LabelFrom label_from = LabelFrom::nothing;
  NewTensorName label = "label";  ///< Name of that tensor, int64.
  /// The names of the labels 0, 1, …, also of folders without files; empty: the sorted names of all folders.
  std::vector<std::string> classes = {};
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
