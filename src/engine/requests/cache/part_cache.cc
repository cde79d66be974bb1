// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/cache/part_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <forebay/traffic.h>

#include "base/draw.h"
#include "engine/requests/answer_fault.h"
#include "io/folder.h"
#include "io/identity.h"
#include "stores/http/per_process.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_to_write = std::int64_t{64} << 20;  // bytes that wait for the disk
constexpr std::int64_t part_to_write = 8;                      // of the budget, at most one part in so many
// At a table that another process has locked, and for a part that it fetches.
constexpr std::chrono::milliseconds until_next_look{1};

/// The caches that runs of this process use now, by folder.
struct Caches {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<PartCache>> by_folder GUARDED_BY(mutex);
};

Caches& caches() {
  static stores::http::PerProcess<Caches> all;
  return all.get([] { return std::make_unique<Caches>(); });
}

PartKey key_of(const PartRead& read, std::int64_t part) {
  const auto& [size, version] = read.request.version;
  return {.file = io::fnv1a(std::as_bytes(std::span{read.request.path})),
          .version = mix(version) + static_cast<std::uint64_t>(size),
          .part = static_cast<std::uint64_t>(part)};
}

}  // namespace

/// A read and its answer, which is given once.
struct PartCache::Job {
  PartRead read;
  FileSystem::Answer answer;
  std::int64_t done = 0;  // bytes
  bool waited = false;    // for a part that was fetched

  [[nodiscard]] std::int64_t at() const { return read.request.offset + done; }
  [[nodiscard]] std::int64_t end() const { return read.request.offset + std::ssize(read.request.out); }
  [[nodiscard]] const PartTimes& times(std::int64_t part) const {
    return read.use->times[static_cast<std::size_t>(part - read.use->first_part)];
  }
  /// Takes the next bytes, as many as are left.
  void take(std::span<const std::byte> bytes) {
    bytes = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(end() - at())));
    std::memcpy(read.request.out.data() + done, bytes.data(), bytes.size());
    took(std::ssize(bytes));
  }
  void took(std::int64_t bytes) {
    done += bytes;
    if (!waited) read.request.traffic->cached(bytes);
  }
  void give(Result<std::size_t> result) {
    if (auto once = std::exchange(answer, {})) once(std::move(result));
  }
};

/// A range that is on its way from a store, and the parts of it that were claimed.
struct PartCache::Fetch {
  struct Part {
    PartKey key;
    std::int64_t at;  // in the range
    std::int64_t bytes;
  };
  FileSystem* system;
  ReadRequest request;
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<Job> job;  // the range is its own; null: it is a part that jobs wait for
  std::vector<Part> parts = {};
  std::size_t got = 0;
};

/// A part that was claimed. A read that needs it waits until its bytes have come, and then takes them from here until
/// they are on the disk.
struct PartCache::Coming {
  PartTable::Found claimed;
  std::span<const std::byte> bytes = {};   // empty: they have not come
  std::shared_ptr<std::byte> memory = {};  // owns them
  std::vector<std::shared_ptr<Job>> waiting = {};
};

Result<std::shared_ptr<PartCache>> PartCache::open(const CacheFolder& where, std::span<const std::string> files) {
  if (where.folder.empty() && where.bytes == 0) return std::shared_ptr<PartCache>{};
  const auto refuse_cache = [](std::string why) {
    return Error{Code::config, Detail::invalid_argument, "cache: " + std::move(why)};
  };
  if (where.folder.empty()) return refuse_cache("it has a size, and no folder");
  if (where.bytes < PartFile::min_bytes)
    return refuse_cache(fmt::format("must have at least {} bytes, found {}", PartFile::min_bytes, where.bytes));
  if (std::ranges::none_of(files, [](const auto& file) { return stores::file_system_of(file) != nullptr; }))
    return std::shared_ptr<PartCache>{};
  FOREBAY_DO(io::make_private_folder(where.folder));
  FOREBAY_TRY(const std::string folder, io::real_folder(where.folder));
  Caches& all = caches();
  const Lock lock{all.mutex};
  auto& known = all.by_folder[folder];
  if (auto out = known.lock()) return out;
  std::string notice;
  FOREBAY_TRY(auto table, PartTable::open(folder, where.bytes, notice));
  auto out = std::make_shared<PartCache>(std::move(table), std::move(notice));
  known = out;
  return out;
}

