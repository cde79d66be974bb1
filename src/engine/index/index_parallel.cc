// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_parallel.h"

#include <algorithm>
#include <atomic>

#include "engine/index/early_check.h"
#include "engine/index/scan_file.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/requests/open_file.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::chrono::milliseconds between_questions{5};

/// The index and the attributes of one file while it is scanned.
class Making {
 public:
  explicit Making(const Program& program) : program_{program}, columns_(program.early.attributes.size()) {}

  /// Adds the records of a block that the policy lets pass, and their attributes; appends the skipped parts to `skips`.
  void add_good(const Block& block, RecordIndexBuilder& builder) {
    if (program_.on_corrupt.policy != Corrupt::skip_file) {
      for (const auto run : intact_runs(block)) add_run(block, run, builder);
      skips.insert(skips.end(), block.skips.begin(), block.skips.end());
      return;
    }
    if (!skips.empty()) return;  // with skip_file, the first skip ends the file
    const std::span<const Extent> records{block.records};
    add_run(block, block.skips.empty() ? records : records.first(block.skips.front().index), builder);
    if (!block.skips.empty()) skips.push_back(block.skips.front());
  }

  [[nodiscard]] std::vector<AttributeColumn> finish() {
    std::vector<AttributeColumn> out;
    for (AttributeBuilder& column : columns_) out.push_back(column.finish());
    return out;
  }

  std::vector<Skip> skips;

 private:
  void add_run(const Block& block, std::span<const Extent> run, RecordIndexBuilder& builder) {
    builder.add(run, block.file_offset);
    const std::size_t width = columns_.size();
    const auto first = static_cast<std::size_t>(run.data() - block.records.data());
    for (std::size_t number = 0; number < width; ++number) {
      for (std::size_t i = first; i < first + run.size(); ++i)
        columns_[number].add(block.attributes[i * width + number]);
    }
  }

  const Program& program_;
  std::vector<AttributeBuilder> columns_;
};

}  // namespace

Result<MadeIndex> make_index(const Program& program, const IndexRequest& request, std::uint32_t file,
                             const IndexWatch& watch) {
  PassCache kept{0};
  const std::shared_ptr<BufferPool> pool = pool_of(request);
  FileReader scanner{program.source, file, pool, kept, corruption_of(program), check_of(program, pool)};
  Making making{program};
  auto index = scan_index(request, scanner, watch,
                          [&](const Block& block, RecordIndexBuilder& builder) { making.add_good(block, builder); });
  MadeIndex out;
  out.skips = std::move(making.skips);
  if (!index.ok() && passes_over_file(program.on_corrupt, index.error())) {
    out.skips.push_back({.what = Skip::What::file, .error = index.error()});
    FOREBAY_TRY(out.index, RecordIndexBuilder{program.source.signature}.finish({}, {}));
    out.attributes = Making{program}.finish();
    const auto size = io::file_size(request.file);
    out.size = size.ok() ? *size : missing_file;
    return out;
  }
  FOREBAY_TRY(out.index, std::move(index));
  out.attributes = making.finish();
  out.size = out.index->identity().size;
  return out;
}

namespace {

/// Loads what is stored for a file, or makes and stores it.
Result<MadeIndex> load_or_make(const Program& program, std::uint32_t file, const IndexRequest& request,
                               const IndexWatch& watch) {
  if (looks_into_records(program)) {
    if (auto stored = load_made(program, request)) return *std::move(stored);
    FOREBAY_TRY(MadeIndex made, make_index(program, request, file, watch));
    static_cast<void>(store_made(program, request, made));  // without a store, each run makes it
    return made;
  }
  FOREBAY_TRY(IndexOutcome done, load_or_build(request, watch));
  const std::int64_t size = done.index->identity().size;
  return MadeIndex{.index = std::move(done.index), .size = size};
}

}  // namespace

