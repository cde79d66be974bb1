// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/cache/part_table.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <unistd.h>

#include "columns/crc32c.h"

namespace forebay::engine {

namespace {

using State = PartEntry::State;

constexpr std::int64_t lease = 10'000;            // milliseconds in which a claimed slot is written
constexpr std::int64_t process_is_gone = 60'000;  // milliseconds in which it uses nothing
constexpr std::int64_t run_is_gone = 600'000;
constexpr std::int64_t between_sights = 1'000;       // milliseconds after which a process says that it is there
constexpr std::int64_t between_lists = 1'000;        // milliseconds, where no slot of a large table may be taken
constexpr std::uint32_t changes_until_listed = 256;  // by other processes: so many parts of the slots
constexpr std::uint32_t refused_until_listed = 16;   // parts that got no slot: so many of the slots
constexpr std::uint32_t large_table = 1U << 14;      // slots
// Times of slots that nobody needs, behind all times of a run.
constexpr std::uint64_t never = UINT64_MAX;
constexpr std::uint64_t left_behind = std::uint64_t{1} << 63;
constexpr std::int64_t year_2025 = 1'735'689'600'000;  // milliseconds

/// The time of a part that other processes are about to read: before all passes but the first, and the later the
/// longer ago it was read first.
std::uint64_t soon(std::int64_t since) {
  constexpr std::int64_t max = PartTimes::pass / 2;
  return PartTimes::pass - 1 - static_cast<std::uint64_t>(std::clamp(since, year_2025, year_2025 + max) - year_2025);
}

std::int64_t milliseconds_now() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// Whether `then` lies less than `span` before `now`. Clocks may be set back.
bool recent(std::int64_t then, std::int64_t now, std::int64_t span) { return then > now - span && then < now + span; }

std::int64_t block_bytes(std::int64_t part_bytes) { return part_bytes / static_cast<std::int64_t>(part_blocks); }

}  // namespace

/// Holds the lock of the table, or not (`ok`).
class PartTable::Held {
 public:
  explicit Held(PartTable& table) : table_{table}, ok_{table.file_->lock()} {}
  ~Held() {
    if (ok_) table_.file_->unlock();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  PartTable& table_;
  const bool ok_;
};

PartTable::PartTable(std::unique_ptr<PartFile> file, Clock clock)
    : file_{std::move(file)},
      clock_{clock ? std::move(clock) : milliseconds_now},
      process_{mix(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
                   mix(static_cast<std::uint64_t>(getpid())))},
      tickets_{process_} {}

Result<std::unique_ptr<PartTable>> PartTable::open(const std::string& folder, std::int64_t bytes, std::string& notice,
                                                   Clock clock) {
  FOREBAY_TRY(auto file, PartFile::open(folder, bytes, notice));
  return std::make_unique<PartTable>(std::move(file), std::move(clock));
}

std::string PartTable::fault() const {
  const Lock lock{mutex_};
  return file_->fault();
}

void PartTable::count_change() {
  ++counts_.changes;
  ++own_changes_;
}

/// Marks the time in which the chains of the table change.
void PartTable::change(bool begins) {
  counts_.changing = begins ? 1 : 0;
  count_change();
  file_->put(counts_);
}

/// Makes the chains anew, after a process was killed while it changed them.
void PartTable::mend() {
  change(true);
  for (std::uint32_t bucket = 0; bucket < file_->slots(); ++bucket) file_->put_bucket(bucket, 0);
  for (std::uint32_t slot = 0; slot < counts_.used && file_->fault().empty(); ++slot) {
    const PartEntry entry = file_->entry(slot);
    if (entry.state != State::free) link(slot, entry);
  }
  change(false);
}

std::optional<std::uint32_t> PartTable::find(const PartKey& key, PartEntry& entry) {
  counts_ = file_->counts();
  counts_.used = std::min(counts_.used, file_->slots());
  if (counts_.changes - own_changes_ > others_changes_ + file_->slots() / changes_until_listed) farthest_.forget();
  if (counts_.changing != 0) mend();
  std::uint32_t steps = 0;
  for (std::uint32_t next = file_->bucket(bucket_of(key)); next != 0; next = entry.chain) {
    if (next > file_->slots() || ++steps > file_->slots()) {
      mend();
      return std::nullopt;
    }
    entry = file_->entry(next - 1);
    if (entry.key == key && entry.state != State::free) return next - 1;
  }
  return std::nullopt;
}

/// Finds a slot that still has the content of this ticket.
std::optional<std::uint32_t> PartTable::find(const PartKey& key, std::uint64_t ticket, PartEntry& entry) {
  const auto slot = find(key, entry);
  return slot && entry.ticket == ticket ? slot : std::nullopt;
}

void PartTable::touch(std::uint32_t slot, PartEntry& entry, const PartTimes& times) {
  if (entry.readers > 0 && entry.run == times.run) {
    --entry.readers;
  } else {
    entry.readers = times.shared ? processes(times.run) - 1 : 0;
    entry.since = clock_();
  }
  // A use that is still to come is one of another process.
  const bool other = entry.run == times.run && entry.next > times.now;
  entry.next = other ? std::min(entry.next, times.next) : times.next;
  entry.run = times.run;
  file_->put(slot, entry);
  count_change();
  file_->put(counts_);
  farthest_.change({.time = time_of(entry, times).value_or(never), .slot = slot});
}

void PartTable::link(std::uint32_t slot, PartEntry entry) {
  const std::uint32_t bucket = bucket_of(entry.key);
  entry.chain = file_->bucket(bucket);
  file_->put(slot, entry);
  file_->put_bucket(bucket, slot + 1);
}

void PartTable::unlink(std::uint32_t slot, PartEntry entry) {
  const std::uint32_t bucket = bucket_of(entry.key);
  std::uint32_t at = file_->bucket(bucket);
  if (at == slot + 1) {
    file_->put_bucket(bucket, entry.chain);
  } else {
    for (std::uint32_t steps = 0; at != 0 && at <= file_->slots() && steps < file_->slots(); ++steps) {
      PartEntry before = file_->entry(at - 1);
      if (before.chain == slot + 1) {
        before.chain = entry.chain;
        file_->put(at - 1, before);
        break;
      }
      at = before.chain;
    }
  }
  entry.state = State::free;
  entry.chain = 0;
  file_->put(slot, entry);
}

void PartTable::remove(std::uint32_t slot, const PartEntry& entry) {
  change(true);
  unlink(slot, entry);
  change(false);
  farthest_.change({.time = never, .slot = slot});
}

/// Tells the other processes now and then that this one is there.
void PartTable::see(std::uint64_t run) {
  const std::int64_t now = clock_();
  auto& users = counts_.users;
  auto at = std::ranges::find_if(users, [&](const auto& user) { return user.run == run && user.process == process_; });
  if (at != users.end() && recent(at->seen, now, between_sights)) return;
  if (at == users.end()) at = std::ranges::min_element(users, {}, &PartCounts::User::seen);
  *at = {.run = run, .process = process_, .seen = now};
  file_->put(counts_);
}

/// How many processes of a run use the cache, this one among them.
std::uint32_t PartTable::processes(std::uint64_t run) const {
  const std::int64_t now = clock_();
  const auto there = [&](const auto& user) { return user.run == run && recent(user.seen, now, process_is_gone); };
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::ranges::count_if(counts_.users, there)));
}