std::string PartCache::take_notice() {
  const Lock lock{mutex_};
  if (!notice_.empty()) return std::exchange(notice_, {});
  const std::string why = table_->fault();
  if (why.empty() || std::exchange(told_, true)) return {};
  return "the cache of files of other machines is off: " + why;
}

void PartCache::read(PartRead read, FileSystem::Answer answer) {
  add(std::make_shared<Job>(Job{.read = std::move(read), .answer = std::move(answer)}));
}

void PartCache::add(std::shared_ptr<Job> job) {
  looker_.add([self = shared_from_this(), job = std::move(job)] {
    if (const auto thrown = catch_all([&] { self->serve(job); }, no_memory_for_scan)) job->give(*thrown);
  });
}

/// Gives what is here from the beginning of the range on; else waits, or goes to the store.
void PartCache::serve(const std::shared_ptr<Job>& job) {
  if (job->read.request.wanted.expired()) return job->give(was_closed);
  while (job->at() < job->end()) {
    const std::int64_t part = job->at() / part_bytes();
    if (const auto own = coming_.find(key_of(job->read, part)); own != coming_.end()) {
      Coming& coming = *own->second;
      if (coming.bytes.empty() && job->done > 0) break;
      if (coming.bytes.empty()) {
        job->waited = true;
        return coming.waiting.push_back(job);
      }
      job->take(coming.bytes.subspan(static_cast<std::size_t>(job->at() - part * part_bytes())));
      continue;
    }
    const auto found = look(*job, part, job->done == 0);
    if (found.where == PartTable::Where::here) {
      give(*job, part, found);
      continue;
    }
    if (job->done > 0) break;
    if (found.where == PartTable::Where::coming || found.where == PartTable::Where::busy)
      return looker_.add_later([self = shared_from_this(), job] { self->add(job); }, until_next_look);
    return fetch(job, part, found);
  }
  job->give(static_cast<std::size_t>(job->done));
}

PartTable::Found PartCache::look(const Job& job, std::int64_t part, bool may_claim) {
  const std::int64_t begin = part * part_bytes();
  const std::int64_t bytes = std::min(part_bytes(), job.read.request.version.size - begin);
  const bool rest_is_used = job.read.use->in_order || (begin >= job.read.request.offset && begin + bytes <= job.end());
  const auto claim = !may_claim     ? PartTable::Claim::never
                     : rest_is_used ? PartTable::Claim::any
                                    : PartTable::Claim::free;
  return table_->look(key_of(job.read, part), job.times(part), bytes, claim);
}

/// Gives bytes of a part that is on the disk, unless they are corrupt: then it is not any more.
void PartCache::give(Job& job, std::int64_t part, const PartTable::Found& found) {
  const std::int64_t from = job.at() - part * part_bytes();
  const std::int64_t bytes = std::min(job.end() - job.at(), found.bytes - from);
  const auto out = job.read.request.out.subspan(static_cast<std::size_t>(job.done), static_cast<std::size_t>(bytes));
  if (table_->read(key_of(job.read, part), found, from, out)) job.took(bytes);
}

/// Asks a store for a range from its first part on, which is not here, as far as the parts behind it are not here.
void PartCache::fetch(const std::shared_ptr<Job>& job, std::int64_t part, PartTable::Found found) {
  const ReadRequest& request = job->read.request;
  auto out = std::make_shared<Fetch>(
      Fetch{.system = job->read.system, .request = request, .pool = job->read.pool, .job = job});
  std::int64_t end = request.offset;
  for (const std::int64_t first = part; end < job->end(); ++part) {
    if (part != first) {
      if (coming_.contains(key_of(job->read, part))) break;
      found = look(*job, part, true);
    }
    if (found.where != PartTable::Where::claimed && found.where != PartTable::Where::nowhere) break;
    const std::int64_t begin = part * part_bytes();
    const std::int64_t part_end = std::min(begin + part_bytes(), request.version.size);
    const bool claimed = found.where == PartTable::Where::claimed;
    if (claimed && (begin < request.offset || part_end > job->end())) {
      const auto thrown = catch_all([&] { fetch_whole(job, part, found); }, no_memory_for_scan);
      if (thrown) let_go(key_of(job->read, part), found);
      if (part > first) break;
      return thrown ? job->give(*thrown) : serve(job);
    }
    if (claimed) {
      const PartKey key = key_of(job->read, part);
      out->parts.push_back({.key = key, .at = begin - request.offset, .bytes = part_end - begin});
      coming_[key] = std::make_shared<Coming>(Coming{.claimed = found});
    }
    end = std::min(part_end, job->end());
  }
  out->request.out = request.out.first(static_cast<std::size_t>(end - request.offset));
  begin(out);
}

