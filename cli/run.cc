// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <forebay/files.h>
#include <forebay/state.h>

#include "arguments.h"
#include "digest.h"
#include "pump.h"
#include "report.h"
#include "run_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Run {
  RunFlags flags;
  std::int64_t batches = -1;
  bool digest = false;
  bool json = false;
  std::string resume;
  std::vector<std::string> accept;
  std::string save_state;
  std::string trace;
};

constexpr std::int64_t traced_spans = std::int64_t{1} << 20;

Json summary_json(const Pumped& done, const Stats& stats) {
  Json out = Json::object();
  out.set("rows", done.rows);
  out.set("batches", done.batches);
  out.set("seconds", done.seconds);
  out.set("rows_per_second", done.seconds > 0 ? static_cast<double>(done.rows) / done.seconds : 0.0);
  out.set("bytes_read", stats.bytes_read);
  out.set("records", stats.records);
  out.set("threads", stats.threads);
  out.set("ended", done.ended);
  Json& skipped = out.set("skipped", Json::object());
  skipped.set("records", stats.skipped_records);
  skipped.set("ranges", stats.skipped_ranges);
  skipped.set("files", stats.skipped_files);
  skipped.set("bytes", stats.skipped_bytes);
  Json& queues = out.set("queues", Json::object());
  for (const Fullness& queue : stats.queues) {
    Json& one = queues.set(queue.name, Json::object());
    one.set("held", queue.held);
    one.set("capacity", queue.capacity);
  }
  out.set("requests_in_flight", stats.requests.in_flight);
  if (stats.requests.reads > 0 || stats.requests.bytes_cached > 0) {
    Json& requests = out.set("requests", Json::object());
    for (const auto& [name, value] : stats.requests.named()) {
      if (name.ends_with("seconds")) {
        requests.set(std::string{name}, value);
      } else {
        requests.set(std::string{name}, static_cast<std::int64_t>(value));
      }
    }
  }
  if (!stats.reading.text().empty()) out.set("shard", reading_json(stats.reading));
  out.set("bottleneck", stats.bottleneck());
  return out;
}

std::string summary(const Pumped& done, const Stats& stats) {
  const double per_second = done.seconds > 0 ? 1 / done.seconds : 0;
  return fmt::format("{} rows, {} batches in {:.2f} s: {:.0f} rows/s, {:.1f} MB/s read. {}", done.rows, done.batches,
                     done.seconds, static_cast<double>(done.rows) * per_second,
                     static_cast<double>(stats.bytes_read) * per_second * 1e-6, stats.bottleneck());
}

Result<void> run(const Run& asked) {
  FOREBAY_TRY(Loader pipeline, asked.flags.start({.trace = asked.trace.empty() ? 0 : traced_spans}));
  if (!asked.resume.empty()) {
    FOREBAY_TRY(const Json state, load_state(asked.resume));
    FOREBAY_DO(pipeline.restore(state, asked.accept).at(Place{.file = asked.resume}));
    if (!pipeline.notice().empty()) fmt::print(stderr, "forebay: {}\n", pipeline.notice());
  }
  Progress progress{asked.json ? Progress::Wanted::no : Progress::Wanted::yes};
  PumpLimits limits;
  if (asked.batches >= 0) limits.batches = asked.batches;
  Digest digest;
  const auto pumped = pump(pipeline, limits, progress, [&](const Batch& batch) {
    asked.flags.announce(pipeline, &batch);
    if (asked.digest) digest.add(batch);
  });
  asked.flags.announce(pipeline, nullptr);
  if (!asked.trace.empty()) FOREBAY_DO(write_file(asked.trace, pipeline.trace()));
  FOREBAY_TRY(const Pumped done, pumped);
  const Stats stats = pipeline.stats();
  if (!asked.save_state.empty()) {
    FOREBAY_TRY(const Json state, pipeline.state());
    FOREBAY_DO(save_state(asked.save_state, state));
  }
  pipeline.close();
  if (asked.json) {
    print_line((asked.digest ? digest.json() : summary_json(done, stats)).pretty());
    return {};
  }
  if (asked.digest) print(digest.text());
  if (const std::string skipped = stats.skipped_text(); !skipped.empty()) print_line(skipped);
  if (const std::string read = stats.reading.text(); !read.empty()) print_line("shard: " + read);
  // Digests are compared, and a rate is never the same.
  asked.digest ? fmt::print(stderr, "{}\n", summary(done, stats)) : print_line(summary(done, stats));
  return {};
}

}  // namespace

void add_run(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Run>();
  CLI::App* verb = app.add_subcommand("run", "Runs a document to its end and reports its speed");
  asked->flags.add_to(*verb);
  verb->add_option("--batches", asked->batches, "Stop after this number of batches")->check(whole_number(0));
  verb->add_option("--resume", asked->resume, "Continue from the state in this file")->check(not_empty());
  verb->add_option("--accept", asked->accept,
                   "With --resume: what may differ from the run that saved the state: weights, until, branches (behind "
                   "those it had)")
      ->delimiter(',')
      ->needs("--resume");
  verb->add_option("--save-state", asked->save_state, "Write the state of the run to this file at the end")
      ->check(not_empty());
  verb->add_option("--trace", asked->trace,
                   "Write to this file what each thread did when, for Perfetto; also when the run fails")
      ->check(not_empty());
  verb->add_flag("--digest", asked->digest, "Print count, sum and checksums of every tensor");
  set_command(verb, asked, run, command);
}

}  // namespace forebay::cli