/// The time by which slots give way, as `times.run` sees it; empty: it may not have the slot. A use that should have
/// been is expected a pass later.
std::optional<std::uint64_t> PartTable::time_of(const PartEntry& entry, const PartTimes& times) const {
  if (entry.state == State::free) return never;
  const std::int64_t now = clock_();
  if (entry.state == State::claimed) return recent(entry.since, now, lease) ? std::nullopt : std::optional{never};
  if (entry.run == times.run && entry.readers > 0) return soon(entry.since);
  if (entry.run == times.run) {
    if (entry.next >= times.now) return std::min(entry.next, PartTimes::max);
    return entry.next + (times.now - entry.next + PartTimes::pass - 1) / PartTimes::pass * PartTimes::pass;
  }
  const auto there = [&](const auto& user) { return user.run == entry.run && recent(user.seen, now, run_is_gone); };
  if (std::ranges::any_of(counts_.users, there)) return std::nullopt;
  return left_behind + static_cast<std::uint64_t>(now - std::clamp<std::int64_t>(entry.since, 0, now));
}

void PartTable::list(const PartTimes& times) {
  std::vector<FarthestFirst::Item> all;
  all.reserve(counts_.used);
  for (std::uint32_t slot = 0; slot < counts_.used; ++slot) {
    if (const auto time = time_of(file_->entry(slot), times)) all.push_back({.time = *time, .slot = slot});
  }
  farthest_.list(std::move(all));
  listed_ = clock_();
  refused_ = 0;
  others_changes_ = counts_.changes - own_changes_;
}

/// A slot for a part with these times; the part that it has is still there.
std::optional<std::uint32_t> PartTable::slot_for(const PartTimes& times, Claim claim) {
  if (claim == Claim::never) return std::nullopt;
  if (counts_.used < file_->slots()) return counts_.used++;  // `change` stores it
  const std::uint64_t next = times.shared && processes(times.run) > 1 ? soon(clock_()) : times.next;
  bool listed = false;
  while (file_->fault().empty()) {
    const auto first = farthest_.first();
    if (!first) {
      if (std::exchange(listed, true)) return std::nullopt;
      if (file_->slots() > large_table && clock_() - listed_ < between_lists) return std::nullopt;
      list(times);
      continue;
    }
    const auto time = time_of(file_->entry(first->slot), times);
    if (time != first->time) {
      farthest_.drop_first();
      if (time) farthest_.change({.time = *time, .slot = first->slot});
      continue;
    }
    if (*time < left_behind && (claim == Claim::free || *time <= next)) {
      // Uses that should have been are expected a pass later: only a new list finds them.
      if (listed || ++refused_ <= file_->slots() / refused_until_listed) return std::nullopt;
      farthest_.forget();
      continue;
    }
    farthest_.drop_first();
    return first->slot;
  }
  return std::nullopt;
}

