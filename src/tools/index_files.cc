// SPDX-License-Identifier: Apache-2.0
#include <forebay/index.h>

#include <iterator>

#include "engine/index/index_file.h"
#include "engine/index/index_parallel.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"
#include "engine/memory/sync.h"
#include "engine/program/plan_access.h"
#include "io/file.h"
#include "io/paths.h"
#include "sources/framing.h"
#include "tools/needs_files.h"

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

/// The files of one call and their progress.
class IndexRun {
 public:
  /// `program`: null, or one that looks into the records of the source; it must outlive this object.
  IndexRun(Source source, const IndexOptions& options, const engine::Program* program = nullptr)
      : options_{options}, source_{std::move(source)}, program_{program}, reports_(source_.files.size()) {
    progress_.files = std::ssize(source_.files);
    progress_.bytes = io::total_size(source_.files);
    for (std::size_t i = 0; i < reports_.size(); ++i) reports_[i].file = source_.files[i];
  }

  Result<std::vector<IndexReport>> run() EXCLUDES(mutex_) {
    const bool all = engine::each_file(
        {.files = reports_.size(), .threads = options_.threads},
        [this](std::size_t file, const std::stop_token& stop) { work(static_cast<std::uint32_t>(file), stop); },
        [this] { return !options_.progress || options_.progress(progress()); });
    if (!all) return Error{Code::cancelled, "interrupted"};
    return std::move(reports_);
  }

 private:
  void work(std::uint32_t number, const std::stop_token& stop) EXCLUDES(mutex_) {
    IndexReport& report = reports_[number];
    Result<void> done;
    const auto thrown = engine::catch_all([&] { done = one(number, report, stop); }, engine::no_memory_for_file);
    if (!done.ok()) report.error = done.error();
    if (thrown) report.error = engine::in_file(*thrown, report.file);
    const engine::Lock lock{mutex_};
    ++progress_.files_done;
  }

  Result<void> one(std::uint32_t number, IndexReport& report, const std::stop_token& stop) {
    const bool only_check = options_.existing == Existing::only_check;
    IndexRequest request = engine::request_for(source_, number);
    request.stores = stores_;
    if (only_check && program_ == nullptr) return check(request, report);
    const engine::IndexWatch watch = [&](std::int64_t bytes) {
      const engine::Lock lock{mutex_};
      progress_.bytes_done += bytes;
      return !stop.stop_requested();
    };
    if (program_ == nullptr) return make(request, watch, options_.existing, report);
    const Attributed attributed{*program_, number, std::move(request)};
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
  const std::shared_ptr<engine::IndexStores> stores_ = std::make_shared<engine::IndexStores>(options_.index_dir);
  engine::Mutex mutex_;
  std::vector<IndexReport> reports_;  // each report belongs to the thread that indexes its file
  IndexProgress progress_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::vector<IndexReport>> index_files(const std::vector<std::string>& patterns, const IndexOptions& options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  FOREBAY_TRY(std::vector<std::string> files, io::expand(patterns, ""));
  return IndexRun{Source{.files = std::move(files),
                         .compression = options.compression,
                         .format = sources::tfrecord_format(),
                         .signature = sources::tfrecord_signature()},
                  options}
      .run();
}

Result<std::vector<IndexReport>> index_files(const Plan& plan, const IndexOptions& options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  const engine::Program& program = engine::program_of(plan);
  // Attributes are stored with the plan's own source; those of branches are computed when an order asks.
  const bool looks = program.branches.empty() && engine::looks_into_records(program);
  std::vector<IndexReport> out;
  for (const Source* source : engine::sources_of(program)) {
    FOREBAY_DO(engine::needs_files(*source));
    if (source->files_a_part > 0)
      return Error{Code::config, Detail::invalid_argument, "a record is a whole file: no index is needed"};
    FOREBAY_TRY(std::vector<IndexReport> some, (IndexRun{*source, options, looks ? &program : nullptr}.run()));
    out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return out;
}

}  // namespace forebay
