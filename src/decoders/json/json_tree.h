// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/decoders/json.h>

namespace forebay::decoders {

/// A tensor, as the decoder `json` sees it.
struct JsonLeaf {
  ColumnId id = 0;
  std::string name;   ///< Of the tensor.
  std::string where;  ///< The path, for errors.
  DType dtype = DType::float32;
  Shape shape;
  std::optional<std::vector<std::byte>> default_value;  ///< Bytes of one element. Empty: the value is required.
};

/// The names that fields have in common are nodes of a tree; its leaves are the tensors.
///
///     fields a ["u", "x"], b ["u", "y"], c ["z"]        node 0 ─u─► node 1 ─x─► leaf a
///                                                              └z─► leaf c └y─► leaf b
struct JsonTree {
  static constexpr int none = -1;

  struct Node {
    std::vector<std::pair<std::string, int>> members = {};  ///< Names, and the nodes they lead to.
    int leaf = none;
    std::vector<int> below = {};  ///< All leaves below it.
  };

  std::vector<JsonLeaf> leaves;
  std::vector<Node> nodes{1};  ///< The first is the record.

  /// Adds a leaf. Returns what is wrong with its path, or nothing.
  [[nodiscard]] std::string add(const std::vector<std::string>& path, JsonLeaf leaf);
  /// The node of a member; `none`: no field reads it. `expected`: the number of the member that may come next.
  [[nodiscard]] int member(int node, std::string_view name, std::size_t& expected) const;
};

/// The names as errors show them: a.b.c
[[nodiscard]] std::string path_text(const std::vector<std::string>& path);

}  // namespace forebay::decoders
