// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/draw.h"
#include "config/utf8.h"
#include "io/file.h"
#include "io/identity.h"
#include "io/paths.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_text = 1024;   // bytes of `each` in a state
constexpr std::size_t text_a_file = 20;  // besides the name
constexpr std::size_t max_changes = 8;

std::uint64_t hash_of(std::string_view text) { return mix(io::fnv1a(std::as_bytes(std::span{text}))); }

std::uint64_t digest_of(std::string_view name, std::int64_t size) {
  return mix(hash_of(name) ^ mix(static_cast<std::uint64_t>(size)));
}

std::size_t group_of(std::string_view name) { return hash_of(name) % SourceSizes::groups_of_files; }

std::vector<FileSize> list(std::span<const std::string> files) {
  std::vector<FileSize> out;
  out.reserve(files.size());
  for (const std::string& path : files) {
    const auto size = io::file_size(path);
    out.push_back({.name = io::base_name(path), .size = size.ok() ? *size : FileSize::missing});
  }
  return out;
}

/// Whether every JSON library gives back this text, and in as many bytes.
bool plain_text(std::string_view text) {
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = config::utf8_length(text);
    if (length == 0 || text[0] == '"' || text[0] == '\\' || (text[0] >= 0 && text[0] < ' ') || text[0] == 127)
      return false;
  }
  return true;
}

bool fits(const std::vector<FileSize>& files) {
  std::size_t bytes = 0;
  for (const FileSize& file : files) {
    bytes += file.name.size() + text_a_file;
    if (bytes > max_text || !plain_text(file.name)) return false;
  }
  return true;
}

std::vector<FileGroup> group(const std::vector<FileSize>& files) {
  std::vector<FileGroup> out(SourceSizes::groups_of_files);
  for (const FileSize& file : files) {
    FileGroup& group = out[group_of(file.name)];
    ++group.files;
    group.bytes += file.size;
    group.digest += digest_of(file.name, file.size);
  }
  return out;
}

std::string size_text(std::int64_t size) {
  return size == FileSize::missing ? "missing" : fmt::format("{} bytes", size);
}
std::string changed_text(const FileSize& file, std::int64_t before) {
  if (file.size == FileSize::missing) return fmt::format("'{}' is missing, it had {}", file.name, size_text(before));
  if (before == FileSize::missing) return fmt::format("'{}' was missing, it has {}", file.name, size_text(file.size));
  return fmt::format("'{}' has {}, it had {}", file.name, size_text(file.size), before);
}
std::string came_text(const FileSize& file) { return fmt::format("'{}' is new", file.name); }

/// Compares two whole lists.
std::vector<std::string> compare(std::vector<FileSize> then, std::vector<FileSize> now) {
  std::ranges::sort(then);
  std::ranges::sort(now);
  std::vector<FileSize> went, came;
  std::ranges::set_difference(then, now, std::back_inserter(went));
  std::ranges::set_difference(now, then, std::back_inserter(came));
  std::vector<std::string> out;
  for (const FileSize& file : came) {
    const auto before = std::ranges::find(went, file.name, &FileSize::name);
    if (before == went.end()) {
      out.push_back(came_text(file));
    } else {
      out.push_back(changed_text(file, before->size));
      went.erase(before);
    }
  }
  for (const FileSize& file : went) out.push_back(fmt::format("'{}' is not there any more", file.name));
  return out;
}

/// Finds the one file of a group that changed or came. With several changes, or when a file went, there is no name.
std::string change_of(const FileGroup& then, const FileGroup& now, std::span<const FileSize> files) {
  const std::int64_t grown = now.bytes - then.bytes;
  const std::uint64_t difference = now.digest - then.digest;
  for (const FileSize& file : files) {
    const std::uint64_t digest = digest_of(file.name, file.size);
    if (now.files == then.files && digest - digest_of(file.name, file.size - grown) == difference)
      return changed_text(file, file.size - grown);
    if (now.files == then.files + 1 && digest == difference) return came_text(file);
  }
  if (now.files + 1 == then.files) return fmt::format("a file of {} bytes is not there any more", -grown);
  if (files.empty()) return fmt::format("{} files are not there any more", then.files);
  return fmt::format("several files changed among {} like '{}'", files.size(), files.front().name);
}

std::vector<std::string> compare_groups(const std::vector<FileGroup>& then, const std::vector<FileSize>& files) {
  const std::vector<FileGroup> now = group(files);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (then[i] == now[i]) continue;
    std::vector<FileSize> members;
    std::ranges::copy_if(files, std::back_inserter(members),
                         [&](const FileSize& file) { return group_of(file.name) == i; });
    out.push_back(change_of(then[i], now[i], members));
  }
  return out;
}

}  // namespace

SourceSizes inspect(std::span<const std::string> files) {
  SourceSizes out;
  std::vector<FileSize> found = list(files);
  std::string text;
  for (const FileSize& file : found) {
    text += fmt::format("{}\n{}\n", file.name, file.size);
    if (file.size == FileSize::missing) continue;
    ++out.files;
    out.bytes += file.size;
  }
  out.digest = io::fnv1a(std::as_bytes(std::span{text}));
  if (fits(found)) {
    out.each = std::move(found);
  } else {
    out.groups = group(found);
  }
  return out;
}

std::string changes_since(const SourceSizes& then, std::span<const std::string> files) {
  const std::vector<FileSize> now = list(files);
  const bool groups = then.groups.size() == SourceSizes::groups_of_files;
  std::vector<std::string> out = groups ? compare_groups(then.groups, now) : compare(then.each, now);
  if (out.empty()) return "the same files come in another order";
  if (out.size() > max_changes) {
    const std::size_t more = out.size() - max_changes;
    out.resize(max_changes);
    out.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace forebay::engine
