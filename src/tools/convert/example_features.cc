// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"
#include "tools/convert/count_values.h"

namespace forebay {

namespace {

using columns::Tag;
using columns::tag_of;
using columns::Wire;
using columns::WireType;
namespace messages = tools::messages;
using messages::FoundValues;
using Kind = messages::ValueKind;

/// What a record has of a list of frames.
struct FoundFrames {
  std::int64_t count = 0;
  FoundValues values = {};                // of all frames: the kind and whether it is text
  std::int64_t min = INT64_MAX, max = 0;  // values in a frame

  bool add(Wire frame, bool look) {
    FoundValues found;
    if (!messages::read_feature(frame, look, found)) return false;
    ++count;
    min = std::min(min, found.count);
    max = std::max(max, found.count);
    values.text = values.text && found.text;
    if (found.kind != Kind::none && found.kind != values.kind)
      values.kind = values.kind == Kind::none ? found.kind : Kind::mixed;
    return true;
  }
};

/// A feature of all records so far, and what the present record has of it: of a key that comes twice, the last.
struct Seen {
  StoredFeature all;
  Kind kind = Kind::none;
  FoundValues now;
};
struct SeenList {
  StoredList all;
  Kind kind = Kind::none;
  FoundFrames now;
};

Kind joined(Kind before, Kind now) {
  if (now == Kind::none || now == before) return before;
  return before == Kind::none ? now : Kind::mixed;
}

/// The features of the records of one file, and the lists of SequenceExamples.
class FeatureCounts {
 public:
  /// Fails with Code::data for what is neither an Example nor a SequenceExample.
  Result<void> add(std::string_view record);
  void merge(const FeatureCounts& other);
  [[nodiscard]] StoredFeatures result() const;

 private:
  bool read_feature(Wire entry);
  bool read_list(Wire entry);
  void end_record();
  void merge_lists(const FeatureCounts& other);

