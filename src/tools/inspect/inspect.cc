// SPDX-License-Identifier: Apache-2.0
#include <forebay/inspect.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <forebay/files.h>
#include <forebay/messages.h>
#include <forebay/plugin.h>

#include "engine/memory/machine.h"
#include "plan/data_files.h"
#include "sources/labelled_files.h"
#include "tools/file_kind.h"
#include "tools/guess_source.h"
#include "tools/inspect/csv_look.h"
#include "tools/inspect/plan_look.h"
#include "tools/inspect/propose.h"
#include "tools/inspect/python_call.h"
#include "tools/inspect/record_look.h"
#include "tools/inspect/report.h"

namespace forebay {

namespace {

using tools::GuessedSource;
using tools::Inspected;

constexpr std::int64_t files_of_sample = 16;
constexpr std::int64_t usual_batch = 32;

Json json_with(std::string key, Json value) {
  Json out = Json::object();
  out.set(std::move(key), std::move(value));
  return out;
}

Json document_of(const tools::Proposal& proposal, std::int64_t rows) {
  Json out = json_with("source", json_with(proposal.kind, proposal.source));
  if (!proposal.decoder.empty()) out.set("decode", json_with(proposal.decoder, proposal.decode));
  out.set("steps", Json::array({json_with("batch", json_with("size", rows))}));
  if (proposal.skip_records) out.set("on_corrupt", "skip_record");
  return out;
}

/// The source with its options bound, to some of its files.
Result<Source> bound_source(const GuessedSource& guessed) {
  std::vector<std::string> known;
  for (const SourceType& type : Registry::global().sources()) {
    known.push_back(type.description.name);
    if (known.back() != guessed.kind) continue;
    FOREBAY_TRY(Source source, type.bind(guessed.options, plan::with_files({})));
    return source;
  }
  return Error{
      Code::config, Detail::invalid_argument,
      fmt::format("source: there is none named {}{}", quote(guessed.kind), among(guessed.kind, known, "sources"))};
}

bool has_rows(const std::string& kind) {
  const auto& types = Registry::global().sources();
  return std::any_of(types.begin(), types.end(),
                     [&](const SourceType& type) { return type.description.name == kind && type.rows; });
}

/// Which files, and how many records of each.
tools::RecordPass pass_over(Source source, const InspectOptions& options) {
  tools::RecordPass pass{.source = std::move(source), .threads = options.threads, .go_on = options.go_on};
  if (!options.records) return pass;
  std::vector<std::string>& files = pass.source.files;
  const std::int64_t wanted = std::max<std::int64_t>(*options.records, 1);
  // Of whole files each is one record.
  const std::int64_t most = pass.source.files_a_part > 0 ? wanted : std::min(files_of_sample, wanted);
  const std::int64_t count = std::clamp<std::int64_t>(std::ssize(files), 1, most);
  files.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, std::ssize(files))));
  pass.records = (wanted + count - 1) / count;
  return pass;
}

const char* payload_name(const std::string& kind) {
  if (kind == "lines") return "line";
  return kind == tools::FileKind::media ? "content" : "record";
}

const char* name_of_records(const std::string& kind) {
  if (kind == "lines") return "lines of text";
  if (kind == tools::FileKind::media) return "whole files";
  return kind == "fixed_length" ? "records of one length" : "records of bytes";
}

/// Of CSV files: finds out the form and completes the options of the source.
Result<tools::CsvForm> form_of(GuessedSource& guessed) {
  if (guessed.head.empty()) {
    FOREBAY_TRY(tools::FileKind kind, tools::kind_of_file(guessed.files.front()));
    guessed.head = std::move(kind.head);
  }
  FOREBAY_TRY(tools::CsvForm form, tools::csv_form(guessed.head, guessed.files.front(), guessed.options));
  tools::set_csv_options(form, guessed.options);
  return form;
}

tools::MakeLook look_for(const std::string& kind, const tools::CsvForm& form) {
  if (kind == "tfrecord") return tools::message_look();
  if (kind == "csv") return tools::csv_look(form);
  return kind == "tar" ? tools::tar_look() : tools::payload_look();
}

void propose(const std::string& kind, const tools::CsvForm& form, const tools::RecordLook& look, Inspected& out) {
  if (kind == "tfrecord") {
    tools::propose_messages(look, out);
  } else if (kind == "csv") {
    tools::propose_csv(form, look, out);
  } else if (kind == "tar") {
    tools::propose_tar(look, out);
  } else {
    out.what = name_of_records(kind);
    tools::propose_payloads(look, payload_name(kind), out);
  }
}

