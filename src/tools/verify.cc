// SPDX-License-Identifier: Apache-2.0
#include <forebay/verify.h>

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/core.h>

#include <forebay/records.h>

#include "engine/index/scan_file.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"
#include "engine/memory/sync.h"
#include "engine/program/plan_access.h"
#include "io/file.h"
#include "io/paths.h"
#include "sources/framing.h"
#include "tools/file_kind.h"
#include "tools/files_of_plan.h"
#include "tools/verify_files.h"

namespace forebay::engine {
namespace {

constexpr std::chrono::milliseconds progress_period{100};

/// Verifies all files; each thread handles one file at a time.
class VerifyRun {
 public:
  VerifyRun(Source source, const VerifyOptions& options, const Copies& copies)
      : source_{std::move(source)},
        options_{options},
        copies_{copies},
        reports_(source_.files.size()),
        total_bytes_{io::total_size(source_.files)} {}
  Result<std::vector<FileReport>> run();

 private:
  void work(std::uint32_t number, const std::stop_token& stop) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> look_through(std::uint32_t number, FileReport& report, const std::stop_token& stop);
  Result<void> copy(const Block& block, const FileReader& scanner, std::uint32_t number,
                    std::optional<RecordWriter>& writer) const;
  void count(const Block& block, FileReport& report) const;
  void publish(const Block& block) EXCLUDES(mutex_);
  [[nodiscard]] VerifyProgress progress() EXCLUDES(mutex_);
  [[nodiscard]] bool go_on() EXCLUDES(mutex_);

  const Source source_;
  const VerifyOptions& options_;
  const Copies& copies_;
  std::vector<FileReport> reports_;  // each report belongs to the thread that verifies its file
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(usable_memory() / 4);
  PassCache kept_{0};
  const std::int64_t total_bytes_;
  Mutex mutex_;
  VerifyProgress progress_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> done_ GUARDED_BY(mutex_);  // files whose reports VerifyOptions::report gets next
};

void VerifyRun::publish(const Block& block) {
  const Lock lock{mutex_};
  progress_.records += static_cast<std::int64_t>(block.records.size());
  progress_.bytes_read += block.bytes_read;
  progress_.corrupts += static_cast<std::int64_t>(block.skips.size());
}

VerifyProgress VerifyRun::progress() {
  const Lock lock{mutex_};
  VerifyProgress now = progress_;
  const auto total = static_cast<double>(std::max<std::int64_t>(total_bytes_, 1));
  const bool all = now.files_done == static_cast<std::int64_t>(source_.files.size());
  now.fraction = all ? 1 : std::min(1.0, static_cast<double>(now.bytes_read) / total);
  return now;
}

void VerifyRun::count(const Block& block, FileReport& report) const {
  report.records += static_cast<std::int64_t>(block.records.size());
  report.bytes = block.file_end;
  for (const Skip& skip : block.skips) {
    const bool record = skip.what == Skip::What::record;
    report.records -= record ? 1 : 0;
    ++(record ? report.corrupt_records : report.unreadable_ranges);
    report.corrupt_bytes += skip.bytes;
    if (report.first.size() >= options_.max_places) continue;
    report.first.push_back({record ? CorruptPlace::What::record : CorruptPlace::What::range, skip.error.place().record,
                            skip.offset, skip.bytes, skip.error});
  }
}

Result<void> VerifyRun::copy(const Block& block, const FileReader& scanner, std::uint32_t number,
                             std::optional<RecordWriter>& writer) const {
  if (!writer) {
    const bool same = copies_.compression == Compression::automatic;
    FOREBAY_TRY(writer,
                RecordWriter::create(copies_.targets[number], same ? scanner.compression() : copies_.compression));
  }
  const std::byte* const bytes = block.checked.empty() ? block.base : block.checked.data();
  for (const auto run : intact_runs(block)) {
    for (const Extent extent : run) FOREBAY_DO(writer->write({bytes + extent.offset, extent.length}));
  }
  if (!block.last) return {};
  FOREBAY_DO(scanner.unchanged());  // the copied bytes are the verified ones
  return writer->finish();
}

Result<void> VerifyRun::look_through(std::uint32_t number, FileReport& report, const std::stop_token& stop) {
  FileReader scanner{source_, number, pool_, kept_, Corruption::find};
  std::optional<RecordWriter> writer;
  Result<void> copied;  // after a failure the file is verified all the same
  FOREBAY_DO(each_block(scanner, [&](const Block& block) -> Result<void> {
    report.compression = scanner.compression();
    count(block, report);
    if (copied.ok() && !copies_.targets.empty() && !block.error) copied = copy(block, scanner, number, writer);
    publish(block);
    if (stop.stop_requested() && !block.last) return Error{Code::cancelled, "interrupted"};
    return {};
  }));
  FOREBAY_DO(copied);
  if (writer) report.repaired = copies_.targets[number];
  return {};
}

void VerifyRun::work(std::uint32_t number, const std::stop_token& stop) {
  FileReport& report = reports_[number];
  Result<void> done;
  const auto thrown = catch_all(
      [&] {
        report.file = source_.files[number];
        done = look_through(number, report, stop);
      },
      no_memory_for_file);
  if (!done.ok()) report.error = done.error();
  if (thrown) report.error = in_file(*thrown, source_.files[number]);
  const bool stopped = !done.ok() && done.error().code() == Code::cancelled;
  const Lock lock{mutex_};
  ++progress_.files_done;
  if (options_.report && !stopped) done_.push_back(number);
}

/// Tells what has been found since the last call. Called by the thread that called `run`.
bool VerifyRun::go_on() {
  std::vector<std::uint32_t> done;
  {
    const Lock lock{mutex_};
    done.swap(done_);
  }
  for (const std::uint32_t number : done) options_.report(reports_[number]);
  return !options_.progress || options_.progress(progress());
}

Result<std::vector<FileReport>> VerifyRun::run() {
  const bool all = each_file(
      {.files = reports_.size(), .threads = options_.threads, .period = progress_period},
      [this](std::size_t file, const std::stop_token& stop) { work(static_cast<std::uint32_t>(file), stop); },
      [this] { return go_on(); });
  if (all) return std::move(reports_);
  const VerifyProgress now = progress();
  return Error{Code::cancelled, fmt::format("interrupted after {} of {} files, {} records", now.files_done,
                                            reports_.size(), now.records)};
}

}  // namespace

Result<std::vector<FileReport>> look_through(Source source, const VerifyOptions& options, const Copies& copies) {
  return VerifyRun{std::move(source), options, copies}.run();
}

Result<Source> source_of(const std::vector<std::string>& paths, const VerifyOptions& options) {
  if (paths.empty()) return Error{Code::config, Detail::invalid_argument, "no file is named"};
  FOREBAY_DO(check_threads(options.threads));
  if (options.max_record_bytes < 1 || options.max_record_bytes > sources::max_record_bytes) {
    return Error{Code::config, Detail::invalid_argument,
                 "max_record_bytes: must be from 1 to " + std::to_string(sources::max_record_bytes)};
  }
  FOREBAY_TRY(std::vector<std::string> files, io::expand(paths, ""));
  return Source{std::move(files), options.compression,
                sources::tfrecord_format({.max_record_bytes = options.max_record_bytes})};
}

}  // namespace forebay::engine

