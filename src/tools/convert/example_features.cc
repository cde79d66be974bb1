// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "columns/wire.h"
#include "config/utf8.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/each_file.h"
#include "engine/memory/machine.h"

namespace forebay {

namespace {

using columns::Tag;
using columns::tag_of;
using columns::Wire;
using columns::WireType;

constexpr Tag first_bytes = tag_of(1, WireType::bytes);

/// Calls `visit` with tag and rest of the message for every field; it reads the value of those it returns true for,
/// else the field is passed over. False: the message is malformed, or `visit` has found so.
template <class Visit>
bool each_field(Wire message, Visit visit) {
  while (!message.empty()) {
    Tag tag;
    if (!columns::read_tag(message, tag)) return false;
    const std::optional<bool> good = visit(tag, message);
    if (good ? !*good : !columns::skip_field(message, tag)) return false;
  }
  return true;
}

/// Calls `visit` with the bytes of every field 1 that is a message or a string.
template <class Visit>
bool each_first(Wire message, Visit visit) {
  return each_field(message, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if (tag != first_bytes) return std::nullopt;
    Wire bytes;
    return columns::read_bytes(rest, bytes) && visit(bytes);
  });
}

enum class Kind : std::uint8_t { none, bytes, floats, integers, mixed };

/// What one feature has in one record.
struct Found {
  Kind kind = Kind::none;
  std::int64_t count = 0;
  bool text = true;
};

/// Counts the values of a list message, in one run of bytes or one by one. `look`: the strings are looked at.
bool count_values(Kind kind, Wire list, bool look, Found& found) {
  const Tag single = tag_of(1, kind == Kind::floats ? WireType::fixed32 : WireType::varint);
  return each_field(list, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if (kind != Kind::bytes && tag == single) {
      ++found.count;
      return std::nullopt;  // passed over as any field
    }
    if (tag != first_bytes) return std::nullopt;
    Wire bytes;
    if (!columns::read_bytes(rest, bytes)) return false;
    if (kind == Kind::floats) found.count += static_cast<std::int64_t>(bytes.size() / sizeof(float));
    if (kind == Kind::integers)
      found.count += std::count_if(bytes.at, bytes.end, [](std::uint8_t byte) { return byte < 0x80; });
    if (kind == Kind::bytes) {
      ++found.count;
      found.text = found.text && (!look || config::is_utf8({reinterpret_cast<const char*>(bytes.at), bytes.size()}));
    }
    return true;
  });
}

/// Several lists of one kind are one; the last kind counts.
bool read_feature(Wire feature, bool look, Found& found) {
  return each_field(feature, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if ((tag & 7) != static_cast<Tag>(WireType::bytes) || tag >> 3 > 3) return std::nullopt;
    const auto kind = static_cast<Kind>(tag >> 3);
    if (found.kind != kind) found = {.kind = kind};
    Wire list;
    return columns::read_bytes(rest, list) && count_values(kind, list, look, found);
  });
}

/// A feature of all records so far, and what the present record has of it: of a key that comes twice, the last.
struct Seen {
  StoredFeature all;
  Kind kind = Kind::none;
  Found now;
};

/// The features of the records of one file.
class FeatureCounts {
 public:
  /// Fails with Code::data for what is no Example.
  Result<void> add(std::string_view record);
  void merge(const FeatureCounts& other);
  [[nodiscard]] StoredFeatures result() const;

 private:
  bool read_entry(Wire entry);
  void end_record();

  std::int64_t records_ = 0;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Seen> seen_;
  std::string padded_, key_;
};

bool FeatureCounts::read_entry(Wire entry) {
  key_.clear();
  Wire feature{};
  const bool good = each_field(entry, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if (tag != first_bytes && tag != tag_of(2, WireType::bytes)) return std::nullopt;
    Wire bytes;
    if (!columns::read_bytes(rest, bytes)) return false;
    if (tag == first_bytes) {
      key_.assign(reinterpret_cast<const char*>(bytes.at), bytes.size());
    } else {
      feature = bytes;
    }
    return true;
  });
  if (!good) return false;
  const auto [place, is_new] = places_.try_emplace(key_, seen_.size());
  if (is_new) seen_.push_back({.all = {.name = key_, .min = records_ == 0 ? INT64_MAX : 0, .text = true}});
  Seen& seen = seen_[place->second];
  seen.now = {};
  return read_feature(feature, seen.all.text, seen.now);
}

void FeatureCounts::end_record() {
  ++records_;
  for (Seen& seen : seen_) {
    const Found now = std::exchange(seen.now, {});
    StoredFeature& all = seen.all;
    all.records += now.count > 0 ? 1 : 0;
    all.min = std::min(all.min, now.count);
    all.max = std::max(all.max, now.count);
    all.text = all.text && now.text;
    if (now.kind == Kind::none || now.kind == seen.kind) continue;
    seen.kind = seen.kind == Kind::none ? now.kind : Kind::mixed;
  }
}

Result<void> FeatureCounts::add(std::string_view record) {
  padded_.assign(record);
  padded_.append(record_slack, '\0');
  const auto* const at = reinterpret_cast<const std::uint8_t*>(padded_.data());
  bool lists = false;
  const bool good = each_field({at, at + record.size()}, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    lists = lists || tag == tag_of(2, WireType::bytes);
    if (tag != first_bytes) return std::nullopt;
    Wire features;
    return columns::read_bytes(rest, features) &&
           each_first(features, [this](Wire entry) { return read_entry(entry); });
  });
  if (lists)
    return Error{Code::data, Detail::invalid_argument,
                 "the record is a SequenceExample; its records can be copied to TFRecord files, without `select` and "
                 "`drop`, but not taken apart"};
  if (!good)
    return Error{Code::data, Detail::data_loss, "not a tf.train.Example: the message is cut short or malformed"};
  end_record();
  return {};
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
    to.all.min = std::min(to.all.min, from.all.min);
    to.all.max = std::max(to.all.max, from.all.max);
    to.all.text = to.all.text && from.all.text;
    if (from.kind != Kind::none && from.kind != to.kind) to.kind = to.kind == Kind::none ? from.kind : Kind::mixed;
  }
  for (Seen& seen : seen_) {
    if (other.records_ > 0 && !other.places_.contains(seen.all.name)) seen.all.min = 0;
  }
  records_ += other.records_;
}

StoredFeatures FeatureCounts::result() const {
  constexpr const char* names[] = {"none", "bytes", "float", "int", "mixed"};
  StoredFeatures out{.records = records_, .features = {}};
  for (const Seen& seen : seen_) {
    out.features.push_back(seen.all);
    out.features.back().kind = names[static_cast<std::size_t>(seen.kind)];
    out.features.back().text = seen.kind == Kind::bytes && seen.all.text;
  }
  std::ranges::sort(out.features, {}, &StoredFeature::name);
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