/// Names the step that decodes strings which are all images, or all clips of sound.
void note_contents(tools::InspectedFeature& feature) {
  const tools::StringStats& strings = feature.stats.strings;
  const std::int64_t values = strings.bytes.count;
  if (feature.dtype != "string" || feature.shape != "[]" || !feature.note.empty() || values == 0) return;
  const auto all_of = [&](const std::set<std::string_view>& formats) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < strings.formats.size(); ++i)
      count += formats.contains(tools::content_formats[i]) ? strings.formats[i] : 0;
    return count == values;
  };
  if (all_of({"jpeg", "png", "gif", "webp", "bmp"}))
    feature.note =
        fmt::format(R"(.decode_image("{}", resize=[224, 224]) makes arrays of one size of it)", feature.name);
  if (all_of({"wav", "flac", "ogg", "mp3"}))
    feature.note = fmt::format(R"(.decode_audio("{}", mono=True) makes samples of it)", feature.name);
}

/// The labels of files by their folders, and a note of what each number means.
void add_labels(const Source& source, Inspected& out) {
  const auto* const found = dynamic_cast<const sources::LabelledFiles*>(source.format.get());
  if (found == nullptr || found->tensor.empty()) return;
  tools::InspectedFeature label{.name = found->tensor, .dtype = "int64"};
  for (const std::int32_t number : found->labels) {
    const std::int64_t value = number;
    label.stats.integers.add({&value, 1});  // of all files, also of those that were not looked at
  }
  label.stats.records = out.records;
  if (out.records > 0) label.stats.lengths = {.count = out.records, .sum = out.records, .min = 1, .max = 1};
  label.stats.kinds[static_cast<std::size_t>(tools::ValueKind::integers)] = label.stats.records;
  out.features.push_back(std::move(label));
  constexpr std::size_t shown = 20;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, found->classes.size()); ++i)
    names.push_back(fmt::format("{} {}", i, found->classes[i]));
  const std::size_t more = found->classes.size() - names.size();
  out.notes.push_back(
      fmt::format("{} is the number of the folder: {}{}; classes=[…] keeps the numbers where a folder is missing",
                  found->tensor, fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
}

Result<Inspected> inspect_records(GuessedSource guessed, const InspectOptions& options) {
  tools::CsvForm form;
  if (guessed.kind == "csv") {
    FOREBAY_TRY(form, form_of(guessed));
  }
  FOREBAY_TRY(Source source, bound_source(guessed));
  source.files = guessed.files;
  const tools::RecordPass pass = pass_over(source, options);
  FOREBAY_TRY(const tools::RecordLook look, tools::look_at_records(pass, look_for(guessed.kind, form)));
  Inspected out{.files = std::ssize(guessed.files),
                .files_read = look.files,
                .records = look.records,
                .bytes = look.bytes,
                .sample = look.more || look.files < std::ssize(guessed.files),
                .proposal = {.kind = guessed.kind, .source = guessed.options}};
  propose(guessed.kind, form, look, out);
  add_labels(source, out);
  return out;
}

Result<Inspected> inspect_rows(const GuessedSource& guessed, const InspectOptions& options) {
  Inspected out{.proposal = {.kind = guessed.kind, .source = guessed.options}};
  FOREBAY_TRY(const Plan plan, Plan::make(document_of(out.proposal, usual_batch), ""));
  out.what = guessed.kind + " arrays";
  FOREBAY_TRY(Loader loader, Loader::start(plan, {.threads = options.threads}));
  FOREBAY_DO(tools::look_at_run(loader, {.rows = options.records, .go_on = options.go_on}, out));
  out.files = out.files_read = std::ssize(guessed.files);
  return out;
}

Result<void> check(const InspectOptions& options) {
  if (options.records && *options.records < 0)
    return Error{Code::config, Detail::invalid_argument, "records: must be 0 or more"};
  FOREBAY_DO(engine::check_threads(options.threads));
  if (options.source.empty() && !options.options.members().empty())
    return Error{Code::config, Detail::invalid_argument,
                 "options of a source are given: name the source, such as fixed_length"};
  for (const char* name : {"files", "arrays"})
    if (options.options.find(name) != nullptr)
      return Error{Code::config, Detail::invalid_argument,
                   std::string{name} + ": the files are those that are inspected; leave the option out"};
  return {};
}

Result<Inspected> inspect_files(const std::vector<std::string>& paths, const InspectOptions& options) {
  FOREBAY_DO(check(options));
  FOREBAY_TRY(GuessedSource guessed, tools::guess_source(paths, options.source, options.options));
  if (guessed.kind == tools::FileKind::parquet || guessed.kind == tools::FileKind::arrow_file)
    return Error{Code::config, Detail::failed_precondition,
                 fmt::format("{} files are read by the Python package: fb.inspect(…)",
                             guessed.kind == tools::FileKind::parquet ? "Parquet" : "Arrow"),
                 Place{.file = guessed.files.front()}};
  FOREBAY_TRY(Inspected found,
              has_rows(guessed.kind) ? inspect_rows(guessed, options) : inspect_records(guessed, options));
  std::ranges::for_each(found.features, note_contents);
  found.notes.insert(found.notes.begin(), guessed.notes.begin(), guessed.notes.end());
  if (found.sample)
    found.notes.emplace_back(
        "the document fits the sample: what a later record lacks is an error that names it; all records are looked at "
        "with --all, in Python records=None");
  return found;
}

}  // namespace

