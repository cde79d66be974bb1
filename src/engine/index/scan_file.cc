// SPDX-License-Identifier: Apache-2.0
#include "engine/index/scan_file.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/memory/machine.h"
#include "engine/requests/open_file.h"
#include "io/identity.h"

namespace forebay::engine {
namespace {

// Bytes. After each 16 MiB of a mapped file, the scanned pages go back to the system, so that they do not fill the
// memory.
constexpr std::int64_t pages_kept = std::int64_t{16} << 20;
constexpr std::int64_t requests_at_once = 8;  // of one file; several files are indexed at once

}  // namespace

Result<void> each_block(FileReader& scanner, const std::function<Result<void>(const Block&)>& each) {
  Block block;
  std::int64_t forgotten = 0;
  scanner.need();
  do {
    block.clear();
    scanner.scan(block);
    FOREBAY_DO(each(block));
    if (block.error) return *block.error;
    if (!scanner.ready()) scanner.wait_a_little();
    if (block.mapping && scanner.offset() - forgotten >= pages_kept) {
      block.mapping->forget(static_cast<std::size_t>(forgotten),
                            static_cast<std::size_t>(scanner.offset() - forgotten));
      forgotten = scanner.offset();
    }
  } while (!block.last);
  return {};
}

std::vector<std::span<const Extent>> intact_runs(const Block& block) {
  const std::span<const Extent> records{block.records};
  std::vector<std::span<const Extent>> runs;
  std::size_t next = 0;
  for (const Skip& skip : block.skips) {
    if (skip.what != Skip::What::record) continue;
    runs.push_back(records.subspan(next, skip.index - next));
    next = skip.index + 1;
  }
  runs.push_back(records.subspan(next));
  return runs;
}

std::shared_ptr<BufferPool> pool_of(const IndexRequest& request) {
  return request.pool ? request.pool : std::make_shared<BufferPool>(usable_memory() / 4);
}

namespace {

/// The share of the budget that an index takes while it is made. Without a pool nothing is counted.
class IndexCharge {
 public:
  explicit IndexCharge(std::shared_ptr<BufferPool> pool) : pool_{std::move(pool)} {}

  /// Charges the memory of the builder and the points. Fails when it exceeds the budget. `share`: the part of the file
  /// that was scanned, 0 … 1; the message estimates the whole from it.
  Result<void> account(const RecordIndexBuilder& builder, std::span<const io::RestartPoint> points, double share) {
    if (!pool_) return {};
    for (; points_ < points.size(); ++points_)
      point_bytes_ += static_cast<std::int64_t>(sizeof(io::RestartPoint) + points[points_].history.size());
    const std::int64_t owned = builder.owned() + point_bytes_;
    if (owned > pool_->limit()) {
      return Error{
          Code::data, Detail::resource_exhausted,
          fmt::format("this run needs about {} bytes of `memory` and has {}: the record index of this file "
                      "takes 12 bytes a record; raise `memory`",
                      std::llround(static_cast<double>(owned) / std::clamp(share, 1e-6, 1.0)), pool_->limit())};
    }
    charge_.set(*pool_, owned, MemoryUse::scan);
    return {};
  }

 private:
  const std::shared_ptr<BufferPool> pool_;
  Charge charge_;
  std::int64_t point_bytes_ = 0;
  std::size_t points_ = 0;  // points that point_bytes_ includes
};

}  // namespace

Result<std::shared_ptr<const RecordIndex>> scan_index(const IndexRequest& request, FileReader& scanner,
                                                      const IndexWatch& watch, const AddRecords& add) {
  const auto requests = std::make_shared<Requests>(pool_of(request), requests_at_once);
  requests->keep_in(request.cache);
  requests->know(request.known);
  requests->ask_whether([&watch] { return !watch || watch(0); });
  scanner.share(requests);
  FOREBAY_TRY(const auto file, open_file(request.file, requests));
  FOREBAY_TRY(const io::FileIdentity identity, io::identify(*file));
  scanner.collect_restart_points(restart_interval);
  RecordIndexBuilder builder{request.signature};
  std::vector<io::RestartPoint> points;
  IndexCharge charge{request.pool};
  FOREBAY_DO(each_block(scanner, [&](const Block& block) -> Result<void> {
    add(block, builder);
    for (io::RestartPoint& point : scanner.take_restart_points()) points.push_back(std::move(point));
    if (scanner.compression() != Compression::none) {
      builder.add_content({block.base, static_cast<std::size_t>(block.file_end - block.file_offset)}, points);
    }
    if (auto room = charge.account(builder, points, block.fraction); !room.ok()) {
      return room.error().at(Place{.file = request.file});
    }
    if (!block.error && watch && !watch(block.bytes_read)) return Error{Code::cancelled, "interrupted"};
    return {};
  }));
  FOREBAY_TRY(const auto again, open_file(request.file, requests));  // by its path, as the scan has opened it
  FOREBAY_TRY(const io::FileIdentity now, io::identify(*again));
  if (const std::string change = difference(identity, now); !change.empty()) {
    return Error{Code::data, Detail::failed_precondition, "the file changed while it was read: " + change,
                 Place{.file = request.file}};
  }
  return builder.finish({.identity = identity, .compression = scanner.compression(), .bytes = scanner.offset()}, points)
      .at(Place{.file = request.file});
}

}  // namespace forebay::engine
