// SPDX-License-Identifier: Apache-2.0
#include "engine/index_parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "engine/kept_files.h"
#include "engine/machine.h"
#include "engine/scanner.h"
#include "engine/sync.h"
#include "engine/trial_decode.h"

namespace forebay::engine {

namespace {

constexpr auto between_questions = std::chrono::milliseconds{5};

/// The records of a file that are good, and what is not. Such an index is never stored: it depends on the decoder.
Result<MadeIndex> index_good_records(const Program& program, std::uint32_t file, const IndexWatch& watch) {
  const IndexRequest request = request_for(program.source, file);
  FOREBAY_TRY(const io::File opened, io::File::open(request.file));
  FOREBAY_TRY(const io::FileIdentity identity, io::identify(opened));
  KeptFiles kept{0};
  TrialDecode trial{program};
  Scanner scanner{program.source,
                  file,
                  std::make_shared<Pool>(usable_memory() / 4),
                  kept,
                  Damage::find,
                  [&](std::span<const Record> records, std::vector<Malformed>& bad) { trial.run(records, bad); }};
  scanner.collect_restart_points(restart_interval);
  RecordIndexBuilder builder{request.signature};
  std::vector<io::RestartPoint> points;
  MadeIndex out;
  const bool first_ends = program.on_corrupt.policy == Corrupt::skip_file;
  Block block;
  do {
    block.clear();
    scanner.scan(block);
    if (block.error) return *block.error;
    std::size_t next = 0;
    for (const Skip& skip : block.skips) {
      if (first_ends && !out.skips.empty()) break;
      builder.add(std::span{block.records}.subspan(next, skip.index - next), block.file_offset);
      next = skip.index + (skip.what == Skip::What::record ? 1 : 0);
      out.skips.push_back(skip);
    }
    const bool over = first_ends && !out.skips.empty();
    if (!over) builder.add(std::span{block.records}.subspan(next), block.file_offset);
    for (io::RestartPoint& point : scanner.take_restart_points()) points.push_back(std::move(point));
    if (!watch(block.bytes_read)) return Error{Code::cancelled, "interrupted"};
  } while (!block.last);
  FOREBAY_DO(opened.unchanged());
  FOREBAY_TRY(
      out.index,
      builder.finish({.identity = identity, .compression = scanner.compression(), .bytes = scanner.offset()}, points));
  return out;
}

Result<MadeIndex> make(const Program& program, std::uint32_t file, const IndexWatch& watch) {
  if (program.on_corrupt.policy != Corrupt::fail) return index_good_records(program, file, watch);
  FOREBAY_TRY(IndexOutcome done, load_or_build(request_for(program.source, file), watch));
  return MadeIndex{.index = std::move(done.index), .skips = {}};
}

Result<MadeIndex> guarded(const Program& program, std::uint32_t file, const IndexWatch& watch) {
  try {
    return make(program, file, watch);
  } catch (const std::exception& thrown) {
    return Error{Code::internal, std::string{"indexing: "} + thrown.what()};
  }
}

}  // namespace

IndexRequest request_for(const Source& source, std::uint32_t file) {
  return {.file = source.files[file],
          .compression = source.compression,
          .format = source.format,
          .signature = source.signature,
          .max_decompressed_bytes = source.max_decompressed_bytes};
}

Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files,
                               const std::function<bool()>& go_on, std::span<MadeIndex> made) {
  std::atomic<std::size_t> next{0};
  std::size_t running = 0;  // guarded by the mutex
  Mutex mutex;
  Condition done;
  std::atomic<bool> stopped{false};
  std::vector<std::optional<Error>> errors(files.size());
  {
    std::vector<std::jthread> threads;
    const auto work = [&] {
      const IndexWatch watch = [&](std::int64_t) { return !stopped.load(std::memory_order_relaxed); };
      for (std::size_t at = next++; at < files.size() && !stopped; at = next++) {
        auto one = guarded(program, files[at], watch);
        if (one.ok()) {
          made[at] = *std::move(one);
        } else {
          errors[at] = one.error();
          stopped = one.error().code() != Code::cancelled || stopped.load();
        }
      }
      const Lock lock{mutex};
      if (--running == 0) done.notify_all();
    };
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(1, usable_processors()));
    for (std::size_t i = 0; i < std::min(wanted, files.size()); ++i) {
      {
        const Lock lock{mutex};
        ++running;
      }
      threads.emplace_back(work);
    }
    const Lock lock{mutex};
    while (running > 0) {
      done.wait_until(mutex, std::chrono::steady_clock::now() + between_questions);
      if (!stopped && !go_on()) stopped = true;
    }
  }
  std::optional<Error> cancelled;
  for (const auto& error : errors) {
    if (!error) continue;
    if (error->code() != Code::cancelled) return *error;
    cancelled = error;
  }
  if (cancelled) return *cancelled;
  if (stopped) return Error{Code::cancelled, "interrupted"};
  return {};
}

}  // namespace forebay::engine