Result<FoundSource> find_source(const std::vector<std::string>& paths, const std::string& source) {
  FOREBAY_TRY(GuessedSource guessed, tools::guess_source(paths, source, Json::object()));
  return FoundSource{std::move(guessed.kind), std::move(guessed.files)};
}

Result<Inspection> inspect(const std::vector<std::string>& paths, const InspectOptions& options) {
  FOREBAY_TRY(const Inspected found, inspect_files(paths, options));
  Inspection out{.report = tools::report_of(found), .document = document_of(found.proposal, usual_batch)};
  out.python = tools::python_call(out.document);
  return out;
}

Result<Inspection> inspect(Loader& loader, const InspectOptions& options) {
  FOREBAY_DO(check(options));
  Inspected found{.what = options.source.empty() ? "batches of a document" : options.source};
  FOREBAY_DO(tools::look_at_run(loader, {.rows = options.records, .go_on = options.go_on}, found));
  tools::leave_out_presences(found.features);
  return Inspection{.report = tools::report_of(found)};
}

struct BatchInspector::State {
  std::vector<ColumnSpec> columns;
  Inspected found;
};

BatchInspector::BatchInspector(const Plan& plan)
    : state_{std::make_unique<State>(State{plan.outputs(), {.features = tools::features_of(plan)}})} {}
BatchInspector::BatchInspector(BatchInspector&&) noexcept = default;
BatchInspector& BatchInspector::operator=(BatchInspector&&) noexcept = default;
BatchInspector::~BatchInspector() = default;

std::int64_t BatchInspector::add(const Batch& batch, std::int64_t rows) {
  const std::int64_t added = tools::add_batch(batch, state_->columns, rows, state_->found);
  state_->found.records += added;
  return added;
}

Inspection BatchInspector::result(const std::string& what, bool sample) const {
  Inspected found = state_->found;
  found.what = what;
  found.sample = sample;
  tools::leave_out_presences(found.features);
  return {.report = tools::report_of(found)};
}

Inspection inspect_schema(const Plan& plan) {
  return {.report = tools::report_of({.what = "batches of a document", .features = tools::features_of(plan)})};
}

Result<Json> document_for(const std::vector<std::string>& paths, std::int64_t rows, const InspectOptions& options) {
  FOREBAY_TRY(const Inspected found, inspect_files(paths, options));
  return document_of(found.proposal, rows);
}

Result<bool> looks_like_document(const std::string& path) {
  constexpr std::int64_t longest_document = 64 << 20;
  FOREBAY_TRY(const std::string head, read_file(path, 4096));
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  const std::string_view text = std::string_view{head}.substr(first);
  if (!text.starts_with("{") && !text.starts_with("//")) return false;
  if (path.ends_with(".json")) return true;
  FOREBAY_TRY(const std::string all, read_file(path, longest_document));
  const auto json = parse_json(all);
  return json.ok() && json->is(Json::Kind::object) &&
         (json->find("source") != nullptr || (json->find("type") != nullptr && json->find("args") != nullptr));
}

}  // namespace forebay
