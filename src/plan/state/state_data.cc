// SPDX-License-Identifier: Apache-2.0
#include "plan/state/state_data.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forebay::plan {
namespace {

using engine::FileGroup;
using engine::FileSize;
using engine::SourceSizes;
using engine::StoredVersions;

constexpr std::int64_t max_size = std::int64_t{1} << 60;  // bytes; sums and differences of two do not overflow

Error corrupt_data(std::string_view what) {
  return Error{Code::state, Detail::data_loss, fmt::format("corrupt state: {}", what)};
}

std::string digits_of(std::uint64_t digest) { return hex(digest); }
std::string digits_of(std::uint32_t digest) { return fmt::format("{:08x}", digest); }

template <class T>
Result<T> read_hex(const std::string& text) {
  T out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (failure == std::errc{} && end == text.data() + text.size() && digits_of(out) == text) return out;
  return corrupt_data(fmt::format("a digest of 'data' must have {} digits of 0 to 9 and a to f", 2 * sizeof(T)));
}

bool is_size(const Json& json) {
  return json.is(Json::Kind::integer) && json.integer() >= -max_size && json.integer() <= max_size;
}

Result<FileSize> read_file_size(const Json& json) {
  if (json.is(Json::Kind::array) && json.items().size() == 2 && json.items()[0].is(Json::Kind::string) &&
      is_size(json.items()[1]))
    return FileSize{.name = json.items()[0].string(), .size = json.items()[1].integer()};
  return corrupt_data("an entry of 'each' must be a name and a size");
}

Result<FileGroup> read_group(const Json& json) {
  if (json.is(Json::Kind::array) && json.items().size() == 3 && is_size(json.items()[0]) && is_size(json.items()[1]) &&
      json.items()[2].is(Json::Kind::string)) {
    FOREBAY_TRY(const auto digest, read_hex<std::uint32_t>(json.items()[2].string()));
    return FileGroup{.files = json.items()[0].integer(), .bytes = json.items()[1].integer(), .digest = digest};
  }
  return corrupt_data("an entry of 'groups' must be two integers and a digest");
}

/// The digests, each of 8 digits.
std::string digits_of(const StoredVersions& versions) { return fmt::format("{:08x}", fmt::join(versions.groups, "")); }

Result<StoredVersions> read_versions(const Json& json) {
  StoredVersions out;
  FOREBAY_TRY(const Json* const where, state_member(json, "where", Json::Kind::string, "a string"));
  FOREBAY_TRY(out.where, read_hex<std::uint64_t>(where->string()));
  FOREBAY_TRY(const Json* const digests, state_member(json, "digests", Json::Kind::string, "a string"));
  constexpr std::size_t digits = 8;
  const std::string& text = digests->string();
  for (std::size_t i = 0; i < out.groups.size() && text.size() == digits * out.groups.size(); ++i) {
    const char* const begin = text.data() + digits * i;
    std::from_chars(begin, begin + digits, out.groups[i], 16);
  }
  if (digits_of(out) == text) return out;
  return corrupt_data(fmt::format("'digests' must have {} digits of 0 to 9 and a to f", digits * out.groups.size()));
}

template <class T>
Result<std::vector<T>> read_list(const Json& list, Result<T> (*read)(const Json&)) {
  std::vector<T> out;
  for (const Json& item : list.items()) {
    FOREBAY_TRY(T value, read(item));
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

Result<const Json*> state_member(const Json& object, const char* name, Json::Kind kind, const char* wanted) {
  const Json* found = object.find(name);
  if (found != nullptr && found->is(kind)) return found;
  return corrupt_data(fmt::format("'{}' must be {}, found {}", name, wanted,
                                  found == nullptr ? "nothing" : std::string{found->kind_name()}));
}

Result<std::int64_t> state_count(const Json& object, const char* name) {
  FOREBAY_TRY(const Json* const found, state_member(object, name, Json::Kind::integer, "an integer"));
  if (found->integer() >= 0) return found->integer();
  return corrupt_data(fmt::format("'{}' must not be negative, found {}", name, found->integer()));
}

Json data_json(const SourceSizes& sizes) {
  Json out = Json::object();
  out.set("files", sizes.files);
  out.set("bytes", sizes.bytes);
  out.set("digest", hex(sizes.digest));
  std::vector<Json> items;
  for (const FileSize& file : sizes.each) items.push_back(Json::array({Json{file.name}, Json{file.size}}));
  for (const FileGroup& group : sizes.groups)
    items.push_back(Json::array({Json{group.files}, Json{group.bytes}, Json{digits_of(group.digest)}}));
  out.set(sizes.groups.empty() ? "each" : "groups", Json::array(std::move(items)));
  if (sizes.versions) {
    Json versions = Json::object();
    versions.set("where", hex(sizes.versions->where));
    versions.set("digests", digits_of(*sizes.versions));
    out.set("versions", std::move(versions));
  }
  return out;
}

std::string data_text(const SourceSizes& sizes) {
  std::string out = fmt::format("{} {} {}\n", sizes.files, sizes.bytes, hex(sizes.digest));
  for (const FileSize& file : sizes.each) out += fmt::format("file {} {}\n", file.size, file.name);
  for (const FileGroup& group : sizes.groups)
    out += fmt::format("group {} {} {}\n", group.files, group.bytes, digits_of(group.digest));
  if (sizes.versions) out += fmt::format("versions {} {}\n", hex(sizes.versions->where), digits_of(*sizes.versions));
  return out;
}

Result<SourceSizes> read_data(const Json& json) {
  SourceSizes out;
  FOREBAY_TRY(out.files, state_count(json, "files"));
  FOREBAY_TRY(out.bytes, state_count(json, "bytes"));
  FOREBAY_TRY(const Json* const digest, state_member(json, "digest", Json::Kind::string, "a string"));
  FOREBAY_TRY(out.digest, read_hex<std::uint64_t>(digest->string()));
  if (json.find("versions") != nullptr) {
    FOREBAY_TRY(const Json* const versions, state_member(json, "versions", Json::Kind::object, "an object"));
    FOREBAY_TRY(out.versions, read_versions(*versions));
  }
  if (json.find("groups") != nullptr) {
    FOREBAY_TRY(const Json* const groups, state_member(json, "groups", Json::Kind::array, "a list"));
    FOREBAY_TRY(out.groups, read_list(*groups, &read_group));
    if (out.groups.size() == SourceSizes::groups_of_files) return out;
    return corrupt_data(
        fmt::format("'groups' must have {} entries, found {}", SourceSizes::groups_of_files, out.groups.size()));
  }
  FOREBAY_TRY(const Json* const each, state_member(json, "each", Json::Kind::array, "a list"));
  FOREBAY_TRY(out.each, read_list(*each, &read_file_size));
  return out;
}

}  // namespace forebay::plan
