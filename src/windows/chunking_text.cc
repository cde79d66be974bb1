// SPDX-License-Identifier: Apache-2.0
#include "windows/chunking_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "windows/keys.h"

namespace forebay::windows {

namespace {

Result<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size())
    return bad_window("chunking: '" + std::string{text} + "' is no number; expected \"SIZE\" or \"SIZE:STEP\"");
  return value;
}

/// "S" and "S:T".
Result<Chunking> of_text(std::string_view text) {
  const std::size_t colon = text.find(':');
  FOREBAY_TRY(const std::int64_t size, whole_number(text.substr(0, colon)));
  if (colon == std::string_view::npos) return Chunking{.size = size, .step = std::int64_t{0}};
  FOREBAY_TRY(const std::int64_t step, whole_number(text.substr(colon + 1)));
  return Chunking{.size = size, .step = step};
}

Result<FramesByKey> of_value(const Json& value) {
  std::vector<Error> faults;
  auto read = JsonCodec<FramesByKey>::read(value, faults);
  if (!read) return Error::all(std::move(faults)).at("chunking");
  return *std::move(read);
}

Result<Chunking> of_json(const Json& json) {
  if (json.is(Json::Kind::string)) return of_text(json.string());
  if (!json.is(Json::Kind::array)) {
    FOREBAY_TRY(FramesByKey size, of_value(json));
    return Chunking{.size = std::move(size), .step = std::int64_t{0}};
  }
  if (json.items().size() != 2)
    return bad_window("chunking: a list of " + std::to_string(json.items().size()) + ", expected [size, step]");
  FOREBAY_TRY(FramesByKey size, of_value(json.items()[0]));
  if (json.items()[1].is(Json::Kind::null)) return Chunking{.size = std::move(size), .step = std::int64_t{0}};
  FOREBAY_TRY(FramesByKey step, of_value(json.items()[1]));
  if (size.index() != step.index()) return bad_window("chunking: size and step are both numbers, or both by key");
  return Chunking{.size = std::move(size), .step = std::move(step)};
}

/// The values of an option, with the name of the key where there is one.
FramesOfKeys values_of(const FramesByKey& frames) {
  if (const auto* const all = std::get_if<std::int64_t>(&frames)) return {{"", *all}};
  return std::get<FramesOfKeys>(frames);
}

Result<void> check_values(const FramesByKey& frames, const std::string& name) {
  for (const auto& [key, value] : values_of(frames)) {
    if (value < 0)
      return bad_window("chunking: the chunk " + name + " must not be negative, found " + std::to_string(value));
  }
  return {};
}

Result<void> check_same_keys(const Chunking& chunking) {
  for (const auto& [key, size] : values_of(chunking.size)) {
    if (!frames_of(chunking.step, key)) return bad_window("chunking: no step for key '" + key + "'");
  }
  if (values_of(chunking.size).size() != values_of(chunking.step).size())
    return bad_window("chunking: sizes and steps name other keys");
  return {};
}

}  // namespace

Result<std::optional<Chunking>> parse_chunking(const Json& json) {
  if (json.is(Json::Kind::null)) return std::optional<Chunking>{};
  FOREBAY_TRY(Chunking out, of_json(json));
  FOREBAY_DO(check_values(out.size, "size"));
  FOREBAY_DO(check_values(out.step, "step"));
  const bool by_key = std::holds_alternative<FramesOfKeys>(out.size);
  const FramesByKey none = std::int64_t{0};
  if (out.step == none) {
    out.step = out.size;
  } else if (by_key) {
    FOREBAY_DO(check_same_keys(out));
    const FramesOfKeys steps = values_of(out.step);
    if (std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step.second == 0; }))
      return bad_window("chunking: every chunk step is 0");
  }
  if (out.size == none) return std::optional<Chunking>{};
  return std::optional{std::move(out)};
}

}  // namespace forebay::windows
