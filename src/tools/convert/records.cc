// SPDX-License-Identifier: Apache-2.0
#include <forebay/convert_records.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <forebay/index.h>
#include <forebay/json_codec.h>

#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"
#include "engine/memory/sync.h"
#include "io/paths.h"
#include "tools/convert/copy_records.h"

namespace forebay {

namespace {

/// The inputs, and how many records and bytes each has.
struct Inputs {
  std::vector<std::string> files;
  std::vector<std::int64_t> ends;  // the number of records of a file and those before it
  std::int64_t bytes = 0;

  [[nodiscard]] std::int64_t records() const { return ends.empty() ? 0 : ends.back(); }
};

Result<Inputs> inputs_of(const std::vector<std::string>& patterns, const ConvertRecordsOptions& options) {
  Inputs out;
  IndexOptions indexing{.compression = options.input_compression, .threads = options.threads};
  indexing.progress = [&](const IndexProgress&) { return !options.progress || options.progress({}); };
  FOREBAY_TRY(const std::vector<IndexReport> reports, index_files(patterns, indexing));
  std::int64_t records = 0;
  for (const IndexReport& report : reports) {
    // A folder that cannot be written is no reason to stop: the loaders find the records without a stored index.
    if (report.error && (report.error->code() != Code::io || report.records == 0)) return *report.error;
    out.files.push_back(report.file);
    out.ends.push_back(records += report.records);
    out.bytes += report.bytes;
  }
  return out;
}

/// One call: makes files, several at once.
class RecordsConversion {
 public:
  RecordsConversion(Inputs inputs, const std::string& out, const ConvertRecordsOptions& options, std::int64_t files)
      : inputs_{std::move(inputs)}, out_{out}, options_{options}, files_{files} {}

  Result<std::vector<ConvertedFile>> run(const Json& what) EXCLUDES(mutex_);

 private:
  void work(std::int64_t number, const std::stop_token& stop) EXCLUDES(mutex_);
  [[nodiscard]] tools::RecordRange range_of(std::int64_t number) const;
  [[nodiscard]] std::int64_t begin_of(std::int64_t number) const {
    const std::int64_t records = inputs_.records();  // times a number, it may be too much for 64 bits
    return records / files_ * number + records % files_ * number / files_;
  }
  bool report() EXCLUDES(mutex_);
  Result<void> index(const std::vector<ConvertedFile>& files) const;

