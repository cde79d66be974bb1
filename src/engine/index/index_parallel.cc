// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_parallel.h"

#include <atomic>

#include "engine/index/early_check.h"
#include "engine/index/scan_file.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"

namespace forebay::engine {

namespace {

constexpr std::chrono::milliseconds between_questions{5};

/// Adds records of a block and their attributes to the index.
void add_run(const Block& block, std::span<const Extent> run, std::size_t width, RecordIndexBuilder& builder,
             std::vector<std::int64_t>& attributes) {
  builder.add(run, block.file_offset);
  const auto first = static_cast<std::ptrdiff_t>(width) * (run.data() - block.records.data());
  const auto count = static_cast<std::ptrdiff_t>(width) * std::ssize(run);
  attributes.insert(attributes.end(), block.attributes.begin() + first, block.attributes.begin() + first + count);
}

/// Adds the records of a block that the policy lets pass, and appends the skipped parts to `made.skips`.
void add_good(const Block& block, const Program& program, RecordIndexBuilder& builder, MadeIndex& made) {
  const std::size_t width = program.early.attributes.size();
  if (program.on_corrupt.policy != Corrupt::skip_file) {
    for (const auto run : intact_runs(block)) add_run(block, run, width, builder, made.attributes);
    made.skips.insert(made.skips.end(), block.skips.begin(), block.skips.end());
    return;
  }
  if (!made.skips.empty()) return;  // with skip_file, the first skip ends the file
  const std::span<const Extent> records{block.records};
  const auto good = block.skips.empty() ? records : records.first(block.skips.front().index);
  add_run(block, good, width, builder, made.attributes);
  if (!block.skips.empty()) made.skips.push_back(block.skips.front());
}

/// Makes an index of the good records of a file, with their attributes, and the list of skips. It is never stored, as
/// it depends on the decoder. Fails as `scan_index`, unless the policy passes over the file.
Result<MadeIndex> index_good_records(const Program& program, std::uint32_t file, const IndexRequest& request,
                                     const IndexWatch& watch) {
  PassCache kept{0};
  const std::shared_ptr<BufferPool> pool = pool_of(request);
  FileReader scanner{program.source, file, pool, kept, corruption_of(program), check_of(program, pool)};
  MadeIndex out;
  auto index = scan_index(request, scanner, watch, [&](const Block& block, RecordIndexBuilder& builder) {
    add_good(block, program, builder, out);
  });
  if (!index.ok() && passes_over_file(program.on_corrupt, index.error())) {
    out.skips.push_back({.what = Skip::What::file, .error = index.error()});
    index = RecordIndexBuilder{program.source.signature}.finish({}, {});
    const auto size = io::file_size(request.file);
    out.size = size.ok() ? *size : missing_file;
  }
  FOREBAY_TRY(out.index, std::move(index));
  if (out.size == unknown_size) out.size = out.index->identity().size;
  return out;
}

Result<MadeIndex> make(const Program& program, std::uint32_t file, const std::shared_ptr<BufferPool>& pool,
                       const IndexWatch& watch) {
  IndexRequest request = request_for(program.source, file);
  request.pool = pool;
  const bool looks_into = skips_early(program.on_corrupt) || !program.early.attributes.empty();
  if (looks_into) return index_good_records(program, file, request, watch);
  FOREBAY_TRY(IndexOutcome done, load_or_build(request, watch));
  const std::int64_t size = done.index->identity().size;
  return MadeIndex{.index = std::move(done.index), .size = size, .attributes = {}, .skips = {}, .charge = {}};
}

}  // namespace

IndexRequest request_for(const Source& source, std::uint32_t file) {
  return {.file = source.files[file],
          .compression = source.compression,
          .format = source.format,
          .signature = source.signature,
          .max_decompressed_bytes = source.max_decompressed_bytes};
}

Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files, const IndexMeans& means,
                               const std::function<bool()>& go_on, std::span<MadeIndex> made) {
  std::vector<std::optional<Error>> errors(files.size());
  std::atomic<std::size_t> failed{files.size()};  // the first file that failed; files after it are stopped
  const auto one = [&](std::size_t at, const std::stop_token& stop) {
    const auto wanted = [&](std::int64_t) { return at <= failed.load() && !stop.stop_requested(); };
    if (!wanted(0)) return;
    const auto thrown = catch_all(
        [&] {
          auto done = make(program, files[at], means.pool, wanted);
          if (done.ok()) {
            made[at] = *std::move(done);
            made[at].charge = means.pool->charge(made[at].bytes());
          } else {
            errors[at] = done.error();
          }
        },
        no_memory_for_index);
    if (thrown) errors[at] = in_file(*thrown, program.source.files[files[at]]);
    std::size_t first = failed.load();
    while (errors[at] && at < first && !failed.compare_exchange_weak(first, at)) {}
  };
  if (!each_file({.files = files.size(), .threads = means.threads, .period = between_questions}, one, go_on))
    return Error{Code::cancelled, "interrupted"};
  if (failed.load() < files.size()) return *errors[failed.load()];
  return {};
}

}  // namespace forebay::engine
