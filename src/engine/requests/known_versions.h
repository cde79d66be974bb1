// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "engine/memory/sync.h"
#include "io/file_system.h"
#include "io/identity.h"

namespace forebay::engine {

/// The versions of files of stores, as the plan has found them in lists and when it looked into files, and as the runs
/// of one loader have found them since it was started or restored: a run that `seek` begins asks for none again. What
/// reads a range finds out that a file was replaced since then. Versions that a store does not tell are not kept.
/// Thread-safe.
class KnownVersions {
 public:
  using Identity = io::RandomAccessFile::Identity;

  [[nodiscard]] std::shared_ptr<KnownVersions> copy() const EXCLUDES(mutex_) {
    auto out = std::make_shared<KnownVersions>();
    const Lock lock{mutex_};
    const Lock of_copy{out->mutex_};
    out->versions_ = versions_;
    out->without_indexes_ = without_indexes_;
    return out;
  }
  void add(const std::string& path, const Identity& found) EXCLUDES(mutex_) {
    if (found.version == 0) return;
    const Lock lock{mutex_};
    versions_[key(path)] = {.size = found.size, .version = found.version};
  }
  [[nodiscard]] std::optional<Identity> find(const std::string& path) const EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    const auto found = versions_.find(key(path));
    if (found == versions_.end()) return std::nullopt;
    return Identity{.size = found->second.size, .version = found->second.version};
  }
  /// Folders with which no index is published (src/engine/index/published): nobody asks again.
  void add_without_indexes(const std::string& folder) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    without_indexes_.insert(folder);
  }
  [[nodiscard]] bool is_without_indexes(const std::string& folder) const EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    return without_indexes_.contains(folder);
  }

 private:
  /// A hash: paths of millions of files would take more memory than what is known of them.
  static std::uint64_t key(const std::string& path) { return io::fnv1a(std::as_bytes(std::span{path})); }
  struct Version {
    std::int64_t size;
    std::uint64_t version;
  };

  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Version> versions_ GUARDED_BY(mutex_);
  std::set<std::string> without_indexes_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
