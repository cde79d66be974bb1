// SPDX-License-Identifier: Apache-2.0
#include "engine/file_scan.h"

#include <cmath>

#include "engine/machine.h"
#include "io/identity.h"

namespace forebay::engine {
namespace {

// Pages of a mapped file that lie so far back are given back, so that a large file does not fill the memory.
constexpr std::int64_t pages_kept = std::int64_t{16} << 20;

}  // namespace

Result<void> each_block(Scanner& scanner, const std::function<Result<void>(const Block&)>& each) {
  Block block;
  std::int64_t forgotten = 0;
  do {
    block.clear();
    scanner.scan(block);
    FOREBAY_DO(each(block));
    if (block.error) return *block.error;
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

std::int64_t content_from(const Skip& skip, const Block& block) {
  const std::int64_t here = block.file_end - skip.offset;
  if (block.last) return here + block.skips.back().unread;
  if (block.fraction <= 0) return here;
  return here + std::llround(static_cast<double>(block.file_end) * (1 - block.fraction) / block.fraction);
}

std::shared_ptr<Pool> pool_of(const IndexRequest& request) {
  return request.pool ? request.pool : std::make_shared<Pool>(usable_memory() / 4);
}

Result<std::shared_ptr<const RecordIndex>> scan_index(const IndexRequest& request, Scanner& scanner,
                                                      const IndexWatch& watch, const AddRecords& add) {
  FOREBAY_TRY(const io::File file, io::File::open(request.file));
  FOREBAY_TRY(const io::FileIdentity identity, io::identify(file));
  scanner.collect_restart_points(restart_interval);
  RecordIndexBuilder builder{request.signature};
  std::vector<io::RestartPoint> points;
  FOREBAY_DO(each_block(scanner, [&](const Block& block) -> Result<void> {
    add(block, builder);
    for (io::RestartPoint& point : scanner.take_restart_points()) points.push_back(std::move(point));
    if (scanner.compression() != Compression::none) {
      builder.add_content({block.base, static_cast<std::size_t>(block.file_end - block.file_offset)}, points);
    }
    if (!block.error && watch && !watch(block.bytes_read)) return Error{Code::cancelled, "interrupted"};
    return {};
  }));
  FOREBAY_TRY(const io::File again, io::File::open(request.file));  // the scan has opened it by its name, too
  FOREBAY_TRY(const io::FileIdentity now, io::identify(again));
  if (const std::string change = difference(identity, now); !change.empty()) {
    return Error{Code::data, Detail::failed_precondition, "the file changed while it was read: " + change,
                 Place{.file = request.file}};
  }
  return builder.finish({.identity = identity, .compression = scanner.compression(), .bytes = scanner.offset()}, points)
      .at(Place{.file = request.file});
}

}  // namespace forebay::engine
