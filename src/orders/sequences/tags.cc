// SPDX-License-Identifier: Apache-2.0
#include "orders/sequences/tags.h"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <forebay/json.h>
#include <forebay/messages.h>

#include "base/draw.h"

namespace forebay::orders {
namespace {

struct TagHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view tag) const { return std::hash<std::string_view>{}(tag); }
};
using TagSet = std::unordered_set<std::string, TagHash, std::equal_to<>>;
using TagNumbers = std::unordered_map<std::string, std::int64_t, TagHash, std::equal_to<>>;

Result<TextLookup::Find> read_tags(std::string_view content, const std::string& path) {
  auto tags = std::make_shared<TagSet>();
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    std::string_view line = content.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) tags->emplace(line);
    at = end + 1;
  }
  if (tags->empty())
    return Error{Code::config, Detail::invalid_argument, quote(path) + " names no tag; write one on each line"};
  return TextLookup::Find{[tags = std::shared_ptr<const TagSet>{std::move(tags)}](std::string_view tag) {
    return std::optional<std::int64_t>{tags->contains(tag) ? 1 : 0};
  }};
}

/// An integer that is in the order of integers where the number is in the order of numbers.
std::int64_t ordered_bits(double number) {
  const auto bits = std::bit_cast<std::int64_t>(number + 0.0);  // -0 becomes 0
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

Result<TextLookup::Find> read_lengths(std::string_view content, const std::string& path) {
  FOREBAY_TRY(const Json json, parse_json(content, path));
  const auto refuse = [&](const Json& at, const std::string& what) {
    return Error{Code::config, Detail::invalid_argument, what + ", found " + std::string{at.kind_name()}, at.place()};
  };
  if (!json.is(Json::Kind::object))
    return refuse(json, R"(lengths are a JSON object of tags and numbers, as {"a": 120, "b": 80})");
  auto lengths = std::make_shared<TagNumbers>();
  for (const auto& [tag, length] : json.members()) {
    if (!length.is(Json::Kind::integer) && !length.is(Json::Kind::number))
      return refuse(length, "the length of " + quote(tag) + " must be a number");
    lengths->emplace(tag, ordered_bits(length.number()));
  }
  return TextLookup::Find{[lengths = std::shared_ptr<const TagNumbers>{std::move(lengths)}](std::string_view tag) {
    const auto found = lengths->find(tag);
    return found == lengths->end() ? std::nullopt : std::optional{found->second};
  }};
}

/// Eight bytes at a time; the last ones are filled up with zeros, and the number of bytes is mixed in.
std::uint64_t hash_of_tag(std::string_view tag, std::uint64_t seed) {
  std::uint64_t hash = mix(seed + tag.size());
  for (std::size_t at = 0; at < tag.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, tag.data() + at, std::min(sizeof(word), tag.size() - at));
    hash = mix(hash ^ word);
  }
  return hash;
}

// Purposes of TextLookup::made_of.
constexpr std::uint64_t tags_of_file = 0x7461677301;
constexpr std::uint64_t lengths_of_file = 0x7461677302;
constexpr std::uint64_t halves_of_hash = 0x7461677310;

}  // namespace

TextLookup listed_tags(const DataFile& file) {
  return {.made_of = tags_of_file, .file = file, .option = {"seq_list_filter_file"}, .read = read_tags};
}

TextLookup lengths_by_tag(const DataFile& file) {
  return {.made_of = lengths_of_file,
          .missing = "'" + file + "' has no length of the tag",
          .file = file,
          .option = {"seq_order_seq_lens_file"},
          .read = read_lengths};
}

TextLookup half_of_hash(std::uint64_t half) {
  const std::uint64_t seed = mix(halves_of_hash + half);
  return {
      .find = [seed](std::string_view tag) { return std::optional{static_cast<std::int64_t>(hash_of_tag(tag, seed))}; },
      .made_of = seed};
}

}  // namespace forebay::orders
