// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <forebay/printable.h>
#include <forebay/verify.h>

#include "arguments.h"
#include "enum_names.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Verify {
  std::vector<std::string> paths;
  std::string document;
  std::string compression = "auto";
  std::int64_t threads = 0;
  std::string out;
  std::string out_compression = "auto";
  bool force = false;
  bool json = false;
};

/// The counts of all files together, without places.
FileReport total_of(const std::vector<FileReport>& reports) {
  FileReport total;
  for (const FileReport& report : reports) {
    total.records += report.records;
    total.bytes += report.bytes;
    total.corrupt_records += report.corrupt_records;
    total.unreadable_ranges += report.unreadable_ranges;
    total.corrupt_bytes += report.corrupt_bytes;
  }
  return total;
}

void set_counters(const FileReport& report, Json& out) {
  out.set("records", report.records);
  out.set("bytes", report.bytes);
  out.set("corrupt_records", report.corrupt_records);
  out.set("unreadable_ranges", report.unreadable_ranges);
  out.set("corrupt_bytes", report.corrupt_bytes);
}

Json place_json(const CorruptPlace& place) {
  Json out = Json::object();
  out.set("what", place.what == CorruptPlace::What::record ? "record" : "range");
  out.set("record", place.record);
  out.set("offset", place.offset);
  out.set("bytes", place.bytes);
  out.set("reason", place.reason.message());
  return out;
}

Json report_json(const FileReport& report) {
  Json out = Json::object();
  out.set("file", report.file);
  out.set("intact", report.intact());
  out.set("compression", std::string{name_of(report.compression)});
  set_counters(report, out);
  std::vector<Json> places;
  for (const CorruptPlace& place : report.first) places.push_back(place_json(place));
  out.set("corruption", Json::array(std::move(places)));
  if (report.error) out.set("error", error_json(*report.error));
  if (report.repaired) out.set("repaired", *report.repaired);
  return out;
}

Json to_json(const std::vector<FileReport>& reports) {
  Json out = Json::object();
  out.set("ok", std::all_of(reports.begin(), reports.end(), [](const FileReport& report) { return report.intact(); }));
  set_counters(total_of(reports), out);
  std::vector<Json> files;
  for (const FileReport& report : reports) files.push_back(report_json(report));
  out.set("files", Json::array(std::move(files)));
  return out;
}

std::string counters_text(const FileReport& report) {
  std::string out = fmt::format("{} intact records", report.records);
  if (report.corrupts() == 0) return out;
  return out + fmt::format(", {} corrupt, {} unreadable ranges ({} of {} bytes)", report.corrupt_records,
                           report.unreadable_ranges, report.corrupt_bytes, report.bytes);
}

void print_report(const FileReport& report) {
  for (const CorruptPlace& place : report.first) {
    print_line(fmt::format("{} ({} bytes {})", place.reason.text(), place.bytes,
                           place.what == CorruptPlace::What::record ? "of one record" : "that belong to no record"));
  }
  const auto more = report.corrupts() - static_cast<std::int64_t>(report.first.size());
  if (more > 0) print_line(fmt::format("{}: and {} more", visible(report.file), more));
  std::string line = fmt::format("{}: {}", visible(report.file), counters_text(report));
  if (report.error) line += report.error->place().file == report.file ? "; not read to its end" : "; not written";
  if (report.repaired) line += fmt::format("; written to {}", *report.repaired);
  print_line(line);
  if (report.error) fmt::print(stderr, "forebay: error: {}\n", report.error->text());
}

void print_reports(const std::vector<FileReport>& reports) {
  for (const FileReport& report : reports) print_report(report);
  const auto written = [](const FileReport& report) {
    return !report.error || report.error->place().file == report.file;
  };
  const auto corrupt = std::count_if(reports.begin(), reports.end(), [&](const FileReport& report) {
    return report.corrupts() > 0 || (report.error && written(report));
  });
  const auto unwritten = std::ranges::count(reports, false, written);
  print_line(fmt::format("{} files, {} of them not intact{}: {}", reports.size(), corrupt,
                         unwritten > 0 ? fmt::format(", {} not written", unwritten) : "",
                         counters_text(total_of(reports))));
}

