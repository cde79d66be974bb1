// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/message_look.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

namespace forebay::tools {

namespace {

using columns::tag_of;
using columns::WireType;

std::string_view text_of(columns::Wire bytes) { return {reinterpret_cast<const char*>(bytes.at), bytes.size()}; }

/// Calls `visit` with the fields of a message; false when it is malformed or `visit` says so.
template <class Visit>
bool each_field(columns::Wire message, Visit visit) {
  while (!message.empty()) {
    columns::Tag tag = 0;
    if (!columns::read_tag(message, tag) || !visit(tag, message)) return false;
  }
  return true;
}

/// The bytes of the fields with number `field`; others are skipped.
template <class Visit>
bool each_message(columns::Wire message, std::uint32_t field, Visit visit) {
  return each_field(message, [&](columns::Tag tag, columns::Wire& rest) {
    columns::Wire bytes;
    if (tag != tag_of(field, WireType::bytes)) return columns::skip_field(rest, tag);
    return columns::read_bytes(rest, bytes) && visit(bytes);
  });
}

}  // namespace

bool MessageLook::integers_of(columns::Wire list) {
  const auto one = [this](columns::Wire& from) {
    std::uint64_t value = 0;
    if (!columns::read_varint(from, value)) return false;
    integers_.push_back(static_cast<std::int64_t>(value));
    return true;
  };
  return each_field(list, [&](columns::Tag tag, columns::Wire& rest) {
    columns::Wire run;
    if (tag == tag_of(1, WireType::varint)) return one(rest);
    if (tag != tag_of(1, WireType::bytes)) return columns::skip_field(rest, tag);
    if (!columns::read_bytes(rest, run)) return false;
    while (!run.empty())
      if (!one(run)) return false;
    return true;
  });
}

bool MessageLook::floats_of(columns::Wire list) {
  const auto take = [this](const std::uint8_t* at, std::size_t count) {
    const std::size_t before = floats_.size();
    floats_.resize(before + count);
    if (count > 0) std::memcpy(floats_.data() + before, at, count * sizeof(float));
  };
  return each_field(list, [&](columns::Tag tag, columns::Wire& rest) {
    columns::Wire run;
    if (tag == tag_of(1, WireType::fixed32)) {
      if (rest.size() < sizeof(float)) return false;
      take(rest.at, 1);
      rest.at += sizeof(float);
      return true;
    }
    if (tag != tag_of(1, WireType::bytes)) return columns::skip_field(rest, tag);
    if (!columns::read_bytes(rest, run) || run.size() % sizeof(float) != 0) return false;
    take(run.at, run.size() / sizeof(float));
    return true;
  });
}

bool MessageLook::strings_of(columns::Wire list) {
  return each_message(list, 1, [this](columns::Wire bytes) { return strings_.push_back(text_of(bytes)), true; });
}

/// A Feature: one of three lists.
bool MessageLook::feature_of(columns::Wire feature) {
  Values found;
  const bool good = each_field(feature, [&](columns::Tag tag, columns::Wire& rest) {
    columns::Wire list;
    const bool known =
        tag == tag_of(1, WireType::bytes) || tag == tag_of(2, WireType::bytes) || tag == tag_of(3, WireType::bytes);
    if (!known) return columns::skip_field(rest, tag);
    if (!columns::read_bytes(rest, list)) return false;
    unusual_ = unusual_ || found.kind != ValueKind::none;
    if (tag == tag_of(3, WireType::bytes)) {
      found = {ValueKind::integers, integers_.size(), 0};
      if (!integers_of(list)) return false;
      found.count = integers_.size() - found.first;
    } else if (tag == tag_of(2, WireType::bytes)) {
      found = {ValueKind::floats, floats_.size(), 0};
      if (!floats_of(list)) return false;
      found.count = floats_.size() - found.first;
    } else {
      found = {ValueKind::strings, strings_.size(), 0};
      if (!strings_of(list)) return false;
      found.count = strings_.size() - found.first;
    }
    return true;
  });
  values_.push_back(found);
  return good;
}

/// The entries of the map in a Features or FeatureLists message.
bool MessageLook::entries_of(columns::Wire features, bool list) {
  return each_message(features, 1, [&](columns::Wire entry) {
    Entry found{.list = list, .first = values_.size()};
    int names = 0, bodies = 0;
    const bool good = each_field(entry, [&](columns::Tag tag, columns::Wire& rest) {
      columns::Wire bytes;
      const bool name = tag == tag_of(1, WireType::bytes);
      if (!name && tag != tag_of(2, WireType::bytes)) return columns::skip_field(rest, tag);
      if (!columns::read_bytes(rest, bytes)) return false;
      if (name) {
        ++names;
        found.name = text_of(bytes);
        return true;
      }
      ++bodies;
      return list ? each_message(bytes, 1, [this](columns::Wire step) { return feature_of(step); }) : feature_of(bytes);
    });
    if (bodies == 0 && !list) values_.emplace_back();
    unusual_ = unusual_ || names > 1 || bodies > 1;
    found.count = values_.size() - found.first;
    entries_.push_back(found);
    return good;
  });
}

/// Whether two features, or two lists, have one name.
bool MessageLook::repeated_name() {
  for (const bool list : {false, true}) {
    names_.clear();
    for (const Entry& entry : entries_)
      if (entry.list == list) names_.push_back(entry.name);
    std::sort(names_.begin(), names_.end());
    if (std::adjacent_find(names_.begin(), names_.end()) != names_.end()) return true;
  }
  return false;
}

void MessageLook::clear() {
  unusual_ = false;
  entries_.clear();
  values_.clear();
  integers_.clear();
  floats_.clear();
  strings_.clear();
}

bool MessageLook::parse(std::string_view record, bool& sequence) {
  const auto* const at = reinterpret_cast<const std::uint8_t*>(record.data());
  int contexts = 0, lists = 0;
  const bool good = each_field({at, at + record.size()}, [&](columns::Tag tag, columns::Wire& rest) {
    columns::Wire bytes;
    const bool context = tag == tag_of(1, WireType::bytes);
    if (!context && tag != tag_of(2, WireType::bytes)) return columns::skip_field(rest, tag);
    ++(context ? contexts : lists);
    return columns::read_bytes(rest, bytes) && entries_of(bytes, !context);
  });
  sequence = lists > 0;
  unusual_ = unusual_ || contexts > 1 || lists > 1;
  return good;
}

void MessageLook::add_values(const Values& values, FeatureStats& stats) const {
  if (values.kind == ValueKind::none) return;
  ++stats.kinds[static_cast<std::size_t>(values.kind)];
  if (values.kind == ValueKind::integers) {
    stats.integers.add(std::span{integers_}.subspan(values.first, values.count));
  } else if (values.kind == ValueKind::floats) {
    stats.floats.add(std::span{floats_}.subspan(values.first, values.count));
  } else {
    for (std::size_t i = 0; i < values.count; ++i) stats.strings.add(strings_[values.first + i]);
  }
}

void MessageLook::add_entry(const Entry& entry, FeatureStats& stats) const {
  const std::span<const Values> found = std::span{values_}.subspan(entry.first, entry.count);
  if (!entry.list && found[0].kind == ValueKind::none) return;
  std::size_t count = 0;
  for (const Values& values : found) {
    count += values.count;
    add_values(values, stats);
    if (!entry.list) continue;
    stats.step_values.add(static_cast<std::int64_t>(values.count));
    stats.kindless_steps += values.kind == ValueKind::none ? 1 : 0;
  }
  ++stats.records;
  stats.empty += count == 0 ? 1 : 0;
  stats.lengths.add(static_cast<std::int64_t>(count));
  if (entry.list) stats.steps.add(static_cast<std::int64_t>(entry.count));
}

/// Encodes what the full parser has found anew, in the usual form, and parses that.
MessageLook::Found MessageLook::parse_fully(std::string_view record, FeatureTable& context, FeatureTable& lists) {
  const bool sequence = has_feature_lists(record);
  std::string usual;
  if (sequence) {
    const auto parsed = decode_sequence_example(record);
    if (!parsed.ok()) return Found::malformed;
    usual = encode_sequence_example(*parsed);
  } else {
    const auto parsed = decode_example(record);
    if (!parsed.ok()) return Found::malformed;
    usual = encode_example(*parsed);
  }
  const std::size_t size = usual.size();
  usual.append(record_slack, '\0');
  return add(std::string_view{usual}.substr(0, size), context, lists);
}

MessageLook::Found MessageLook::add(std::string_view record, FeatureTable& context, FeatureTable& lists) {
  clear();
  bool sequence = false;
  // A malformed entry counts for nothing when a later one has its name.
  if (!parse(record, sequence) || unusual_ || repeated_name()) return parse_fully(record, context, lists);
  for (const Entry& entry : entries_) {
    if (FeatureStats* stats = (entry.list ? lists : context).find_or_add(entry.name)) add_entry(entry, *stats);
  }
  if (sequence) return Found::sequence;
  return entries_.empty() ? Found::nothing : Found::example;
}

}  // namespace forebay::tools
