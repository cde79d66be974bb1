// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <forebay/infer.h>

#include "arguments.h"
#include "interrupt.h"
#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Schema {
  std::string file;
  std::int64_t records = 1000;
  bool json = false;
};

Result<void> schema(const Schema& asked) {
  FOREBAY_TRY(const InferredManifest found, infer_manifest(asked.file, asked.records, interrupted));
  print_line(found.manifest.pretty());
  for (const std::string& note : found.left_out) fmt::print(stderr, "forebay: note: {}\n", note);
  return {};
}

}  // namespace

void add_schema(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Schema>();
  CLI::App* verb = app.add_subcommand("schema", "Infers the manifest of a TFRecord file of Examples and prints it");
  verb->add_option("FILE", asked->file, "TFRecord file")->required();
  verb->add_option("--records", asked->records, "Records to read")
      ->capture_default_str()
      ->check(whole_number(1, 1'000'000'000));
  set_command(verb, asked, schema, command, "Print errors as JSON (a manifest is always JSON)");
}

}  // namespace forebay::cli