  const Inputs inputs_;
  const std::string& out_;
  const ConvertRecordsOptions& options_;
  const std::int64_t files_;
  std::int64_t at_once_ = 1;
  engine::Mutex mutex_;
  ConvertProgress progress_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::int64_t failed_ GUARDED_BY(mutex_) = 0;  // the file of `error_`
};

/// Without a shuffle, the inputs that the file does not need are not even opened.
tools::RecordRange RecordsConversion::range_of(std::int64_t number) const {
  tools::RecordRange out{.files = inputs_.files, .first = begin_of(number)};
  const std::int64_t end = begin_of(number + 1);
  out.records = end - out.first;
  out.bytes_each = inputs_.bytes / std::max<std::int64_t>(inputs_.records(), 1);
  if (options_.shuffle || out.records == 0) return out;
  const auto& ends = inputs_.ends;
  const auto begin_file = std::ranges::upper_bound(ends, out.first) - ends.begin();
  const auto end_file = std::ranges::lower_bound(ends, end) - ends.begin() + 1;
  out.files.assign(inputs_.files.begin() + begin_file, inputs_.files.begin() + end_file);
  if (begin_file > 0) out.first -= ends[static_cast<std::size_t>(begin_file - 1)];
  return out;
}

void RecordsConversion::work(std::int64_t number, const std::stop_token& stop) {
  const std::string path = output_file(out_, number, files_);
  Result<void> done;
  const auto thrown = engine::catch_all(
      [&] {
        const tools::CopyWatch watch = [&](std::int64_t records) {
          const engine::Lock lock{mutex_};
          progress_.records_done += records;
          return !stop.stop_requested() && !error_;
        };
        done = tools::copy_records(range_of(number), path, options_, engine::usual_memory() / at_once_, watch);
      },
      engine::no_memory_for_file);
  const engine::Lock lock{mutex_};
  ++progress_.files_done;
  std::optional<Error> error = thrown;
  if (!done.ok()) error = done.error();
  // Those that stopped, because of another one's error or because somebody asked for it, have nothing to say.
  if (!error || error->code() == Code::cancelled || (error_ && failed_ < number)) return;
  error_ = std::move(error);
  failed_ = number;
}

bool RecordsConversion::report() {
  ConvertProgress now;
  {
    const engine::Lock lock{mutex_};
    if (error_) return false;
    now = progress_;
  }
  return !options_.progress || options_.progress(now);
}

Result<void> RecordsConversion::index(const std::vector<ConvertedFile>& files) const {
  std::vector<std::string> paths;
  for (const ConvertedFile& file : files) paths.push_back(file.path);
  if (paths.empty()) return {};
  FOREBAY_TRY(const std::vector<IndexReport> reports,
              index_files(paths, {.compression = options_.compression, .threads = options_.threads}));
  for (const IndexReport& report : reports) {
    if (report.error) return *report.error;
  }
  return {};
}

Result<std::vector<ConvertedFile>> RecordsConversion::run(const Json& what) {
  FOREBAY_TRY(const std::vector<std::int64_t> missing,
              begin_conversion(out_, files_, options_.shard, options_.existing, what));
  std::vector<ConvertedFile> out;
  {
    const engine::Lock lock{mutex_};
    progress_.files = std::ssize(missing);
    for (const std::int64_t number : missing) progress_.records += begin_of(number + 1) - begin_of(number);
  }
  for (std::int64_t number = options_.shard.index; number < files_; number += options_.shard.count)
    out.push_back({.path = output_file(out_, number, files_),
                   .records = begin_of(number + 1) - begin_of(number),
                   .made = std::ranges::binary_search(missing, number)});
  const std::int64_t threads = options_.threads == 0 ? engine::usual_threads() : options_.threads;
  at_once_ = std::clamp<std::int64_t>(std::ssize(missing), 1, threads);
  const bool all = engine::each_file(
      {.files = missing.size(), .threads = at_once_},
      [&](std::size_t place, const std::stop_token& stop) { work(missing[place], stop); }, [this] { return report(); });
  {
    const engine::Lock lock{mutex_};
    if (error_) return *error_;
    if (!all)
      return Error{Code::cancelled,
                   fmt::format("interrupted after {} of {} records", progress_.records_done, progress_.records)};
  }
  if (options_.index) FOREBAY_DO(index(out));
  return out;
}

/// Everything that decides the content of the files.
Result<Json> note_of(const Inputs& inputs, const ConvertRecordsOptions& options, std::int64_t files) {
  FOREBAY_TRY(Json identity, identity_of_inputs(inputs.files));
  Json out = Json::object();
  out.set("inputs", std::move(identity));
  out.set("records", inputs.records());
  out.set("to", "tfrecord");
  out.set("compression", std::string{JsonCodec<Compression>::write(options.compression).string()});
  out.set("files", files);
  if (options.shuffle) out.set("seed", options.seed);
  return out;
}

}  // namespace

Result<std::vector<ConvertedFile>> convert_records(const std::vector<std::string>& patterns, const std::string& out,
                                                   const ConvertRecordsOptions& asked) {
  ConvertRecordsOptions options = asked;
  if (options.compression == Compression::automatic) options.compression = compression_by_name(out);
  FOREBAY_DO(engine::check_threads(options.threads));
  if (out.empty() || out.ends_with('/'))
    return Error{Code::config, Detail::invalid_argument, "the output must be the path of a file"};
  if (options.file_bytes < 0) return Error{Code::config, Detail::invalid_argument, "file_bytes: must not be negative"};
  FOREBAY_TRY(Inputs inputs, inputs_of(patterns, options));
  const std::int64_t files =
      options.file_bytes == 0 ? options.files : std::max<std::int64_t>(1, (inputs.bytes - 1) / options.file_bytes + 1);
  FOREBAY_TRY(const Json what, note_of(inputs, options, files));
  return RecordsConversion{std::move(inputs), out, options, files}.run(what);
}

}  // namespace forebay
