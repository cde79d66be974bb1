// SPDX-License-Identifier: Apache-2.0
#include <forebay/verify.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>

#include <forebay/records.h>

#include "engine/machine.h"
#include "engine/scanner.h"
#include "engine/sync.h"
#include "engine/verification.h"
#include "formats/framing.h"
#include "io/paths.h"

namespace forebay::engine {
namespace {

constexpr std::chrono::milliseconds progress_period{100};

std::int64_t size_of_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::int64_t{status.st_size} : 0;
}

/// Goes through all files, one thread a file at a time.
class Verification {
 public:
  Verification(Source source, const VerifyOptions& options, const Copies& copies)
      : source_{std::move(source)}, options_{options}, copies_{copies}, reports_(source_.files.size()) {
    for (const std::string& file : source_.files) total_bytes_ += size_of_file(file);
  }
  Result<std::vector<FileReport>> run();

 private:
  void work();
  void look_through(std::uint32_t number, FileReport& report);
  Result<void> copy(const Block& block, const Scanner& scanner, std::uint32_t number,
                    std::optional<RecordWriter>& writer) const;
  void count(const Block& block, FileReport& report) const;
  void publish(const Block& block) EXCLUDES(mutex_);
  void done_with_file() EXCLUDES(mutex_);
  [[nodiscard]] bool wait(VerifyProgress& progress) EXCLUDES(mutex_);

  const Source source_;
  const VerifyOptions& options_;
  const Copies& copies_;
  std::vector<FileReport> reports_;  // each is the own of the thread that has its file
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(usable_memory() / 4);
  KeptFiles kept_{0};
  std::int64_t total_bytes_ = 0;
  std::atomic<std::uint32_t> next_{0};
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  Condition file_done_;
  VerifyProgress progress_ GUARDED_BY(mutex_);
};

void Verification::publish(const Block& block) {
  const Lock lock{mutex_};
  progress_.records += static_cast<std::int64_t>(block.records.size());
  progress_.bytes_read += block.bytes_read;
  progress_.damages += static_cast<std::int64_t>(block.skips.size());
}

void Verification::done_with_file() {
  const Lock lock{mutex_};
  ++progress_.files_done;
  file_done_.notify_all();
}

/// Waits for a while, or until every file is done; says whether they are.
bool Verification::wait(VerifyProgress& progress) {
  const auto files = static_cast<std::int64_t>(source_.files.size());
  const auto deadline = std::chrono::steady_clock::now() + progress_period;
  const Lock lock{mutex_};
  while (progress_.files_done < files && file_done_.wait_until(mutex_, deadline)) {}
  progress = progress_;
  const bool all = progress.files_done == files;
  const auto total = static_cast<double>(std::max<std::int64_t>(total_bytes_, 1));
  progress.fraction = all ? 1 : std::min(1.0, static_cast<double>(progress.bytes_read) / total);
  return all;
}

void Verification::count(const Block& block, FileReport& report) const {
  report.records += static_cast<std::int64_t>(block.records.size());
  report.bytes = block.file_end;
  for (const Skip& skip : block.skips) {
    const bool record = skip.what == Skip::What::record;
    report.records -= record ? 1 : 0;
    ++(record ? report.damaged_records : report.unreadable_ranges);
    report.damaged_bytes += skip.bytes;
    if (report.first.size() >= options_.most_places) continue;
    report.first.push_back({record ? DamagedPlace::What::record : DamagedPlace::What::range, skip.error.place().record,
                            skip.offset, skip.bytes, skip.error});
  }
}

Result<void> Verification::copy(const Block& block, const Scanner& scanner, std::uint32_t number,
                                std::optional<RecordWriter>& writer) const {
  if (!writer) {
    const bool same = copies_.compression == Compression::automatic;
    FOREBAY_TRY(writer,
                RecordWriter::create(copies_.targets[number], same ? scanner.compression() : copies_.compression));
  }
  std::size_t next = 0;  // of the skips
  for (std::size_t i = 0; i < block.records.size(); ++i) {
    bool bad = false;
    for (; next < block.skips.size() && block.skips[next].index == i; ++next)
      bad = block.skips[next].what == Skip::What::record;
    const Extent extent = block.records[i];
    if (!bad) FOREBAY_DO(writer->write({block.base + extent.offset, extent.length}));
  }
  if (!block.last) return {};
  FOREBAY_DO(scanner.unchanged());  // what was verified is what was copied
  return writer->finish();
}

void Verification::look_through(std::uint32_t number, FileReport& report) {
  Scanner scanner{source_, number, pool_, kept_, Damage::find};
  std::optional<RecordWriter> writer;
  Block block;
  for (bool over = false; !over; over = block.last) {
    if (stopped_) return;
    block.clear();
    scanner.scan(block);
    report.compression = scanner.compression();
    count(block, report);
    if (block.error) report.error = block.error;
    if (!copies_.targets.empty() && !report.error) {
      if (auto copied = copy(block, scanner, number, writer); !copied.ok()) report.error = copied.error();
    }
    publish(block);
    if (block.mapping) block.mapping->forget(static_cast<std::size_t>(block.file_offset), block.mapped_bytes);
    if (report.error) return;
  }
  if (writer) report.repaired = copies_.targets[number];
}

void Verification::work() {
  while (!stopped_) {
    const std::uint32_t number = next_.fetch_add(1);
    if (number >= source_.files.size()) return;
    FileReport& report = reports_[number];
    report.file = source_.files[number];
    try {
      look_through(number, report);
    } catch (const std::bad_alloc&) {
      report.error = Error{Code::io, Detail::resource_exhausted, "not enough memory", Place{.file = report.file}};
    }
    done_with_file();
  }
}

Result<std::vector<FileReport>> Verification::run() {
  const auto files = static_cast<std::int64_t>(source_.files.size());
  const std::int64_t threads = options_.threads > 0 ? options_.threads : usable_processors();
  bool all = false;
  VerifyProgress progress;
  {
    std::vector<std::jthread> workers;
    for (std::int64_t i = 0; i < std::min(threads, files); ++i) workers.emplace_back([this] { work(); });
    while (!all && !stopped_) {
      all = wait(progress);
      if (options_.progress && !options_.progress(progress)) stopped_ = true;
    }
  }
  if (all) return std::move(reports_);
  return Error{Code::cancelled, fmt::format("interrupted after {} of {} files, {} records", progress.files_done, files,
                                            progress.records)};
}

}  // namespace

Result<std::vector<FileReport>> look_through(Source source, const VerifyOptions& options, const Copies& copies) {
  return Verification{std::move(source), options, copies}.run();
}

Result<Source> source_of(const std::vector<std::string>& paths, const VerifyOptions& options) {
  if (paths.empty()) return Error{Code::config, Detail::invalid_argument, "no file is named"};
  if (options.max_record_bytes < 1 || options.max_record_bytes > formats::most_record_bytes) {
    return Error{Code::config, Detail::invalid_argument,
                 "max_record_bytes: must be from 1 to " + std::to_string(formats::most_record_bytes)};
  }
  FOREBAY_TRY(std::vector<std::string> files, io::expand(paths, ""));
  return Source{std::move(files), options.compression,
                formats::tfrecord_format({.max_record_bytes = options.max_record_bytes})};
}

}  // namespace forebay::engine

namespace forebay {

Result<std::vector<FileReport>> verify(const std::vector<std::string>& paths, const VerifyOptions& options) {
  FOREBAY_TRY(Source source, engine::source_of(paths, options));
  return engine::look_through(std::move(source), options, {});
}

}  // namespace forebay
