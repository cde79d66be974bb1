// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include <forebay/file_system.h>

#include "engine/memory/sync.h"
#include "engine/requests/list_check.h"
#include "io/file_system.h"
#include "io/identity.h"

namespace forebay::engine {

/// The versions of files of stores, as the plan has found them in lists and when it looked into files, and as the runs
/// of one loader have found them since it was started or restored: a run that `seek` begins asks for none again. What
/// reads a range finds out that a file was replaced since then. Versions that a store does not tell are not kept; those
/// of lists count when one file of the bucket has said the same (ListCheck). Thread-safe.
class KnownVersions {
 public:
  using Identity = io::RandomAccessFile::Identity;

  [[nodiscard]] std::shared_ptr<KnownVersions> copy() const EXCLUDES(mutex_) {
    auto out = std::make_shared<KnownVersions>();
    const Lock lock{mutex_};
    const Lock of_copy{out->mutex_};
    out->versions_ = versions_;
    out->checks_ = checks_;
    out->without_indexes_ = without_indexes_;
    return out;
  }
  void add(const std::string& path, const Identity& found) EXCLUDES(mutex_) {
    if (found.version == 0) return;
    const Lock lock{mutex_};
    versions_[key(path)] = {.size = found.size, .version = found.version};
  }
  /// Adds what a list tells. The first file of each bucket is asked for.
  void add_listed(FileSystem& system, const std::string& path, const Identity& told) EXCLUDES(mutex_) {
    if (told.version == 0) return;
    std::shared_ptr<ListCheck> check;
    {
      const Lock lock{mutex_};
      versions_.try_emplace(key(path), Version{.size = told.size, .version = told.version, .listed = true});
      const auto [at, anew] = checks_.try_emplace(bucket_of(path));
      if (anew) check = at->second = std::make_shared<ListCheck>();
    }
    if (check) check->begin(system, path, {.size = told.size, .version = told.version});
  }
  [[nodiscard]] std::optional<Identity> find(const std::string& path) const EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    const auto found = versions_.find(key(path));
    if (found == versions_.end()) return std::nullopt;
    if (found->second.listed && checks_.at(bucket_of(path))->state() != ListCheck::State::equal) return std::nullopt;
    return Identity{.size = found->second.size, .version = found->second.version};
  }
  /// Calls `done` when it is known whether the version counts that a list has told of the file, from any thread. False:
  /// no list has told one, or it is known.
  [[nodiscard]] bool call_when_checked(const std::string& path, std::function<void()> done) const EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    const auto found = versions_.find(key(path));
    return found != versions_.end() && found->second.listed &&
           checks_.at(bucket_of(path))->call_when_done(std::move(done));
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
  static std::string bucket_of(const std::string& path) { return path.substr(0, path.find('/', path.find("://") + 3)); }
  struct Version {
    std::int64_t size;
    std::uint64_t version;
    bool listed = false;
  };

  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Version> versions_ GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<ListCheck>> checks_ GUARDED_BY(mutex_);  // by bucket
  std::set<std::string> without_indexes_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
