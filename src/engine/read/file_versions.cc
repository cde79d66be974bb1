// SPDX-License-Identifier: Apache-2.0
#include "engine/read/file_versions.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"

namespace forebay::engine {

Result<void> settle(const io::File& file, bool look_again) {
  const auto wait = file.settles_in();
  if (wait.count() > 0) {
    const auto until = std::chrono::steady_clock::now() + wait;
    Mutex mutex;
    Condition tick;  // nothing notifies it
    const Lock lock{mutex};
    while (std::chrono::steady_clock::now() < until) tick.wait_until(mutex, until);
  }
  return look_again || wait.count() > 0 ? file.unchanged() : Result<void>{};
}

FileVersions::Version FileVersions::version_of(const io::File::Identity& identity) {
  const std::uint64_t name = mix(mix(identity.device) ^ identity.inode);
  std::uint64_t all = mix(name ^ static_cast<std::uint64_t>(identity.size));
  all = mix(all ^ static_cast<std::uint64_t>(identity.modified_ns));
  all = mix(all ^ static_cast<std::uint64_t>(identity.changed_ns));
  return {.name = name, .all = mix(all ^ identity.version), .size = identity.size, .known = true, .mapped = false};
}

Error FileVersions::changed(std::size_t number, const char* when) const {
  return Error{Code::data, Detail::failed_precondition,
               fmt::format("the file changed while it was read: {} its size, times or inode are not those of the first "
                           "opening; leave files alone while they are read",
                           when),
               Place{.file = paths_[number]}};
}

FileVersions::Version& FileVersions::at(std::uint32_t number) {
  if (number >= versions_.size()) versions_.resize(number + std::size_t{1});
  return versions_[number];
}

void FileVersions::failed(std::uint32_t number) {
  const auto size = io::file_size(paths_[number]);  // a file that may not be opened has one
  indexed(number, size.ok() ? *size : missing_file);
}

void FileVersions::indexed(std::uint32_t number, std::int64_t size) {
  const Lock lock{mutex_};
  Version& version = at(number);
  if (version.size == unknown_size) version.size = size;
}

std::vector<std::int64_t> FileVersions::sizes() const {
  std::vector<std::int64_t> out(paths_.size(), unknown_size);
  const Lock lock{mutex_};
  std::transform(versions_.begin(), versions_.end(), out.begin(), [](const Version& version) { return version.size; });
  return out;
}

Result<void> FileVersions::opened(std::uint32_t number, const io::File::Identity& identity) {
  const Version now = version_of(identity);
  const Lock lock{mutex_};
  Version& first = at(number);
  if (!first.known) {
    const std::int64_t size = first.size;
    first = now;
    if (size != unknown_size) first.size = size;
  }
  if (first.all == now.all) return {};
  return changed(number, "in a later pass");
}

void FileVersions::mapped(std::uint32_t number) {
  const Lock lock{mutex_};
  versions_[number].mapped = true;
}

void FileVersions::verified(std::uint32_t number) {
  const Lock lock{mutex_};
  at(number).verified = true;
}

bool FileVersions::is_verified(std::uint32_t number) const {
  const Lock lock{mutex_};
  return number < versions_.size() && versions_[number].verified;
}

Result<bool> FileVersions::look_again(std::optional<std::chrono::steady_clock::time_point> deadline) {
  for (;; ++looked_) {
    Version first;
    {
      const Lock lock{mutex_};
      if (looked_ >= versions_.size()) return true;
      first = versions_[looked_];
    }
    if (!first.mapped) continue;
    if (deadline && std::chrono::steady_clock::now() > *deadline) return false;
    const auto identity = io::File::identity_at(paths_[looked_]);
    if (!identity.ok()) continue;
    const Version now = version_of(*identity);
    if (now.name == first.name && now.all != first.all) return changed(looked_, "at the end of the run");
  }
}

}  // namespace forebay::engine
