// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/core.h>

#include "arguments.h"
#include "pump.h"
#include "report.h"
#include "run_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Bench {
  RunFlags flags;
  double seconds = 10;
  bool json = false;
};

struct Measured {
  Pumped done;
  Stats stats;
};

Result<Measured> pass(const Bench& asked) {
  FOREBAY_TRY(Loader pipeline, asked.flags.start());
  Progress progress{asked.json ? Progress::Wanted::no : Progress::Wanted::yes};
  FOREBAY_TRY(const Pumped done, pump(pipeline, {.seconds = asked.seconds}, progress,
                                      [&](const Batch& batch) { asked.flags.announce(pipeline, &batch); }));
  Measured out{.done = done, .stats = pipeline.stats()};
  pipeline.close();
  return out;
}

Json to_json(const Measured& measured) {
  const auto& [done, stats] = measured;
  const double rows = static_cast<double>(std::max<std::int64_t>(done.rows, 1));
  Json stages = Json::object();
  stages.set("scan", stats.scan_seconds);
  stages.set("order", stats.order_seconds);
  stages.set("decode", stats.decode_seconds);
  stages.set("idle", stats.idle_seconds);
  stages.set("consumer_wait", stats.consumer_wait_seconds);
  Json out = Json::object();
  out.set("rows", done.rows);
  out.set("batches", done.batches);
  out.set("seconds", done.seconds);
  out.set("ended", done.ended);
  out.set("threads", stats.threads);
  out.set("bytes_read", stats.bytes_read);
  out.set("rows_per_second", done.seconds > 0 ? static_cast<double>(done.rows) / done.seconds : 0.0);
  out.set("megabytes_per_second", done.seconds > 0 ? static_cast<double>(stats.bytes_read) * 1e-6 / done.seconds : 0.0);
  out.set("nanoseconds_per_row", done.seconds * 1e9 / rows);
  out.set("stage_seconds", std::move(stages));
  out.set("bottleneck", stats.bottleneck());
  return out;
}

std::string to_text(const Measured& measured) {
  const auto& [done, stats] = measured;
  const Json json = to_json(measured);
  const double rows = static_cast<double>(std::max<std::int64_t>(done.rows, 1));
  std::string out = fmt::format("{} rows, {} batches in {:.2f} s ({}), {} threads\n", done.rows, done.batches,
                                done.seconds, done.ended ? "the whole run" : "stopped by --seconds", stats.threads);
  out += fmt::format("{:.0f} rows/s  {:.1f} MB/s read  {:.0f} ns/row\n", json.find("rows_per_second")->number(),
                     json.find("megabytes_per_second")->number(), json.find("nanoseconds_per_row")->number());
  out += "stage           seconds    ns/row\n";
  for (const auto& [name, seconds] : json.find("stage_seconds")->members()) {
    out += fmt::format("{:<14} {:>8.3f}  {:>8.0f}\n", name, seconds.number(), seconds.number() * 1e9 / rows);
  }
  return out + stats.bottleneck() + "\n";
}

Result<void> bench(const Bench& asked) {
  FOREBAY_TRY([[maybe_unused]] const Measured warm,
              pass(asked));  // warms up the page cache, allocators and clocks
  FOREBAY_TRY(const Measured measured, pass(asked));
  if (asked.json) {
    print_line(to_json(measured).pretty());
  } else {
    print(to_text(measured));
  }
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Bench>();
  CLI::App* verb =
      app.add_subcommand("bench", "Runs a document twice and reports the speed of the second run, stage by stage");
  asked->flags.add_to(*verb);
  verb->add_option("--seconds", asked->seconds, "Longest time of each of the two passes")
      ->capture_default_str()
      ->check(positive_number());
  set_command(verb, asked, bench, command);
}

}  // namespace forebay::cli