  std::int64_t records_ = 0;
  std::unordered_map<std::string, std::size_t> places_, list_places_;
  std::vector<Seen> seen_;
  std::vector<SeenList> lists_;
  std::string padded_, key_;
};

bool FeatureCounts::read_feature(Wire entry) {
  Wire feature;
  if (!messages::read_entry(entry, key_, feature)) return false;
  const auto [place, is_new] = places_.try_emplace(key_, seen_.size());
  if (is_new) seen_.push_back({.all = {.name = key_, .min = records_ == 0 ? INT64_MAX : 0, .text = true}});
  Seen& seen = seen_[place->second];
  seen.now = {};
  return messages::read_feature(feature, seen.all.text, seen.now);
}

bool FeatureCounts::read_list(Wire entry) {
  Wire frames;
  if (!messages::read_entry(entry, key_, frames)) return false;
  const auto [place, is_new] = list_places_.try_emplace(key_, lists_.size());
  if (is_new) lists_.push_back({.all = {.name = key_, .min = INT64_MAX, .text = true}});
  SeenList& seen = lists_[place->second];
  seen.now = {};
  return messages::each_first(frames, [&](Wire frame) { return seen.now.add(frame, seen.all.text); });
}

void FeatureCounts::end_record() {
  ++records_;
  for (Seen& seen : seen_) {
    const FoundValues now = std::exchange(seen.now, {});
    StoredFeature& all = seen.all;
    all.records += now.count > 0 ? 1 : 0;
    all.min = std::min(all.min, now.count);
    all.max = std::max(all.max, now.count);
    all.text = all.text && now.text;
    seen.kind = joined(seen.kind, now.kind);
  }
  for (SeenList& seen : lists_) {
    const FoundFrames now = std::exchange(seen.now, {});
    StoredList& all = seen.all;
    all.frames += now.count;
    all.min = std::min(all.min, now.min);
    all.max = std::max(all.max, now.max);
    all.text = all.text && now.values.text;
    seen.kind = joined(seen.kind, now.values.kind);
  }
}

Result<void> FeatureCounts::add(std::string_view record) {
  padded_.assign(record);
  padded_.append(record_slack, '\0');
  const auto* const at = reinterpret_cast<const std::uint8_t*>(padded_.data());
  bool lists = false;
  const bool good = messages::each_field({at, at + record.size()}, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    const bool in_list = tag == tag_of(2, WireType::bytes);
    lists = lists || in_list;
    if (!in_list && tag != messages::first_bytes) return std::nullopt;
    Wire entries;
    return columns::read_bytes(rest, entries) &&
           messages::each_first(entries, [&](Wire entry) { return in_list ? read_list(entry) : read_feature(entry); });
  });
  if (!good)
    return Error{
        Code::data, Detail::data_loss,
        fmt::format("not a tf.train.{}: the message is cut short or malformed", lists ? "SequenceExample" : "Example")};
  end_record();
  return {};
}

/// Adds the sizes, the kind and whether it is text of a feature, or a list, in other files.
template <class Found>
void join(Found& to, const Found& from) {
  to.all.min = std::min(to.all.min, from.all.min);
  to.all.max = std::max(to.all.max, from.all.max);
  to.all.text = to.all.text && from.all.text;
  to.kind = joined(to.kind, from.kind);
}

void FeatureCounts::merge(const FeatureCounts& other) {
  for (const Seen& from : other.seen_) {
    const auto [place, is_new] = places_.try_emplace(from.all.name, seen_.size());
    if (is_new) {
      seen_.push_back(from);
      if (records_ > 0) seen_.back().all.min = 0;
      continue;
    }
    Seen& to = seen_[place->second];
    to.all.records += from.all.records;
    join(to, from);
  }
  for (Seen& seen : seen_) {
    if (other.records_ > 0 && !other.places_.contains(seen.all.name)) seen.all.min = 0;
  }
  records_ += other.records_;
  merge_lists(other);
}

void FeatureCounts::merge_lists(const FeatureCounts& other) {
  for (const SeenList& from : other.lists_) {
    const auto [place, is_new] = list_places_.try_emplace(from.all.name, lists_.size());
    if (is_new) {
      lists_.push_back(from);
      continue;
    }
    SeenList& to = lists_[place->second];
    to.all.frames += from.all.frames;
    join(to, from);
  }
}

/// `seen` as it is told, by name.
template <class Stored, class SeenOnes>
std::vector<Stored> told(const SeenOnes& all) {
  constexpr const char* names[] = {"none", "bytes", "float", "int", "mixed"};
  std::vector<Stored> out;
  for (const auto& seen : all) {
    out.push_back(seen.all);
    out.back().kind = names[static_cast<std::size_t>(seen.kind)];
    out.back().text = seen.kind == Kind::bytes && seen.all.text;
  }
  std::ranges::sort(out, {}, &Stored::name);
  return out;
}

StoredFeatures FeatureCounts::result() const {
  StoredFeatures out{.records = records_, .features = told<StoredFeature>(seen_), .lists = told<StoredList>(lists_)};
  for (StoredList& list : out.lists) list.min = std::min(list.min, list.max);  // without a frame, 0
  return out;
}

Result<void> count_file(const std::string& path, Compression compression, const std::stop_token& stop,
                        FeatureCounts& counts) {
  std::optional<Error> fault;
  const auto look = [&](const RecordView& record) {
    auto added = counts.add(record.bytes);
    if (!added.ok()) fault = added.error().at(Place{.file = path, .record = record.number, .offset = record.offset});
    return added.ok();
  };
  const auto done =
      each_record(path, look, {.compression = compression, .go_on = [&] { return !stop.stop_requested(); }});
  return fault ? Result<void>{*fault} : done;
}

}  // namespace

Result<StoredFeatures> features_of_examples(const std::vector<std::string>& files, Compression compression,
                                            std::int64_t threads, const std::function<bool()>& go_on) {
  FOREBAY_DO(engine::check_threads(threads));
  std::vector<FeatureCounts> counts(files.size());
  std::vector<std::optional<Error>> errors(files.size());
  const auto count = [&](std::size_t file, const std::stop_token& stop) {
    Result<void> done;
    errors[file] = engine::catch_all([&] { done = count_file(files[file], compression, stop, counts[file]); },
                                     engine::no_memory_for_file);
    if (!done.ok()) errors[file] = done.error();
  };
  const bool all =
      engine::each_file({.files = files.size(), .threads = threads}, count, [&] { return !go_on || go_on(); });
  if (!all) return Error{Code::cancelled, "interrupted"};
  FeatureCounts out;
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (errors[file]) return *errors[file];
    out.merge(counts[file]);
  }
  return out.result();
}

}  // namespace forebay