/// Asks a store for a whole part, of which a range has less.
void PartCache::fetch_whole(const std::shared_ptr<Job>& job, std::int64_t part, const PartTable::Found& claimed) {
  const PartKey key = key_of(job->read, part);
  auto out = std::make_shared<Fetch>(
      Fetch{.system = job->read.system, .request = job->read.request, .pool = job->read.pool, .job = {}});
  out->request.offset = part * part_bytes();
  out->request.memory = out->pool->lend(static_cast<std::size_t>(claimed.bytes), MemoryUse::scan);
  out->request.out = {out->request.memory.get(), static_cast<std::size_t>(claimed.bytes)};
  out->parts.push_back({.key = key, .at = 0, .bytes = claimed.bytes});
  coming_[key] = std::make_shared<Coming>(Coming{.claimed = claimed});
  begin(out);
}

void PartCache::begin(const std::shared_ptr<Fetch>& fetch) {
  if (const auto thrown = catch_all([&] { go_on(fetch); }, no_memory_for_scan)) came(fetch, *thrown);
}

void PartCache::go_on(const std::shared_ptr<Fetch>& fetch) {
  ReadRequest request = fetch->request;
  request.offset += static_cast<std::int64_t>(fetch->got);
  request.out = request.out.subspan(fetch->got);
  request.traffic->asked();
  fetch->system->read(std::move(request), [self = shared_from_this(), fetch](const Result<std::size_t>& count) {
    self->looker_.add([self, fetch, count] { self->came(fetch, count); });
  });
}

/// Gives the bytes of an answer to those that wait for them, and to the disk.
void PartCache::came(const std::shared_ptr<Fetch>& fetch, const Result<std::size_t>& count) {
  const std::span<std::byte> out = fetch->request.out;
  const std::optional<Error> error = answer_fault(count, out.size() - fetch->got);
  if (!error) {
    fetch->got += *count;
    if (fetch->got < out.size()) return begin(fetch);
  }
  if (fetch->job) fetch->job->give(error ? Result<std::size_t>{*error} : Result<std::size_t>{out.size()});
  for (const auto& [key, at, bytes] : fetch->parts) {
    const auto coming = coming_.at(key);
    for (const auto& job : std::exchange(coming->waiting, {})) add(job);
    if (error) {
      coming_.erase(key);
      let_go(key, coming->claimed);
    } else {
      coming->memory = fetch->request.memory;
      coming->bytes = out.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
      write(key, *fetch);
    }
  }
}

/// Has a part written, unless too much waits for the disk.
void PartCache::write(const PartKey& key, const Fetch& fetch) {
  const auto coming = coming_.at(key);
  const auto bytes = std::ssize(coming->bytes);
  if (to_write_ + bytes > std::max(bytes, std::min(max_to_write, fetch.pool->limit() / part_to_write))) {
    let_go(key, coming->claimed);
    looker_.add([self = shared_from_this(), key] { self->coming_.erase(key); });  // after those that wait for it
    return;
  }
  to_write_ += bytes;
  keep(key, coming);
}

void PartCache::keep(const PartKey& key, const std::shared_ptr<Coming>& coming) {
  writer_.add([self = shared_from_this(), key, coming] {
    if (!self->table_->keep(key, coming->claimed, coming->bytes))
      return self->writer_.add_later([self, key, coming] { self->keep(key, coming); }, until_next_look);
    self->looker_.add([self, key, bytes = std::ssize(coming->bytes)] {
      self->coming_.erase(key);
      self->to_write_ -= bytes;
    });
  });
}

void PartCache::let_go(const PartKey& key, const PartTable::Found& claimed) {
  if (!table_->let_go(key, claimed))
    looker_.add_later([self = shared_from_this(), key, claimed] { self->let_go(key, claimed); }, until_next_look);
}

}  // namespace forebay::engine
