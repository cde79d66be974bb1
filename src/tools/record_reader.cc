// SPDX-License-Identifier: Apache-2.0
#include <forebay/record_reader.h>

#include <span>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>
#include <forebay/plugin.h>

#include "base/base64.h"
#include "plan/data_files.h"
#include "tools/work_file.h"

namespace forebay {

namespace {

constexpr std::int64_t reader_state_version = 1;

/// A path without wildcards, whatever it is: the options of the source are bound before there is a file.
constexpr const char* no_file = "work";

Error reader_fault(const std::string& what) { return Error{Code::config, Detail::invalid_argument, what}; }

Error bad_state(const std::string& what) {
  return Error{Code::state, Detail::invalid_argument, fmt::format("the state of a reader: {}", what)};
}

Result<Source> bind_source(const RecordReaderOptions& options) {
  std::vector<std::string> known{"identity"};
  for (const SourceType& type : Registry::global().sources()) {
    known.push_back(type.description.name);
    if (known.back() != options.kind) continue;
    Json whole = options.options;
    if (whole.find("files") != nullptr)
      return reader_fault("files: a reader is given its files one by one; leave the option out");
    whole.set("files", Json::array({Json{no_file}}));
    FOREBAY_TRY(Source source, type.bind(whole, plan::with_files({})));
    if (!source.format) break;
    return source;
  }
  return reader_fault(
      fmt::format("kind: {}{}", quote(options.kind), among(options.kind, known, "is no source of files; sources are")));
}

}  // namespace

struct RecordReader::Body {
  Body(RecordReaderOptions options, Source bound) : given{std::move(options)}, source{std::move(bound)} {}

  RecordReaderOptions given;
  Source source;  // without a format: identity
  Counters counters;
  std::optional<std::string> work;  // open, or opened by the next read
  std::int64_t produced = 0;        // records of `work` that were read
  std::unique_ptr<tools::WorkFile> file;
  std::optional<Error> fault;  // of the next read: records before it come out first

