// SPDX-License-Identifier: Apache-2.0
#include "decoders/faults/missing_feature.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <forebay/messages.h>

namespace forebay::decoders {
namespace {

using columns::Wire;

using Names = std::vector<std::string>;

/// Calls `visit` for the fields `number` of a message that hold bytes, up to a fault.
template <class Visit>
void each_field(Wire message, std::uint32_t number, Visit visit) {
  while (!message.empty()) {
    columns::Tag tag;
    Wire bytes;
    if (!columns::read_tag(message, tag)) return;
    if (tag != columns::tag_of(number, columns::WireType::bytes)) {
      if (!columns::skip_field(message, tag)) return;
    } else if (!columns::read_bytes(message, bytes)) {
      return;
    } else {
      visit(bytes);
    }
  }
}

/// The keys of the maps in field `number`, sorted. A record with very many of them shows the first ones.
Names names_in(Wire record, std::uint32_t number) {
  constexpr std::size_t max_names = 1000;
  Names names;
  each_field(record, number, [&](Wire map) {
    each_field(map, 1, [&](Wire entry) {
      each_field(entry, 1, [&](Wire key) {
        if (names.size() < max_names) names.emplace_back(reinterpret_cast<const char*>(key.at), key.size());
      });
    });
  });
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool has(const Names& names, const std::string& key) { return std::ranges::binary_search(names, key); }

/// "; did you mean 'x'? The record has: 'x', 'y'"
std::string instead(const Names& names, const std::string& key, const char* what) {
  if (names.empty()) return fmt::format("; it has no {}", what);
  Names quoted;
  for (const std::string& name : names) quoted.push_back(quote(name));
  const std::string near = hint(key, names);
  const std::string all = among({}, quoted, fmt::format("its {} are", what));
  return near.empty() ? all : near + all.substr(1);
}

}  // namespace

std::string about_missing(Wire record, Looked looked, const std::string& key, const std::string& cure) {
  const Names features = names_in(record, 1);
  const Names lists = names_in(record, 2);
  const bool in_lists = looked == Looked::lists;
  if (looked == Looked::example && !lists.empty() && !has(features, key))
    return "; the record has feature lists, so it is a tf.train.SequenceExample: decode it with sequence_example";
  if (in_lists && lists.empty() && !features.empty())
    return "; the record has no feature lists, so it is a tf.train.Example: decode it with example";
  if (looked != Looked::example && has(in_lists ? features : lists, key))
    return in_lists ? "; it is in the context of the record, not among its lists"
                    : "; it is among the lists of the record, not in its context";
  if (!in_lists && has(features, key)) return "; it is there without a kind, which counts as missing; " + cure;
  if (features.empty() && lists.empty()) return "; the record has no features at all; " + cure;
  return instead(in_lists ? lists : features, key, in_lists ? "lists" : "features") + "; where records may lack it, " +
         cure;
}

}  // namespace forebay::decoders
