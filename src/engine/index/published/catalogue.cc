// SPDX-License-Identifier: Apache-2.0
#include "engine/index/published/catalogue.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <forebay/json.h>

namespace forebay::engine {

namespace {

constexpr std::int64_t max_offset = std::int64_t{1} << 62;

Error no_catalogue(std::string_view what) {
  return Error{Code::data, Detail::data_loss, fmt::format("the catalogue is corrupt: {}", what)};
}

/// A number from 0 on, or from -1 on.
std::optional<std::int64_t> number(const Json& file, std::string_view name, std::int64_t smallest = 0) {
  const Json* const value = file.find(name);
  if (value == nullptr || !value->is(Json::Kind::integer) || value->integer() < smallest ||
      value->integer() > max_offset)
    return std::nullopt;
  return value->integer();
}

std::optional<std::uint64_t> hash(const Json& file, std::string_view name) {
  const Json* const value = file.find(name);
  if (value == nullptr || !value->is(Json::Kind::string)) return std::nullopt;
  const std::string& text = value->string();
  std::uint64_t out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<io::FileIdentity> identity_of(const Json& file) {
  const auto size = number(file, "size");
  if (!size) return std::nullopt;
  if (const auto version = hash(file, "version"))
    return io::FileIdentity{.size = *size, .head = *version, .tail = io::FileIdentity::of_version};
  const auto head = hash(file, "head");
  const auto tail = hash(file, "tail");
  const auto modified = number(file, "modified_ns", -max_offset);
  if (!head || !tail || !modified) return std::nullopt;
  return io::FileIdentity{.size = *size, .modified_ns = *modified, .head = *head, .tail = *tail};
}

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace

Result<Catalogue> Catalogue::parse(std::string_view text) {
  auto json = parse_json(text);
  if (!json.ok()) return no_catalogue(json.error().message());
  const Json* const files = json->is(Json::Kind::object) ? json->find("files") : nullptr;
  if (files == nullptr || !files->is(Json::Kind::array)) return no_catalogue("it has no list of files");
  Catalogue out;
  for (const Json& file : files->items()) {
    const Json* const name = file.is(Json::Kind::object) ? file.find("name") : nullptr;
    if (name == nullptr || !name->is(Json::Kind::string)) return no_catalogue("a file has no name");
    const auto identity = identity_of(file);
    const auto records = number(file, "records", -1);
    const auto offset = number(file, "offset");
    const auto bytes = number(file, "bytes");
    if (!identity || !records || !offset || !bytes || *bytes == 0 || *offset > max_offset - *bytes)
      return no_catalogue("a member of a file is not what it should be");
    out.add(name->string(), {.identity = *identity, .records = *records, .entries = {*offset, *bytes}});
  }
  return out;
}

const CatalogueEntry* Catalogue::find(const std::string& name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

std::string Catalogue::text() const {
  std::string out = "{\"files\": [";
  const char* between = "\n";
  for (const auto& [name, entry] : files_) {
    const io::FileIdentity& identity = entry.identity;
    Json file = Json::object();
    file.set("name", name);
    file.set("size", identity.size);
    if (identity.is_version()) {
      file.set("version", hex(identity.head));
    } else {
      file.set("modified_ns", identity.modified_ns);
      file.set("head", hex(identity.head));
      file.set("tail", hex(identity.tail));
    }
    file.set("records", entry.records);
    file.set("offset", entry.entries.offset);
    file.set("bytes", entry.entries.bytes);
    out += std::exchange(between, ",\n") + file.text();
  }
  return out + "\n]}\n";
}

}  // namespace forebay::engine
