// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <forebay/index.h>

#include "arguments.h"
#include "enum_names.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Index {
  std::vector<std::string> files;
  std::string document;
  std::string compression = "auto";
  bool force = false;
  bool check = false;
  bool json = false;
  std::string index_dir;
  std::string publish;
};

std::string line_of(const IndexReport& report, const Index& asked) {
  if (asked.check && report.found != IndexState::good) {
    return fmt::format("{}: {}{}{}", report.file,
                       report.found == IndexState::absent ? "no index" : name_of(report.found),
                       report.reason.empty() ? "" : ": ", report.reason);
  }
  return fmt::format("{}: {} records, {} bytes, index of {} bytes {} {}", report.file, report.records, report.bytes,
                     report.index_bytes, report.built ? "written to" : "is good:", report.path);
}

Json json_of(const IndexReport& report) {
  Json out = Json::object();
  out.set("file", report.file);
  out.set("found", std::string{name_of(report.found)});
  if (!report.reason.empty()) out.set("reason", report.reason);
  out.set("built", report.built);
  if (!report.path.empty()) out.set("index", report.path);
  out.set("records", report.records);
  out.set("bytes", report.bytes);
  out.set("index_bytes", report.index_bytes);
  return out;
}

void print_json(const std::vector<IndexReport>& reports, const std::vector<Error>& faults) {
  std::vector<Json> files;
  for (const IndexReport& report : reports) files.push_back(json_of(report));
  std::vector<Json> wrong;
  for (const Error& fault : faults) wrong.push_back(error_json(fault));
  Json out = Json::object();
  out.set("ok", faults.empty());
  out.set("files", Json::array(std::move(files)));
  out.set("faults", Json::array(std::move(wrong)));
  print_line(out.pretty());
}

std::string folder_of(const std::string& file) {
  const std::size_t end = file.find_last_of('/');
  return end == std::string::npos ? "." : file.substr(0, end);
}

Result<std::vector<IndexReport>> reports_of_indexes(const Index& asked, const IndexOptions& options) {
  if (!asked.document.empty()) {
    FOREBAY_TRY(const Plan plan, Plan::load(asked.document));
    return index_files(plan, options);
  }
  if (!asked.files.empty()) return index_files(asked.files, options);
  return Error{Code::config, Detail::invalid_argument, "name TFRecord files, or a document with --document"};
}

Result<void> index(const Index& asked) {
  using Existing = IndexOptions::Existing;
  Progress progress{asked.json ? Progress::Wanted::no : Progress::Wanted::yes};
  const IndexOptions options{.compression = value_of<Compression>(asked.compression),
                             .existing = asked.check   ? Existing::only_check
                                         : asked.force ? Existing::replace
                                                       : Existing::keep,
                             .index_dir = asked.index_dir,
                             .publish = asked.publish,
                             .progress = [&](const IndexProgress& now) {
                               const auto bytes = static_cast<double>(std::max<std::int64_t>(now.bytes, 1));
                               progress.show(static_cast<double>(now.bytes_done) / bytes,
                                             fmt::format("{} of {} files", now.files_done, now.files));
                               return !interrupted();
                             }};
  const auto reports = reports_of_indexes(asked, options);
  progress.clear();
  if (!reports.ok()) {
    if (asked.json) print_json({}, faults_of(reports.error()));
    return reports.error();
  }
  std::vector<Error> faults;
  for (const IndexReport& report : *reports) {
    if (report.error) faults.push_back(*report.error);
    if (asked.check && !report.error && report.found != IndexState::good) {
      faults.push_back({Code::data, Detail::failed_precondition,
                        report.found == IndexState::absent ? "there is no index" : report.reason,
                        Place{.file = report.file}});
    }
    if (!asked.json && !report.error) print_line(line_of(report, asked));
  }
  if (asked.json) print_json(*reports, faults);
  if (!asked.json && !asked.publish.empty() && faults.empty() && !reports->empty()) {
    print_line(fmt::format("published in {}: index-v1 and catalogue-v1; copy both to {}/.forebay/", asked.publish,
                           folder_of(reports->front().file)));
  }
  return faults.empty() ? Result<void>{} : Error::all(std::move(faults));
}

}  // namespace

void add_index(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Index>();
  CLI::App* verb =
      app.add_subcommand("index", "Stores where the records of files are, so that any record can be reached directly");
  CLI::Option* files = verb->add_option("FILE", asked->files, "TFRecord files and patterns (*, ?, [a-z], path@N)");
  verb->add_option("--document", asked->document, "Index the files of this document, in its format")->excludes(files);
  verb->add_option("--compression", asked->compression, "Compression of the files")
      ->capture_default_str()
      ->check(CLI::IsMember(names_of<Compression>()));
  CLI::Option* force = verb->add_flag("--force", asked->force, "Replace indexes that are good, too");
  verb->add_flag("--check", asked->check, "Only report whether each file has a good index; exit code 3 if one has none")
      ->excludes(force);
  verb->add_option("--publish", asked->publish,
                   "Also write what is to lie with the data, in its folder .forebay, into this folder")
      ->check(not_empty());
  verb->add_option("--index-dir", asked->index_dir, "Folder for indexes; left out: .forebay beside the data")
      ->check(not_empty());
  verb->add_flag("--json", asked->json, "Print JSON");
  // The JSON contains the faults.
  verb->callback([asked, &command] { command = {.run = [asked] { return index(*asked); }, .json = false}; });
}

}  // namespace forebay::cli
