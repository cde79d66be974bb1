// SPDX-License-Identifier: Apache-2.0
#include "engine/index_file.h"
#include "engine/machine.h"
#include "engine/scanner.h"
#include "formats/detect.h"

namespace forebay::engine {
namespace {

// Pages of a mapped file that lie so far back are given back, so that a large file does not fill the memory.
constexpr std::int64_t pages_kept = std::int64_t{16} << 20;

/// What one scan has found.
struct Found {
  RecordIndexBuilder records;
  std::vector<io::RestartPoint> points;
  std::int64_t bytes = 0;
};

Result<void> scan(const Source& source, const IndexWatch& watch, Found& found) {
  const auto pool = std::make_shared<Pool>(usable_memory() / 4);
  KeptFiles kept{0};
  Scanner scanner{source, 0, pool, kept};
  scanner.collect_restart_points(restart_interval);
  Block block;
  std::int64_t forgotten = 0;
  do {
    block.clear();
    scanner.scan(block);
    if (block.error) return *block.error;
    found.records.add(block.records, block.file_offset);
    for (io::RestartPoint& point : scanner.take_restart_points()) found.points.push_back(std::move(point));
    if (block.mapping && scanner.offset() - forgotten >= pages_kept) {
      block.mapping->forget(static_cast<std::size_t>(forgotten),
                            static_cast<std::size_t>(scanner.offset() - forgotten));
      forgotten = scanner.offset();
    }
    if (watch && !watch(block.bytes_read)) return Error{Code::cancelled, "interrupted"};
  } while (!block.last);
  found.bytes = scanner.offset();
  return {};
}

}  // namespace

Result<std::shared_ptr<const RecordIndex>> build_index(const IndexRequest& request, const IndexWatch& watch) {
  FOREBAY_TRY(const io::File file, io::File::open(request.file));
  FOREBAY_TRY(const io::FileIdentity identity, io::identify(file));
  FOREBAY_TRY(const Compression compression, formats::compression_of(file, request.compression));
  const Source source{.files = {request.file},
                      .compression = compression,
                      .format = request.format,
                      .max_decompressed_bytes = request.max_decompressed_bytes};
  Found found{.records = RecordIndexBuilder{request.signature}};
  FOREBAY_DO(scan(source, watch, found));
  FOREBAY_TRY(const io::File again, io::File::open(request.file));  // the scan has opened it by its name, too
  FOREBAY_TRY(const io::FileIdentity now, io::identify(again));
  if (const std::string change = difference(identity, now); !change.empty()) {
    return Error{Code::data, Detail::failed_precondition, "the file changed while it was read: " + change,
                 Place{.file = request.file}};
  }
  return found.records.finish({.identity = identity, .compression = compression, .bytes = found.bytes}, found.points)
      .at(Place{.file = request.file});
}

}  // namespace forebay::engine
