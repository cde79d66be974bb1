// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/draw.h"
#include "config/utf8.h"
#include "engine/memory/each_file.h"
#include "engine/read/file_versions.h"
#include "engine/requests/known_versions.h"
#include "engine/requests/open_file.h"
#include "io/file.h"
#include "io/identity.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_text = 1024;   // bytes of `each` in a state
constexpr std::size_t text_a_file = 20;  // besides the name
constexpr std::size_t max_changes = 8;
constexpr std::size_t files_a_piece = 1024;
constexpr std::int64_t threads_asking = 8;  // a network file system answers several questions in the time of one

static_assert(FileSize::missing == missing_file);

/// The files of a run and their sizes by number.
struct Listed {
  std::span<const std::string> files;
  std::span<const std::int64_t> sizes;

  [[nodiscard]] std::string_view name(std::size_t i) const {
    std::string_view out = files[i];
    out.remove_prefix(out.rfind('/') + 1);
    return out;
  }
  [[nodiscard]] std::int64_t size(std::size_t i) const { return std::max(sizes[i], missing_file); }
  [[nodiscard]] std::vector<FileSize> all() const {
    std::vector<FileSize> out;
    out.reserve(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) out.push_back({.name = std::string{name(i)}, .size = size(i)});
    return out;
  }
};

std::uint64_t hash_of(std::string_view text) { return mix(io::fnv1a(std::as_bytes(std::span{text}))); }

std::uint64_t digest_of(std::string_view name, std::int64_t size) {
  return mix(hash_of(name) ^ mix(static_cast<std::uint64_t>(size)));
}

std::uint32_t half_digest_of(std::string_view name, std::int64_t size) {
  return static_cast<std::uint32_t>(digest_of(name, size));
}

std::size_t group_of(std::string_view name) { return hash_of(name) % SourceSizes::groups_of_files; }

/// Whether every JSON library gives back this text, and in as many bytes.
bool plain_text(std::string_view text) {
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = config::utf8_length(text);
    if (length == 0 || text[0] == '"' || text[0] == '\\' || (text[0] >= 0 && text[0] < ' ') || text[0] == 127)
      return false;
  }
  return true;
}

bool fits(const Listed& listed) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < listed.files.size(); ++i) {
    bytes += listed.name(i).size() + text_a_file;
    if (bytes > max_text || !plain_text(listed.name(i))) return false;
  }
  return true;
}

std::vector<FileGroup> group(const Listed& listed) {
  std::vector<FileGroup> out(SourceSizes::groups_of_files);
  for (std::size_t i = 0; i < listed.files.size(); ++i) {
    FileGroup& group = out[group_of(listed.name(i))];
    ++group.files;
    group.bytes += listed.size(i);
    group.digest += half_digest_of(listed.name(i), listed.size(i));
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
  const std::uint32_t difference = now.digest - then.digest;
  for (const FileSize& file : files) {
    const std::uint32_t digest = half_digest_of(file.name, file.size);
    if (now.files == then.files && digest - half_digest_of(file.name, file.size - grown) == difference)
      return changed_text(file, file.size - grown);
    if (now.files == then.files + 1 && digest == difference) return came_text(file);
  }
  if (now.files + 1 == then.files) return fmt::format("a file of {} bytes is not there any more", -grown);
  if (files.empty()) return fmt::format("{} files are not there any more", then.files);
  return fmt::format("several files changed among {} like '{}'", files.size(), files.front().name);
}

std::vector<std::string> compare_groups(const std::vector<FileGroup>& then, const Listed& listed) {
  const std::vector<FileGroup> now = group(listed);
  const std::vector<FileSize> files = listed.all();
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

std::optional<StoredVersions> versions_of(std::span<const std::string> files, const KnownVersions& known) {
  StoredVersions out;
  bool any = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (stores::file_system_of(files[i]) == nullptr) continue;
    const auto found = known.find(files[i]);
    if (!found) return std::nullopt;
    any = true;
    out.where = mix(out.where ^ hash_of(files[i]) ^ i);
    out.groups[i % StoredVersions::groups_of_files] += static_cast<std::uint32_t>(mix(found->version ^ mix(i)));
  }
  return any ? std::optional{out} : std::nullopt;
}

}  // namespace

