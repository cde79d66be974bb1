// SPDX-License-Identifier: Apache-2.0
#include "tools/publish_index.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "engine/index/published/catalogue.h"
#include "engine/index/published/file_ends.h"
#include "engine/memory/catch_all.h"
#include "engine/requests/requests.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/paths.h"
#include "stores/registry.h"
#include "stores/waits.h"

namespace forebay {

namespace {

using engine::EntryKey;
using engine::FileEnds;
using engine::IndexRequest;
using engine::NewEntry;
using engine::StoredKind;
using engine::StoreEntry;

constexpr std::int64_t memory_for_ends = std::int64_t{64} << 20;  // bytes
constexpr std::size_t ends_at_once = 1024;                        // whose ends are asked for together

/// What is stored of the present version of a file, with payloads of its own.
struct Stored {
  io::FileIdentity identity;
  std::vector<std::pair<EntryKey, std::vector<std::byte>>> entries;
};

Result<Stored> stored_of(const IndexRequest& request) {
  Stored out;
  if (request.identity) {
    out.identity = *request.identity;
  } else {
    FOREBAY_TRY(const io::File file, io::File::open(request.file));
    FOREBAY_TRY(out.identity, io::identify(file));
  }
  for (const engine::StorePlace& place : request.stores->places(request.file)) {
    request.stores->each_entry(place, request.file, out.identity, [&out](const StoreEntry& entry) {
      out.entries.emplace_back(entry.key, std::vector<std::byte>{entry.payload.begin(), entry.payload.end()});
    });
    if (!out.entries.empty()) return out;
  }
  return Error{Code::data, Detail::not_found, "its index is not stored, so it cannot be published",
               Place{.file = request.file}};
}

/// The ends of files whose identities are versions, by their place in `requests`; nothing of others.
Result<std::vector<FileEnds>> ends_of(std::span<const IndexRequest> requests) {
  const auto asking = std::make_shared<engine::Requests>(std::make_shared<engine::BufferPool>(memory_for_ends));
  asking->ask_whether(stores::goes_on);
  std::vector<FileEnds> out(requests.size());
  for (std::size_t first = 0; first < requests.size(); first += ends_at_once) {
    const std::size_t last = std::min(first + ends_at_once, requests.size());
    std::map<std::size_t, engine::AskedEnds> asked;
    for (std::size_t i = first; i < last; ++i) {
      if (requests[i].identity) asked.try_emplace(i, *asking, requests[i].file, *requests[i].identity);
    }
    for (const auto& [i, ends] : asked) {
      try {
        FOREBAY_TRY(out[i], ends.wait(*asking));
      } catch (const engine::Closed&) {
        return Error{Code::cancelled, "interrupted"};
      }
    }
  }
  return out;
}

}  // namespace

Result<void> check_publish(const std::string& folder, const std::vector<std::string>& files) {
  if (folder.empty()) return {};
  const auto other = std::ranges::find_if(
      files, [&](const std::string& file) { return io::parent(file) != io::parent(files.front()); });
  if (other == files.end()) return {};
  return Error{
      Code::config, Detail::invalid_argument,
      fmt::format("files of two folders cannot be published together, '{}' and '{}': what is published lies in "
                  "the folder of its files; name those of one folder at a time",
                  io::parent(files.front()), io::parent(*other))};
}

namespace {

/// Writes what is stored of the files to a new store, and says in `catalogue` where.
Result<void> write_store(const std::string& path, std::span<const IndexRequest> requests,
                         engine::Catalogue& catalogue) {
  FOREBAY_TRY(const std::vector<FileEnds> ends, ends_of(requests));
  engine::IndexStore store{{.path = path, .links = io::Links::refuse}};
  std::map<std::string, engine::CatalogueEntry> listed;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string name = io::base_name(requests[i].file);
    if (listed.contains(name)) continue;
    FOREBAY_TRY(const Stored stored, stored_of(requests[i]));
    engine::CatalogueEntry entry{.identity = stored.identity, .records = -1};
    std::vector<NewEntry> entries;
    for (const auto& [key, payload] : stored.entries) {
      if (key.kind != StoredKind::ends) entries.push_back({key, stored.identity, payload});
      if (key != EntryKey{StoredKind::records, 0}) continue;
      FOREBAY_TRY(const auto index, engine::RecordIndex::parse(payload));
      entry.records = index->records();
    }
    const std::vector<std::byte> image = ends[i].image();
    if (requests[i].identity) entries.push_back({{StoredKind::ends, 0}, stored.identity, image});
    FOREBAY_DO(store.append(requests[i].file, name, entries));
    listed.emplace(name, entry);
  }
  store.refresh();
  for (auto& [name, entry] : listed) {
    entry.entries = store.range_of(name);
    catalogue.add(name, entry);
  }
  return {};
}

}  // namespace

Result<void> publish(const std::string& folder, std::span<const IndexReport> reports,
                     std::span<const IndexRequest> requests) {
  const bool failed = std::ranges::any_of(reports, [](const IndexReport& report) { return report.error.has_value(); });
  if (folder.empty() || failed) return {};
  // `folder` may be that of the store that is read: the new one takes its place when it is complete.
  const std::string path = fmt::format("{}/{}", folder, engine::store_name);
  const std::string unfinished = path + "-unfinished";
  std::error_code failure;
  std::filesystem::remove(unfinished, failure);
  engine::Catalogue catalogue;
  if (const auto written = write_store(unfinished, requests, catalogue); !written.ok()) {
    std::filesystem::remove(unfinished, failure);
    return written.error();
  }
  std::filesystem::rename(unfinished, path, failure);
  if (failure) return io::system_error("write", path, failure.value());
  FOREBAY_TRY(io::AtomicFile listed, io::AtomicFile::create(fmt::format("{}/{}", folder, engine::catalogue_name)));
  const std::string text = catalogue.text();
  FOREBAY_DO(listed.write(std::as_bytes(std::span{text})));
  return listed.commit();
}

}  // namespace forebay
