// SPDX-License-Identifier: Apache-2.0
#include "decoders/json/json_tree.h"

#include <algorithm>

#include <fmt/format.h>
#include <forebay/messages.h>

namespace forebay::decoders {

std::string path_text(const std::vector<std::string>& path) { return fmt::format("{}", fmt::join(path, ".")); }

std::string JsonTree::add(const std::vector<std::string>& path, JsonLeaf leaf) {
  const int number = static_cast<int>(leaves.size());
  std::size_t at = 0;
  std::vector<std::size_t> passed;
  for (const std::string& name : path) {
    if (nodes[at].leaf != none)
      return fmt::format("leads through {}, whose value is a tensor",
                         quote(leaves[static_cast<std::size_t>(nodes[at].leaf)].where));
    passed.push_back(at);
    const auto found = std::ranges::find(nodes[at].members, name, &std::pair<std::string, int>::first);
    if (found != nodes[at].members.end()) {
      at = static_cast<std::size_t>(found->second);
    } else {
      const std::size_t made = nodes.size();
      nodes[at].members.emplace_back(name, static_cast<int>(made));
      nodes.emplace_back();
      at = made;
    }
  }
  if (nodes[at].leaf != none || !nodes[at].members.empty())
    return fmt::format("{} is already the path of another tensor, or part of it", quote(leaf.where));
  nodes[at].leaf = number;
  for (const std::size_t node : passed) nodes[node].below.push_back(number);
  leaves.push_back(std::move(leaf));
  return {};
}

int JsonTree::member(int node, std::string_view name, std::size_t& expected) const {
  const auto& members = nodes[static_cast<std::size_t>(node)].members;
  for (std::size_t tried = 0; tried < members.size(); ++tried) {
    if (expected >= members.size()) expected = 0;
    const auto& [known, number] = members[expected++];
    if (known == name) return number;
  }
  return none;
}

}  // namespace forebay::decoders
