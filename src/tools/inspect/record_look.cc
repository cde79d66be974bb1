// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/record_look.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include <forebay/record.h>

#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/sync.h"
#include "tools/work_file.h"

namespace forebay::tools {

namespace {

/// Ends a read when a stop was requested.
class StopOfToken final : public StopCheck {
 public:
  explicit StopOfToken(const std::stop_token& token) : token_{token} {}
  void look() const override {
    if (token_.stop_requested()) throw engine::Closed{};
  }

 private:
  const std::stop_token& token_;
};

/// Reads the files; each one has a look of its own, which is merged when those before it are complete.
class PassOverFiles {
 public:
  PassOverFiles(const RecordPass& pass, const MakeLook& make) : pass_{pass}, make_{make} {}
  Result<RecordLook> run();

 private:
  struct Looked {
    RecordLook look;
    Result<void> done;
  };
  void work(std::size_t number, const std::stop_token& stop) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> look_through(std::size_t number, RecordLook& look, const StopCheck& stop) const;
  void hand_in(std::size_t number, Looked looked) EXCLUDES(mutex_);
  [[nodiscard]] bool failed() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return error_.has_value();
  }

  const RecordPass& pass_;
  const MakeLook& make_;
  engine::Mutex mutex_;
  std::map<std::size_t, Looked> waiting_ GUARDED_BY(mutex_);  // for a file before them
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  RecordLook all_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

Result<void> PassOverFiles::look_through(std::size_t number, RecordLook& look, const StopCheck& stop) const {
  const std::string& path = pass_.source.files[number];
  WorkFile file{pass_.source, path, OnCorruptFile::fail};
  const LookAtRecord visit = make_();
  ++look.files;
  while (true) {
    FOREBAY_TRY(auto record, file.next(&stop));
    if (!record) return {};
    if (pass_.records && look.records == *pass_.records) {
      look.more = true;
      return {};
    }
    std::string& bytes = record->value;
    const std::size_t size = bytes.size();
    bytes.append(record_slack, '\0');
    FOREBAY_DO(visit(std::string_view{bytes}.substr(0, size), look).at(Place{.file = path, .record = look.records}));
    ++look.records;
    look.bytes += static_cast<std::int64_t>(size);
  }
}

void PassOverFiles::hand_in(std::size_t number, Looked looked) {
  const engine::Lock lock{mutex_};
  waiting_.emplace(number, std::move(looked));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; ++next_) {
    if (!error_ && !first->second.done.ok()) error_ = first->second.done.error();
    if (!error_) all_.merge(std::move(first->second.look));
    first = waiting_.erase(first);
  }
}

void PassOverFiles::work(std::size_t number, const std::stop_token& stop) {
  Looked looked;
  const auto thrown = engine::catch_all([&] { looked.done = look_through(number, looked.look, StopOfToken{stop}); },
                                        engine::no_memory_for_file);
  const std::string& path = pass_.source.files[number];
  if (thrown) looked.done = engine::in_file(*thrown, path);
  std::optional<Error>& malformed = looked.look.first_malformed;
  if (malformed) malformed = malformed->at(Place{.file = path});
  hand_in(number, std::move(looked));
}

Result<RecordLook> PassOverFiles::run() {
  const bool all = engine::each_file(
      {.files = pass_.source.files.size(), .threads = pass_.threads},
      [this](std::size_t file, const std::stop_token& stop) { work(file, stop); },
      [this] { return !failed() && (!pass_.go_on || pass_.go_on()); });
  const engine::Lock lock{mutex_};
  // That of the first file that has one: they are handed in in order. A file that was stopped has none of its own.
  if (error_ && error_->code() != Code::cancelled) return *error_;
  if (!all || error_)
    return Error{Code::cancelled, fmt::format("interrupted after {} of {} files", next_, pass_.source.files.size())};
  return std::move(all_);
}

}  // namespace

void RecordLook::merge(RecordLook&& other) {
  files += other.files;
  records += other.records;
  bytes += other.bytes;
  more = more || other.more;
  payloads.merge(other.payloads);
  sequences += other.sequences;
  examples += other.examples;
  malformed += other.malformed;
  if (!first_malformed) first_malformed = other.first_malformed;
  features.merge(std::move(other.features));
  lists.merge(std::move(other.lists));
  if (columns.size() < other.columns.size()) columns.resize(other.columns.size());
  for (std::size_t i = 0; i < other.columns.size(); ++i) columns[i].merge(other.columns[i]);
}

Result<RecordLook> look_at_records(const RecordPass& pass, const MakeLook& make) {
  return PassOverFiles{pass, make}.run();
}

}  // namespace forebay::tools