  [[nodiscard]] bool identity() const { return given.kind == "identity"; }
  void drop() {
    work.reset();
    file.reset();
    fault.reset();
    produced = 0;
  }
  void complete() {
    drop();
    ++counters.work_units_completed;
  }
  Result<std::vector<ReadRecord>> next(std::int64_t count, const StopCheck* check);
  void open() { file = std::make_unique<tools::WorkFile>(source, *work, given.on_corrupt); }
};

Result<RecordReader> RecordReader::make(const RecordReaderOptions& options) {
  if (options.kind != "identity") {
    FOREBAY_TRY(Source source, bind_source(options));
    return RecordReader{std::make_unique<Body>(options, std::move(source))};
  }
  if (options.options.text() != "{}") return reader_fault("options: a reader of kind 'identity' has none");
  return RecordReader{std::make_unique<Body>(options, Source{})};
}

RecordReader::RecordReader(std::unique_ptr<Body> body) : body_{std::move(body)} {}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

bool RecordReader::needs_work() const { return !body_->work; }

void RecordReader::start(std::string work) {
  body_->drop();
  body_->work = std::move(work);
}

/// Records of the open file; none at its end.
Result<std::vector<ReadRecord>> RecordReader::Body::next(std::int64_t count, const StopCheck* check) {
  std::vector<ReadRecord> out;
  if (identity()) {
    out.push_back({.key = *work, .value = *work});
    complete();
    return out;
  }
  if (fault) return *fault;
  if (!file) open();
  while (std::ssize(out) < count) {
    Result<std::optional<ReadRecord>> record = file->next(check);
    if (!record.ok()) {
      if (out.empty()) return record.error();
      fault = record.error();
      break;
    }
    if (!*record) break;
    out.push_back(**std::move(record));
  }
  return out;
}

Result<std::vector<ReadRecord>> RecordReader::read(std::int64_t count, const StopCheck* check) {
  if (count < 1) return reader_fault(fmt::format("count: {} records, allowed is 1 or more", count));
  Body& body = *body_;
  if (!body.work) return std::vector<ReadRecord>{};
  Result<std::vector<ReadRecord>> found = body.next(count, check);
  if (body.file) {
    body.counters.records_skipped += body.file->take_skipped();
    if (body.file->take_skipped_file()) ++body.counters.files_skipped;
  }
  if (found.ok()) {
    body.counters.records_produced += std::ssize(*found);
    body.produced += std::ssize(*found);
    if (body.work && found->empty()) body.complete();
    return found;
  }
  const bool missing = found.error().detail() == Detail::not_found && body.given.skip_missing;
  body.drop();
  if (!missing) return found;
  ++body.counters.files_skipped;
  return std::vector<ReadRecord>{};
}

Result<std::vector<ReadRecord>> RecordReader::read(Queue& works, std::int64_t count, const StopCheck* check) {
  while (true) {
    if (needs_work()) {
      FOREBAY_TRY(const TakenElements taken, works.dequeue(Queue::forever, check));
      if (taken.got == TakenElements::Got::end) return std::vector<ReadRecord>{};
      const Tensor& path = taken.tensors.front();
      if (path.dtype != DType::string || path.count() != 1)
        return reader_fault("the queue of a reader has paths: its first component must be a string[]");
      start(std::string{path.string(0)});
    }
    FOREBAY_TRY(std::vector<ReadRecord> found, read(count, check));
    if (!found.empty()) return found;
  }
}

const RecordReader::Counters& RecordReader::counters() const { return body_->counters; }

void RecordReader::reset() {
  body_->drop();
  body_->counters = {};
}

std::string RecordReader::state() const {
  Json out = Json::object();
  out.set("version", Json{reader_state_version});
  out.set("kind", Json{body_->given.kind});
  out.set("records_produced", Json{body_->counters.records_produced});
  out.set("work_units_completed", Json{body_->counters.work_units_completed});
  out.set("records_skipped", Json{body_->counters.records_skipped});
  out.set("files_skipped", Json{body_->counters.files_skipped});
  // Paths are bytes, and JSON text is not.
  out.set("work_base64", body_->work ? Json{to_base64(std::as_bytes(std::span{*body_->work}))} : Json{});
  out.set("records", Json{body_->produced});
  return out.text();
}

namespace {

Result<std::int64_t> state_number(const Json& state, const char* name) {
  const Json* const found = state.find(name);
  if (found == nullptr || found->kind() != Json::Kind::integer || found->integer() < 0)
    return bad_state(fmt::format("{}: must be an integer from 0 on", name));
  return found->integer();
}

}  // namespace

Result<void> RecordReader::restore(std::string_view state) {
  auto parsed = parse_json(state);
  if (!parsed.ok() || parsed->kind() != Json::Kind::object) return bad_state("it is no JSON object");
  const Json* const kind = parsed->find("kind");
  if (kind == nullptr || kind->kind() != Json::Kind::string || kind->string() != body_->given.kind)
    return bad_state(fmt::format("it is not of a reader of kind {}", quote(body_->given.kind)));
  FOREBAY_TRY(const std::int64_t version, state_number(*parsed, "version"));
  if (version != reader_state_version)
    return bad_state(fmt::format("its version is {}, allowed is {}", version, reader_state_version));
  Body next{body_->given, body_->source};
  FOREBAY_TRY(next.counters.records_produced, state_number(*parsed, "records_produced"));
  FOREBAY_TRY(next.counters.work_units_completed, state_number(*parsed, "work_units_completed"));
  FOREBAY_TRY(next.counters.records_skipped, state_number(*parsed, "records_skipped"));
  FOREBAY_TRY(next.counters.files_skipped, state_number(*parsed, "files_skipped"));
  FOREBAY_TRY(next.produced, state_number(*parsed, "records"));
  const Json* const work = parsed->find("work_base64");
  if (work != nullptr && work->is(Json::Kind::string)) {
    const auto path = from_base64(work->string());
    if (!path) return bad_state("work_base64: must be base64");
    next.work = std::string{reinterpret_cast<const char*>(path->data()), path->size()};
    next.open();
    for (std::int64_t record = 0; record < next.produced; ++record) {
      auto skipped = next.file->next(nullptr);
      if (!skipped.ok())
        return Error{Code::state, skipped.error().detail(), skipped.error().message(), skipped.error().place()};
      if (!*skipped)
        return bad_state(
            fmt::format("file {} has {} records now, and {} were read", quote(*next.work), record, next.produced));
    }
    static_cast<void>(next.file->take_skipped());  // counted in the state
  }
  *body_ = std::move(next);
  return {};
}

}  // namespace forebay