IndexRequest request_for(const Source& source, std::uint32_t file) {
  return {.file = source.files[file],
          .compression = source.compression,
          .format = source.format,
          .signature = source.signature,
          .max_decompressed_bytes = source.max_decompressed_bytes};
}

std::vector<IndexRequest> requests_for(const Source& source, std::span<const std::uint32_t> files,
                                       const IndexMeans& means, const std::shared_ptr<KnownVersions>& known) {
  std::vector<IndexRequest> out;
  for (const std::uint32_t file : files) {
    IndexRequest& request = out.emplace_back(request_for(source, file));
    request.pool = means.pool;
    request.stores = means.stores;
    request.cache = means.cache;
    request.known = known;
  }
  return out;
}

void ask_versions(std::span<IndexRequest> requests, const std::function<bool()>& go_on,
                  const std::shared_ptr<KnownVersions>& known) {
  std::vector<std::string> paths;
  std::vector<IndexRequest*> asked;
  for (IndexRequest& request : requests) {
    if (stores::file_system_of(request.file) == nullptr) continue;
    paths.push_back(request.file);
    asked.push_back(&request);
  }
  const auto found = find_files(paths, go_on, known);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].ok() && found[i]->version != 0) asked[i]->identity = io::identity_of(*found[i]);
  }
}

void ask_versions_and_published(std::span<IndexRequest> requests, std::span<const EntryKey> keys,
                                const AskingForIndexes& asking) {
  AskedFolders asked = ask_published(requests, asking);
  ask_versions(requests, asking.go_on, asking.known);
  take_published(requests, keys, asking, std::move(asked));
}

std::vector<IndexRequest> requests_with_published(const Program& program, std::span<const std::uint32_t> files,
                                                  const IndexMeans& means, const std::function<bool()>& go_on) {
  std::vector<IndexRequest> out = requests_for(program.source, files, means, program.known);
  ask_versions_and_published(out, stored_keys(program), {.pool = means.pool, .go_on = go_on, .known = program.known});
  return out;
}

namespace {

/// Reads or makes the indexes of files that were prepared. `made` is as long as `files`.
Result<void> index_prepared(const Program& program, std::span<const std::uint32_t> files,
                            std::span<const IndexRequest> requests, const IndexMeans& means,
                            const std::function<bool()>& go_on, std::span<MadeIndex> made) {
  std::vector<std::optional<Error>> errors(files.size());
  std::atomic<std::size_t> failed{files.size()};  // the first file that failed; files after it are stopped
  const auto one = [&](std::size_t at, const std::stop_token& stop) {
    const auto wanted = [&](std::int64_t) { return at <= failed.load() && !stop.stop_requested(); };
    if (!wanted(0)) return;
    const auto thrown = catch_all(
        [&] {
          auto done = load_or_make(program, files[at], requests[at], wanted);
          if (done.ok()) {
            made[at] = *std::move(done);
            made[at].charge = means.pool->charge(made[at].bytes(), MemoryUse::scan);
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

}  // namespace

Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files, const IndexMeans& means,
                               const std::function<bool()>& go_on, const TakeIndexes& take) {
  constexpr std::size_t prepared_at_once = 16'384;
  constexpr std::size_t files_at_once = 64;
  for (std::size_t begin = 0; begin < files.size(); begin += prepared_at_once) {
    const auto some = files.subspan(begin, std::min(prepared_at_once, files.size() - begin));
    const std::vector<IndexRequest> requests = requests_with_published(program, some, means, go_on);
    if (go_on && !go_on()) return Error{Code::cancelled, "interrupted"};
    for (std::size_t first = 0; first < some.size(); first += files_at_once) {
      const std::size_t count = std::min(files_at_once, some.size() - first);
      std::vector<MadeIndex> made(count);
      const auto group = some.subspan(first, count);
      const auto done = index_prepared(program, group, std::span{requests}.subspan(first, count), means, go_on, made);
      FOREBAY_DO(take(group, made));
      FOREBAY_DO(done);
    }
  }
  return {};
}

}  // namespace forebay::engine
