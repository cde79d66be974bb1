// SPDX-License-Identifier: Apache-2.0
#include <forebay/index.h>

#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "engine/index/index_file.h"
#include "engine/index/index_parallel.h"
#include "engine/index/made_index.h"
#include "engine/index/published/published_index.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"
#include "engine/memory/sync.h"
#include "engine/program/plan_access.h"
#include "io/file.h"
#include "io/paths.h"
#include "sources/framing.h"
#include "tools/files_of_plan.h"
#include "tools/publish_index.h"

namespace forebay {

namespace {

using engine::IndexRequest;
using Existing = IndexOptions::Existing;

void describe(IndexReport& report, const engine::StoredIndex& found, const engine::RecordIndex* index) {
  report.found = found.state;
  report.reason = found.reason;
  if (index == nullptr) return;
  report.records = index->records();
  report.bytes = index->bytes();
  report.index_bytes = static_cast<std::int64_t>(index->image().size());
}

Result<void> check(const IndexRequest& request, IndexReport& report) {
  FOREBAY_TRY(const engine::StoredIndex found, engine::load_index(request));
  describe(report, found, found.index.get());
  report.path = found.path;
  return {};
}

Result<void> make(const IndexRequest& request, const engine::IndexWatch& watch, Existing existing,
                  IndexReport& report) {
  FOREBAY_TRY(engine::IndexOutcome done, engine::load_or_build(request, watch, existing));
  describe(report, done.found, done.index.get());
  report.built = done.built;
  report.path = std::move(done.path);
  return done.not_stored ? Result<void>{*done.not_stored} : Result<void>{};
}

/// The index of one file for a program that looks into records.
class Attributed {
 public:
  Attributed(const engine::Program& program, std::uint32_t file, IndexRequest request)
      : program_{program}, file_{file}, request_{std::move(request)} {
    request_.made_by = engine::index_key(program);
  }

  /// Reports what is stored. Returns whether that is all that the program needs.
  Result<bool> look(IndexReport& report) const {
    FOREBAY_TRY(const engine::StoredIndex found, engine::load_index(request_));
    describe(report, found, found.index.get());
    report.path = found.path;
    if (engine::load_made(program_, request_)) return true;
    if (found.state == IndexState::good) {
      report.found = IndexState::absent;
      report.reason = "the attributes of the document are not stored";
    }
    return false;
  }

  Result<void> make(const engine::IndexWatch& watch, IndexReport& report) const {
    FOREBAY_TRY(const engine::MadeIndex made, engine::make_index(program_, request_, file_, watch));
    report.records = made.index->records();
    report.bytes = made.index->bytes();
    report.index_bytes = made.bytes();
    report.built = true;
    FOREBAY_TRY(report.path, engine::store_made(program_, request_, made));
    return {};
  }

 private:
  const engine::Program& program_;
  const std::uint32_t file_;
  IndexRequest request_;
};

/// The files of one source and their progress.
class IndexRun {
 public:
  /// `first`: the place of its first file among those that are divided into parts. `program`: null, or one that looks
  /// into the records of the source; it must outlive this object.
  IndexRun(Source source, const IndexOptions& options, std::int64_t first = 0, const engine::Program* program = nullptr)
      : options_{options}, source_{std::move(source)}, program_{program} {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < source_.files.size(); ++i) {
      if ((first + static_cast<std::int64_t>(i)) % options.parts != options.part) continue;
      numbers_.push_back(static_cast<std::uint32_t>(i));
      reports_.push_back({.file = source_.files[i]});
      files.push_back(source_.files[i]);
    }
    progress_.files = std::ssize(files);
    progress_.bytes = io::total_size(files);
  }

  /// The requests for the files, after `run`.
  [[nodiscard]] const std::vector<IndexRequest>& requests() const { return requests_; }

  Result<std::vector<IndexReport>> run() EXCLUDES(mutex_) {
    find();
    const bool all = engine::each_file(
        {.files = reports_.size(), .threads = options_.threads},
        [this](std::size_t file, const std::stop_token& stop) { work(file, stop); },
        [this] { return !options_.progress || options_.progress(progress()); });
    if (!all) return Error{Code::cancelled, "interrupted"};
    return std::move(reports_);
  }

 private:
  /// Asks for what other machines know of the files: their versions, and published indexes.
  void find() {
    const auto go_on = [this] { return !options_.progress || options_.progress(progress()); };
    requests_ = engine::requests_for(source_, numbers_, {.stores = stores_});
    if (options_.existing == Existing::replace) return engine::ask_versions(requests_, go_on);
    const std::vector<engine::EntryKey> plain{{engine::StoredKind::records, 0}};
    engine::ask_versions_and_published(
        requests_, program_ != nullptr ? engine::stored_keys(*program_) : plain,
        {.pool = std::make_shared<engine::BufferPool>(engine::usable_memory() / 4), .go_on = go_on});
  }