PartTable::Found PartTable::look(const PartKey& key, const PartTimes& times, std::int64_t bytes, Claim claim) {
  const Lock lock{mutex_};
  const Held held{*this};
  if (!held.ok()) return {.where = file_->fault().empty() ? Where::busy : Where::nowhere};
  PartEntry entry;
  auto slot = find(key, entry);
  see(times.run);
  if (slot && entry.state == State::kept && entry.bytes == bytes) {
    touch(*slot, entry, times);
    if (!file_->fault().empty()) return {};
    return {Where::here, *slot, entry.ticket, entry.bytes, entry.checksums};
  }
  if (slot && entry.state == State::claimed && recent(entry.since, clock_(), lease)) return {.where = Where::coming};
  if (slot) remove(*slot, entry);
  slot = slot_for(times, claim);
  if (!slot) return {};
  change(true);
  if (const PartEntry before = file_->entry(*slot); before.state != State::free) unlink(*slot, before);
  entry = {.key = key,
           .ticket = ++tickets_,
           .run = times.run,
           .next = times.next,
           .since = clock_(),
           .state = State::claimed,
           .bytes = static_cast<std::uint32_t>(bytes),
           .readers = times.shared ? processes(times.run) - 1 : 0};
  link(*slot, entry);
  change(false);
  if (!file_->fault().empty()) return {};
  return {.where = Where::claimed, .slot = *slot, .ticket = entry.ticket, .bytes = bytes};
}

bool PartTable::read(const PartKey& key, const Found& found, std::int64_t from, std::span<std::byte> out) {
  const std::int64_t block = block_bytes(part_bytes());
  std::vector<std::byte> whole;
  bool good = true;
  for (std::int64_t at = from / block * block; good && at < from + std::ssize(out); at += block) {
    const std::int64_t size = std::min(block, found.bytes - at);
    const std::int64_t begin = std::max(at, from);
    const std::int64_t end = std::min(at + size, from + std::ssize(out));
    const auto wanted = out.subspan(static_cast<std::size_t>(begin - from), static_cast<std::size_t>(end - begin));
    std::span<std::byte> bytes = wanted;
    if (end - begin < size) {
      whole.resize(static_cast<std::size_t>(size));
      bytes = whole;
    }
    good = file_->read(found.slot, at, bytes) &&
           columns::crc32c(bytes) == found.checksums[static_cast<std::size_t>(at / block)];
    if (good && bytes.data() != wanted.data())
      std::ranges::copy(bytes.subspan(static_cast<std::size_t>(begin - at), wanted.size()), wanted.begin());
  }
  if (!good) static_cast<void>(let_go(key, found));
  return good;
}

bool PartTable::keep(const PartKey& key, const Found& claimed, std::span<const std::byte> bytes) {
  PartEntry entry;
  {
    const Lock lock{mutex_};
    const Held held{*this};
    if (!held.ok()) return !file_->fault().empty();
    if (!find(key, claimed.ticket, entry)) return true;
  }
  std::array<std::uint32_t, part_blocks> checksums = {};
  const auto block = static_cast<std::size_t>(block_bytes(part_bytes()));
  for (std::size_t i = 0; i * block < bytes.size(); ++i)
    checksums[i] = columns::crc32c(bytes.subspan(i * block, std::min(block, bytes.size() - i * block)));
  const bool written = file_->write(claimed.slot, bytes);
  const Lock lock{mutex_};
  if (!written) file_->turn_off("the disk has no room left, or a fault");
  const Held held{*this};
  if (!held.ok()) return !file_->fault().empty();
  const auto slot = find(key, claimed.ticket, entry);
  if (!slot) return true;
  entry.state = State::kept;
  entry.checksums = checksums;
  file_->put(*slot, entry);
  count_change();
  file_->put(counts_);
  farthest_.change({.time = entry.readers > 0 ? soon(entry.since) : entry.next, .slot = *slot});
  return true;
}

bool PartTable::let_go(const PartKey& key, const Found& claimed) {
  const Lock lock{mutex_};
  const Held held{*this};
  PartEntry entry;
  if (!held.ok()) return !file_->fault().empty();
  if (const auto slot = find(key, claimed.ticket, entry)) remove(*slot, entry);
  return true;
}

}  // namespace forebay::engine
