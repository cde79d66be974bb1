// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include <forebay/index.h>
#include <sys/stat.h>

#include "engine/index_file.h"
#include "engine/machine.h"
#include "engine/sync.h"
#include "formats/framing.h"
#include "io/paths.h"

namespace forebay {
namespace {

using engine::IndexRequest;
using Existing = IndexOptions::Existing;

constexpr auto between_calls = std::chrono::milliseconds{50};

std::int64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::int64_t{status.st_size} : 0;
}

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

/// The files of one call, and who is at which of them.
class Indexing {
 public:
  Indexing(std::vector<std::string> files, const IndexOptions& options) : options_{options}, reports_(files.size()) {
    progress_.files = static_cast<std::int64_t>(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      progress_.bytes += size_of(files[i]);
      reports_[i].file = std::move(files[i]);
    }
  }

  Result<std::vector<IndexReport>> run() EXCLUDES(mutex_) {
    const std::int64_t wanted = options_.threads > 0 ? options_.threads : engine::usable_processors();
    const auto files = static_cast<std::int64_t>(reports_.size());
    {
      std::vector<std::jthread> threads;
      for (std::int64_t i = 0; i < std::min(wanted, files); ++i) threads.emplace_back([this] { work(); });
      watch();
    }
    const engine::Lock lock{mutex_};
    if (stopped_) return Error{Code::cancelled, "interrupted"};
    return std::move(reports_);
  }

 private:
  void work() EXCLUDES(mutex_) {
    while (IndexReport* const report = claim()) {
      auto done = one(*report);
      if (!done.ok()) report->error = done.error();
      const engine::Lock lock{mutex_};
      ++progress_.files_done;
      changed_.notify_one();
    }
  }

  IndexReport* claim() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return stopped_ || next_ == reports_.size() ? nullptr : &reports_[next_++];
  }

  Result<void> one(IndexReport& report) try {
    const IndexRequest request{.file = report.file,
                               .compression = options_.compression,
                               .format = formats::tfrecord_format(),
                               .signature = formats::tfrecord_signature()};
    if (options_.existing == Existing::only_check) return check(request, report);
    return make(
        request, [this](std::int64_t bytes) { return read(bytes); }, options_.existing, report);
  } catch (const std::bad_alloc&) {
    return Error{Code::io, Detail::resource_exhausted, "no memory for the index", Place{.file = report.file}};
  }

  bool read(std::int64_t bytes) EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    progress_.bytes_done += bytes;
    return !stopped_;
  }

  /// Until all files are done, or the caller's program wants no more.
  void watch() EXCLUDES(mutex_) {
    while (true) {
      const IndexProgress now = progress();
      const bool more = !options_.progress || options_.progress(now);
      const engine::Lock lock{mutex_};
      stopped_ = !more;
      if (stopped_ || now.files_done == now.files) return;
      if (progress_.files_done == now.files_done) {
        changed_.wait_until(mutex_, std::chrono::steady_clock::now() + between_calls);
      }
    }
  }

  IndexProgress progress() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return progress_;
  }

  const IndexOptions& options_;
  engine::Mutex mutex_;
  engine::Condition changed_;
  std::vector<IndexReport> reports_;  // each of the worker that has claimed it, until all are done
  IndexProgress progress_ GUARDED_BY(mutex_);
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<std::vector<IndexReport>> index_files(const std::vector<std::string>& patterns, const IndexOptions& options) {
  FOREBAY_TRY(std::vector<std::string> files, io::expand(patterns, ""));
  return Indexing{std::move(files), options}.run();
}

}  // namespace forebay
