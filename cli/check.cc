// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <forebay/plan.h>

#include "report.h"
#include "run_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Check {
  std::string document;
  ShardFlags shard;
  bool json = false;
};

Result<void> check(const Check& asked) {
  const auto plan = Plan::load(asked.document, {}, FileChecks::all);
  if (!plan.ok()) return plan.error();
  FOREBAY_TRY(const ShardReading reading, asked.shard.reading(*plan));
  if (!asked.json) {
    print_line(fmt::format("{}: no faults", asked.document));
    if (const std::string text = reading.text(); !text.empty()) print_line("shard: " + text);
    return {};
  }
  Json out = Json::object();
  out.set("ok", true);
  out.set("faults", Json::array());
  if (!reading.text().empty()) out.set("shard", reading_json(reading));
  print_line(out.pretty());
  return {};
}

}  // namespace

void add_check(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Check>();
  CLI::App* verb =
      app.add_subcommand("check", "Plans a document and lists every fault; asks for every file, reads no record");
  standard_input(verb->add_option("DOC", asked->document, "Loader or pipeline document (JSON); -: standard input"))
      ->required();
  asked->shard.add_shard_to(*verb);
  set_command(verb, asked, check, command);
}

}  // namespace forebay::cli