namespace forebay {

namespace {

/// Fails when the files are healthy ones of another kind: a verdict would call them corrupt.
Result<void> refuse_other_kinds(const std::vector<FileReport>& reports) {
  const auto speaks_for = [](const FileReport& report) { return report.intact() || report.records > 0; };
  if (reports.empty() || std::ranges::any_of(reports, speaks_for)) return {};
  const std::string& file = reports.front().file;
  const auto kind = tools::kind_of_file(file);
  constexpr std::array<std::string_view, 7> others{"tar", "npy", "npz", "parquet", "arrow_file", "whole_file", "csv"};
  if (!kind.ok() || std::ranges::find(others, kind->source) == others.end()) return {};
  const std::string what = kind->source == tools::FileKind::media ? "a picture or a clip" : "'" + kind->source + "'";
  return Error{
      Code::config, Detail::invalid_argument,
      fmt::format("the file is {}, and without a document TFRecord files are verified; name a document that reads it: "
                  "`forebay verify --document FILE`. `forebay schema` proposes one",
                  what),
      Place{.file = file}};
}

}  // namespace

Result<std::vector<FileReport>> verify(const std::vector<std::string>& paths, const VerifyOptions& options) {
  FOREBAY_TRY(Source source, engine::source_of(paths, options));
  FOREBAY_TRY(std::vector<FileReport> reports, engine::look_through(std::move(source), options, {}));
  FOREBAY_DO(refuse_other_kinds(reports));
  return reports;
}

Result<std::vector<FileReport>> verify(const Plan& plan, const VerifyOptions& options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  const std::vector<const engine::Program*> readers = engine::readers_of_files(engine::program_of(plan));
  if (readers.empty()) return engine::no_records("they have no checksums to verify");
  std::vector<FileReport> out;
  for (const engine::Program* reader : readers) {
    FOREBAY_TRY(std::vector<FileReport> some, engine::look_through(reader->source, options, {}));
    out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return out;
}

}  // namespace forebay
