// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <forebay/infer.h>
#include <forebay/inspect.h>
#include <forebay/printable.h>

#include "arguments.h"
#include "interrupt.h"
#include "python_package.h"
#include "report.h"
#include "source_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Schema {
  SourceFlags source;
  std::int64_t records = 10'000;
  bool all = false, stats = false, markdown = false, json = false;
  bool python = false, document = false, manifest = false;
};

Result<void> manifest(const Schema& asked) {
  if (asked.source.paths.size() != 1)
    return Error{Code::config, Detail::invalid_argument, "--manifest: name one TFRecord file of Examples"};
  FOREBAY_TRY(const InferredManifest found, infer_manifest(asked.source.paths[0], asked.records, interrupted));
  print_line(found.manifest.pretty());
  for (const std::string& note : found.left_out) fmt::print(stderr, "forebay: note: {}\n", note);
  return {};
}

Result<void> print_json(const Inspection& found) {
  Json out = found.report;
  if (!found.document.is(Json::Kind::null)) {
    out.set("document", found.document);
    out.set("python", found.python);
  }
  print_line(visible_json(out.pretty()));
  return {};
}

void print_all(const Inspection& found, const Schema& asked) {
  if (asked.markdown) {
    print(found.markdown(asked.stats));
    if (!found.python.empty())
      print("\n```python\n" + found.python + "```\n\n```json\n" + visible_json(found.document.pretty()) + "\n```\n");
    return;
  }
  print(found.text(asked.stats));
  if (found.python.empty()) return;
  print("\nIn Python:\n\n" + found.python + "\nAs a document:\n\n" + visible_json(found.document.pretty()) + "\n");
}

std::vector<std::string> python_arguments(const Schema& asked) {
  std::vector<std::string> out{"schema"};
  out.push_back(asked.all ? "--all" : "--records=" + std::to_string(asked.records));
  if (asked.stats) out.emplace_back("--stats");
  if (asked.markdown) out.emplace_back("--markdown");
  if (asked.json) out.emplace_back("--json");
  if (asked.python) out.emplace_back("--python");
  out.emplace_back("--");
  out.insert(out.end(), asked.source.paths.begin(), asked.source.paths.end());
  return out;
}

/// Files of data. Those that only Python reads are given to the package.
Result<Inspection> inspect_data(const Schema& asked, const InspectOptions& options) {
  FOREBAY_TRY(const FoundSource found, find_source(asked.source.paths, options.source));
  if (found.name == "parquet" || found.name == "arrow_file")
    FOREBAY_DO(run_python("forebay._inspect.command", python_arguments(asked),
                          "schema: Parquet and Arrow files are read by Python"));
  return inspect(asked.source.paths, options);
}

/// A document is run only when its values are asked for.
Result<Inspection> inspect_document(const Schema& asked, const InspectOptions& options) {
  FOREBAY_TRY(const Plan plan, Plan::load(asked.source.paths[0]));
  if (!asked.stats && !asked.json) return inspect_schema(plan);
  FOREBAY_TRY(Loader loader, Loader::start(plan));
  return inspect(loader, options);
}

Result<void> schema(const Schema& asked) {
  if (asked.manifest) return manifest(asked);
  FOREBAY_TRY(InspectOptions options, asked.source.options());
  options.records = asked.records;
  if (asked.all) options.records.reset();
  FOREBAY_TRY(const bool document, asked.source.names_document());
  const auto found = document ? inspect_document(asked, options) : inspect_data(asked, options);
  if (!found.ok()) return found.error();
  if (asked.json) return print_json(*found);
  if (asked.python || asked.document) {
    if (found->python.empty())
      return Error{Code::config, Detail::invalid_argument, "--python and --document are for files of data"};
    print(asked.python ? found->python : visible_json(found->document.pretty()) + "\n");
    return {};
  }
  print_all(*found, asked);
  return {};
}

}  // namespace

void add_schema(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Schema>();
  CLI::App* verb =
      app.add_subcommand("schema", "Says what is in files: every feature, and the pipeline that reads them");
  asked->source.add_to(*verb);
  CLI::Option* records = verb->add_option("--records", asked->records, "Records to look at: a sample")
                             ->capture_default_str()
                             ->check(whole_number(1, 1'000'000'000));
  verb->add_flag("--all", asked->all, "Look at all records")->excludes(records);
  verb->add_flag("--stats", asked->stats, "Counts, ranges, lengths and frequent values of each feature");
  CLI::Option* markdown = verb->add_flag("--markdown", asked->markdown, "Print tables of Markdown");
  CLI::Option* python = verb->add_flag("--python", asked->python, "Print the call in Python only")->excludes(markdown);
  CLI::Option* document =
      verb->add_flag("--document", asked->document, "Print the document only")->excludes(markdown)->excludes(python);
  verb->add_flag("--manifest", asked->manifest,
                 "Print a manifest for the JSON loader, with the features it can describe")
      ->excludes(markdown)
      ->excludes(python)
      ->excludes(document);
  set_command(verb, asked, schema, command, "Print JSON, everything that is known");
}

}  // namespace forebay::cli