  void work(std::size_t file, const std::stop_token& stop) EXCLUDES(mutex_) {
    IndexReport& report = reports_[file];
    Result<void> done;
    const auto thrown = engine::catch_all([&] { done = one(file, report, stop); }, engine::no_memory_for_file);
    if (!done.ok()) report.error = done.error();
    if (thrown) report.error = engine::in_file(*thrown, report.file);
    const engine::Lock lock{mutex_};
    ++progress_.files_done;
  }

  Result<void> one(std::size_t file, IndexReport& report, const std::stop_token& stop) {
    const bool only_check = options_.existing == Existing::only_check;
    const IndexRequest& request = requests_[file];
    if (only_check && program_ == nullptr) return check(request, report);
    const engine::IndexWatch watch = [&](std::int64_t bytes) {
      const engine::Lock lock{mutex_};
      progress_.bytes_done += bytes;
      return !stop.stop_requested();
    };
    if (program_ == nullptr) return make(request, watch, options_.existing, report);
    const Attributed attributed{*program_, numbers_[file], request};
    FOREBAY_TRY(const bool complete, attributed.look(report));
    if (only_check || (complete && options_.existing == Existing::keep)) return {};
    return attributed.make(watch, report);
  }

  IndexProgress progress() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return progress_;
  }

  const IndexOptions& options_;
  const Source source_;
  const engine::Program* const program_;
  std::vector<std::uint32_t> numbers_;  // of the files of the part
  const std::shared_ptr<engine::IndexStores> stores_ = std::make_shared<engine::IndexStores>(options_.index_dir);
  engine::Mutex mutex_;
  std::vector<IndexReport> reports_;  // each report belongs to the thread that indexes its file
  std::vector<IndexRequest> requests_;
  IndexProgress progress_ GUARDED_BY(mutex_);
};

Result<void> check_part(const IndexOptions& options) {
  if (options.parts >= 1 && options.part >= 0 && options.part < options.parts) return {};
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("part must be 0 or more and below parts, found part {} of {}", options.part, options.parts)};
}

}  // namespace

Result<std::vector<IndexReport>> index_files(const std::vector<std::string>& patterns, const IndexOptions& options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  FOREBAY_DO(check_part(options));
  FOREBAY_TRY(std::vector<std::string> files, io::expand(patterns, ""));
  FOREBAY_DO(check_publish(options.publish, files));
  IndexRun run{Source{.files = std::move(files),
                      .compression = options.compression,
                      .format = sources::tfrecord_format(),
                      .signature = sources::tfrecord_signature()},
               options};
  FOREBAY_TRY(std::vector<IndexReport> out, run.run());
  FOREBAY_DO(publish(options.publish, out, run.requests()));
  return out;
}

Result<std::vector<IndexReport>> index_files(const Plan& plan, const IndexOptions& options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  FOREBAY_DO(check_part(options));
  std::vector<const engine::Program*> readers = engine::readers_of_files(engine::program_of(plan));
  if (options.only_needed) {
    std::erase_if(readers, [](const engine::Program* reader) { return !engine::reaches_by_number(*reader); });
  } else if (readers.empty()) {
    return engine::no_records("no index is needed");
  }
  std::erase_if(readers, [](const engine::Program* reader) { return reader->source.files_a_part > 0; });
  if (readers.empty() && !options.only_needed)
    return Error{Code::config, Detail::invalid_argument, "a record is a whole file: no index is needed"};
  std::vector<std::string> files;
  for (const engine::Program* reader : readers)
    files.insert(files.end(), reader->source.files.begin(), reader->source.files.end());
  FOREBAY_DO(check_publish(options.publish, files));
  std::vector<IndexReport> out;
  std::vector<IndexRequest> requests;
  std::int64_t first = 0;  // the place of the reader's first file among those of all
  for (const engine::Program* reader : readers) {
    const engine::Program* const looks = engine::looks_into_records(*reader) ? reader : nullptr;
    IndexRun run{reader->source, options, first, looks};
    FOREBAY_TRY(std::vector<IndexReport> some, run.run());
    first += std::ssize(reader->source.files);
    out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    requests.insert(requests.end(), run.requests().begin(), run.requests().end());
  }
  FOREBAY_DO(publish(options.publish, out, requests));
  return out;
}

}  // namespace forebay