int code_of(const std::vector<FileReport>& reports, bool repaired) {
  int code = 0;
  for (const FileReport& report : reports) {
    if (report.error) code = std::max(code, exit_code(*report.error));
    if (report.corrupts() > 0 && !repaired) code = std::max(code, 3);
  }
  return code;
}

Result<std::vector<FileReport>> reports_of(const Verify& asked, const VerifyOptions& options) {
  if (!asked.document.empty()) {
    FOREBAY_TRY(const Plan plan, Plan::load(asked.document));
    return forebay::verify(plan, options);
  }
  const std::vector<std::string>& paths = asked.paths;
  if (paths.empty())
    return Error{Code::config, Detail::invalid_argument, "name TFRecord files, or a document with --document"};
  using Existing = RepairOptions::Existing;
  const RepairOptions repairing{value_of<Compression>(asked.out_compression),
                                asked.force ? Existing::replace : Existing::refuse};
  return asked.out.empty() ? forebay::verify(paths, options) : repair(paths, asked.out, repairing, options);
}

Result<int> verify(const Verify& asked) {
  if (asked.out.empty() && (asked.force || asked.out_compression != "auto")) {
    return Error{Code::config, Detail::invalid_argument, "--force and --output-compression need --repair OUT"};
  }
  Progress progress{asked.json ? Progress::Wanted::no : Progress::Wanted::yes};
  const VerifyOptions options{.compression = value_of<Compression>(asked.compression),
                              .threads = asked.threads,
                              .progress = [&](const VerifyProgress& now) {
                                progress.show(now.fraction, fmt::format("{} files  {} records  {} corrupt",
                                                                        now.files_done, now.records, now.corrupts));
                                return !interrupted();
                              }};
  auto reports = reports_of(asked, options);
  progress.clear();
  if (!reports.ok()) return reports.error();
  if (asked.json) {
    print_line(to_json(*reports).pretty());
  } else {
    print_reports(*reports);
  }
  return code_of(*reports, !asked.out.empty());
}

}  // namespace

void add_verify(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Verify>();
  CLI::App* verb = app.add_subcommand("verify", "Verifies every checksum of record files and lists what is corrupt");
  CLI::Option* files = verb->add_option("FILE", asked->paths, "TFRecord files and patterns (*, ?, [a-z], path@N)");
  CLI::Option* document =
      verb->add_option("--document", asked->document,
                       "Verify the files of this document, in its format; a format without checksums shows only "
                       "corrupt compression and records that it refuses")
          ->excludes(files);
  verb->add_option("--compression", asked->compression,
                   "Compression of the files: auto, none, gzip, zlib, zstd, bzip2 or xz")
      ->check(CLI::IsMember(names_of<Compression>()));
  verb->add_option("--threads", asked->threads, "Files at once; 0: one for every CPU")->check(whole_number(0, 1024));
  verb->add_option("--repair", asked->out,
                   "Write the intact records here: a file for one FILE, a folder for several (same names)")
      ->check(not_empty())
      ->excludes(document);
  verb->add_option("--output-compression", asked->out_compression,
                   "Compression of the written files; auto: the same as each input")
      ->check(CLI::IsMember(names_of<Compression>()));
  verb->add_flag("--force", asked->force, "Replace existing files; never an input");
  verb->add_flag("--json", asked->json, "Print JSON");
  verb->footer(
      "Exit codes: 0 all intact, or repaired and written; 3 corruption found, and no --repair; 2 usage; 4 a file could "
      "not "
      "be read or written; 130 interrupted.");
  verb->callback([asked, &command] {
    command.json = asked->json;
    command.run = [asked, &command]() -> Result<void> {
      FOREBAY_TRY(command.code, verify(*asked));
      return {};
    };
  });
}

}  // namespace forebay::cli
