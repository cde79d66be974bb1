// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/report.h"

#include <string>
#include <utility>

namespace forebay::tools {

namespace {

constexpr std::size_t top_values_shown = 10;

Json range_of(const Lengths& lengths) {
  Json out = Json::object();
  out.set("min", lengths.min);
  out.set("max", lengths.max);
  out.set("mean", static_cast<double>(lengths.sum) / static_cast<double>(lengths.count));
  return out;
}

template <class Key>
void set_top(const TopValues<Key>& top, std::int64_t counted, std::int64_t values, Json& out) {
  std::vector<Json> items;
  for (const auto& [value, count] : top.top(top_values_shown)) {
    Json one = Json::object();
    one.set("value", Json{value});
    one.set("count", count);
    items.push_back(std::move(one));
  }
  out.set("top", Json::array(std::move(items)));
  if (counted < values) out.set("top_of", counted);
  if (top.missed() > 0) {
    out.set("top_missed", top.missed());
  } else if (counted == values) {
    out.set("distinct", static_cast<std::int64_t>(top.size()));
  }
}

/// Values that come once or twice among many say nothing.
template <class Key>
bool tells(const TopValues<Key>& top, std::int64_t count) {
  const auto first = top.top(1);
  return !first.empty() && (top.missed() == 0 || first[0].second * 1000 > count);
}

Json integers_json(const IntegerStats& stats) {
  Json out = Json::object();
  out.set("values", stats.count);
  if (stats.count == 0) return out;
  out.set("min", stats.min);
  out.set("max", stats.max);
  out.set("mean", stats.sum / static_cast<double>(stats.count));
  if (tells(stats.top, stats.looked_up)) set_top(stats.top, stats.looked_up, stats.count, out);
  return out;
}

Json floats_json(const FloatStats& stats) {
  Json out = Json::object();
  out.set("values", stats.count);
  const std::int64_t finite = stats.count - stats.nans - stats.infinities;
  if (finite > 0) {
    out.set("min", stats.min);
    out.set("max", stats.max);
    out.set("mean", stats.sum / static_cast<double>(finite));
  }
  out.set("nan", stats.nans);
  out.set("inf", stats.infinities);
  return out;
}

Json strings_json(const StringStats& stats) {
  Json out = Json::object();
  const std::int64_t count = stats.bytes.count;
  out.set("values", count);
  if (count == 0) return out;
  out.set("bytes", range_of(stats.bytes)).set("total", stats.bytes.sum);
  out.set("utf8", static_cast<double>(stats.utf8) / static_cast<double>(count));
  Json formats = Json::object();
  for (std::size_t i = 0; i < stats.formats.size(); ++i)
    if (stats.formats[i] > 0) formats.set(std::string{content_formats[i]}, stats.formats[i]);
  if (!formats.members().empty()) out.set("formats", std::move(formats));
  if (tells(stats.top, count)) set_top(stats.top, count - stats.longer, count, out);
  return out;
}

Json feature_json(const InspectedFeature& feature, std::int64_t records) {
  Json out = Json::object();
  out.set("name", feature.name);
  if (!feature.part.empty()) out.set("part", feature.part);
  out.set("kind", feature.kind);
  out.set("dtype", feature.dtype);
  out.set("shape", feature.shape);
  const FeatureStats& stats = feature.stats;
  if (records > 0) {
    out.set("records", stats.records);
    out.set("share", static_cast<double>(stats.records) / static_cast<double>(records));
    out.set("missing", records - stats.records);
    out.set("empty", stats.empty);
  }
  if (stats.lengths.count > 0) out.set("lengths", range_of(stats.lengths));
  if (stats.steps.count > 0) out.set("steps", range_of(stats.steps));
  if (stats.step_values.count > 0) out.set("values_in_a_step", range_of(stats.step_values));
  if (stats.integers.count > 0) out.set("integers", integers_json(stats.integers));
  if (stats.floats.count > 0) out.set("floats", floats_json(stats.floats));
  if (stats.strings.bytes.count > 0) out.set("strings", strings_json(stats.strings));
  if (!feature.note.empty()) out.set("note", feature.note);
  return out;
}

}  // namespace

Json report_of(const Inspected& found) {
  Json out = Json::object();
  out.set("what", found.what);
  if (!found.proposal.kind.empty()) {
    Json source = Json::object();
    source.set(found.proposal.kind, found.proposal.source);
    out.set("source", std::move(source));
  }
  if (found.files > 0) {
    out.set("files", found.files);
    out.set("files_read", found.files_read);
  }
  out.set("records", found.records);
  if (found.bytes >= 0) out.set("bytes", found.bytes);
  out.set("sample", found.sample);
  std::vector<Json> features, notes;
  for (const InspectedFeature& feature : found.features) features.push_back(feature_json(feature, found.records));
  for (const std::string& note : found.notes) notes.emplace_back(note);
  out.set("features", Json::array(std::move(features)));
  out.set("notes", Json::array(std::move(notes)));
  return out;
}

}  // namespace forebay::tools