SourceSizes summary(std::span<const std::string> files, std::span<const std::int64_t> sizes,
                    const std::shared_ptr<KnownVersions>& known) {
  const Listed listed{.files = files, .sizes = sizes};
  SourceSizes out;
  std::string text;
  for (std::size_t i = 0; i < files.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}\n{}\n", listed.name(i), listed.size(i));
    if (listed.size(i) == FileSize::missing) continue;
    ++out.files;
    out.bytes += listed.size(i);
  }
  out.digest = io::fnv1a(std::as_bytes(std::span{text}));
  if (fits(listed)) {
    out.each = listed.all();
  } else {
    out.groups = group(listed);
  }
  if (known) out.versions = versions_of(files, *known);
  return out;
}

std::string replaced_since(const SourceSizes& then, const SourceSizes& now, std::span<const std::string> files) {
  if (!then.versions || !now.versions || then.versions->where != now.versions->where) return {};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < StoredVersions::groups_of_files; ++i) {
    if (then.versions->groups[i] == now.versions->groups[i]) continue;
    const std::size_t others = (files.size() - 1 - i) / StoredVersions::groups_of_files;
    out.push_back(others == 0 ? fmt::format("'{}'", files[i])
                              : fmt::format("one of '{}' and the {} of every {}th file after it", files[i], others,
                                            StoredVersions::groups_of_files));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string changes_since(const SourceSizes& then, std::span<const std::string> files,
                          std::span<const std::int64_t> sizes) {
  const Listed now{.files = files, .sizes = sizes};
  const bool groups = then.groups.size() == SourceSizes::groups_of_files;
  std::vector<std::string> out = groups ? compare_groups(then.groups, now) : compare(then.each, now.all());
  if (out.empty()) return "the same files come in another order";
  if (out.size() > max_changes) {
    const std::size_t more = out.size() - max_changes;
    out.resize(max_changes);
    out.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

namespace {

/// Asks for the sizes of the files that are not local, all together.
void ask_requested(const std::vector<std::string>& files, std::span<std::int64_t> sizes,
                   const std::shared_ptr<KnownVersions>& known) {
  std::vector<std::string> paths;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (sizes[i] != unknown_size || stores::file_system_of(files[i]) == nullptr) continue;
    paths.push_back(files[i]);
    numbers.push_back(i);
  }
  if (paths.empty()) return;
  const auto found = find_files(paths, {}, known);
  for (std::size_t i = 0; i < found.size(); ++i) sizes[numbers[i]] = found[i].ok() ? found[i]->size : missing_file;
}

}  // namespace

void ask_sizes(const Source& source, std::span<std::int64_t> sizes, const std::shared_ptr<KnownVersions>& known) {
  if (source.rows) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const RowPart& part = source.rows->parts[i];
      sizes[i] = part.rows ? part.in_memory() : part.count.value_or(0);
    }
    return;
  }
  const std::vector<std::string>& files = source.files;
  ask_requested(files, sizes, known);
  const auto piece = [&](std::size_t number) {
    const std::size_t end = std::min(files.size(), (number + 1) * files_a_piece);
    for (std::size_t i = number * files_a_piece; i < end; ++i) {
      if (sizes[i] != unknown_size) continue;
      const auto size = io::file_size(files[i]);
      sizes[i] = size.ok() ? *size : missing_file;
    }
  };
  const std::size_t pieces = (files.size() + files_a_piece - 1) / files_a_piece;
  if (pieces == 1) return piece(0);
  static_cast<void>(each_file(
      {.files = pieces, .threads = threads_asking}, [&](std::size_t number, const std::stop_token&) { piece(number); },
      [] { return true; }));
}

std::vector<std::string> data_files(const Program& program) {
  if (program.made) return data_files(*program.made);
  if (program.branches.empty()) return program.source.files;
  std::vector<std::string> out;
  for (const Program& branch : program.branches) {
    const std::vector<std::string> files = data_files(branch);
    out.insert(out.end(), files.begin(), files.end());
  }
  return out;
}
void ask_sizes(const Program& program, std::span<std::int64_t> sizes) {
  if (program.made) return ask_sizes(*program.made, sizes);
  if (program.branches.empty()) return ask_sizes(program.source, sizes, program.known);
  std::size_t first = 0;
  for (const Program& branch : program.branches) {
    const std::size_t files = data_files(branch).size();
    ask_sizes(branch, sizes.subspan(first, files));
    first += files;
  }
}
std::vector<std::int64_t> ask_sizes(const Source& source) {
  std::vector<std::int64_t> out(source.files.size(), unknown_size);
  ask_sizes(source, out);
  return out;
}

std::vector<std::int64_t> ask_sizes(const Program& program) {
  std::vector<std::int64_t> out(data_files(program).size(), unknown_size);
  ask_sizes(program, out);
  return out;
}

}  // namespace forebay::engine
