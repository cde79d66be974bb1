// SPDX-License-Identifier: Apache-2.0
#include "tests/support/probe/windows.h"

#include <limits>

#include <forebay/window.h>

#include "windows/chunking_text.h"

namespace forebay {

namespace windows {
WindowType chunk();
WindowType context();
WindowType continuous();
}  // namespace windows

namespace {

const Json& part_of(const Json& question, std::string_view key) {
  static const Json none;
  const Json* value = question.find(key);
  return value == nullptr ? none : *value;
}

/// The stages, each bound after the one before.
Result<Windowing> bind_stages(const Json& stages, const Schema& in) {
  std::optional<Windowing> bound;
  for (const Json& stage : stages.items()) {
    for (const auto& [name, options] : stage.members()) {
      bool known = false;
      for (const WindowType& type : {windows::chunk(), windows::context(), windows::continuous()}) {
        if (type.description.name != name) continue;
        FOREBAY_TRY(bound, type.bind(options, in, bound ? &*bound : nullptr).at(std::string_view{name}));
        known = true;
      }
      if (!known) return Error{Code::config, "no window plug-in " + name};
    }
  }
  if (!bound) return Error{Code::config, "no stages"};
  return *std::move(bound);
}

Json windows_of(const SpanTable& table) {
  std::vector<Json> out;
  for (std::size_t window = 0; window < table.size(); ++window) {
    std::vector<Json> spans;
    for (const WindowSpan& span : table[window])
      spans.push_back(Json::array(
          {span.element, span.start, span.length, std::int64_t{span.pad_left}, std::int64_t{span.pad_right}}));
    out.push_back(Json::array(std::move(spans)));
  }
  return Json::array(std::move(out));
}

}  // namespace

Result<Json> parse_chunking_answer(const Json& question) {
  FOREBAY_TRY(const auto parsed, windows::parse_chunking(part_of(question, "chunking")));
  Json out = Json::object();
  out.set("enabled", parsed.has_value());
  out.set("size", parsed ? JsonCodec<FramesByKey>::write(parsed->size) : Json{0});
  out.set("step", parsed ? JsonCodec<FramesByKey>::write(parsed->step) : Json{0});
  return out;
}

Result<Json> cut_windows_answer(const Json& question) {
  Schema in;
  for (const Json& key : part_of(question, "keys").items())
    in.put({.name = key.string(), .dtype = DType::int64, .shape = {unknown_dim}});
  FOREBAY_TRY(const Windowing windowing, bind_stages(part_of(question, "stages"), in));
  std::vector<std::int64_t> lengths;
  for (const Json& length : part_of(question, "lengths").items()) lengths.push_back(length.integer());
  SpanTable table{windowing.axes};
  WindowCursor at;
  const WindowPlace place{.seed = static_cast<std::uint64_t>(part_of(question, "seed").integer())};
  FOREBAY_DO(windowing.cutter->cut({.lengths = lengths, .ends = true, .place = place}, at,
                                   std::numeric_limits<std::int64_t>::max(), table));
  std::vector<Json> names;
  for (const ColumnId key : windowing.keys) names.emplace_back(in[key].name);
  Json out = Json::object();
  out.set("keys", Json::array(std::move(names)));
  out.set("windows", windows_of(table));
  return out;
}

}  // namespace forebay
