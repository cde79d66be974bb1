// SPDX-License-Identifier: Apache-2.0
#include <forebay/error.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <forebay/printable.h>

namespace forebay {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::config:
      return "config";
    case Code::data:
      return "data";
    case Code::io:
      return "io";
    case Code::state:
      return "state";
    case Code::cancelled:
      return "cancelled";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

std::string_view to_string(Detail detail) {
  switch (detail) {
    case Detail::none:
      return "none";
    case Detail::invalid_argument:
      return "invalid_argument";
    case Detail::data_loss:
      return "data_loss";
    case Detail::resource_exhausted:
      return "resource_exhausted";
    case Detail::not_found:
      return "not_found";
    case Detail::permission_denied:
      return "permission_denied";
    case Detail::failed_precondition:
      return "failed_precondition";
  }
  return "none";
}

namespace {

std::string place_text(const Place& place) {
  std::string out = place.file;
  const auto add = [&out](std::string part) { out += (out.empty() ? "" : ", ") + std::move(part); };
  if (place.line > 0 && place.column == 0) {
    add(fmt::format("line {}", place.line));
  } else if (place.line > 0) {
    out += fmt::format("{}{}:{}", out.empty() ? "line " : ":", place.line, place.column);
  }
  if (!place.pointer.empty()) add(place.pointer);
  if (place.record >= 0) add(fmt::format("record {}", place.record));
  if (place.offset >= 0) add(fmt::format("byte {}", place.offset));
  if (!place.feature.empty()) add(fmt::format("feature '{}'", place.feature));
  return out;
}

}  // namespace

Error::Error(Code code, Detail detail, std::string message, Place place)
    : body_{std::make_shared<Body>(Body{code, detail, std::move(message), std::move(place), {}})} {}

std::string Error::text() const {
  if (!faults().empty()) {
    std::string out = fmt::format("{} faults:", faults().size());
    for (const Error& fault : faults()) out += "\n  " + fault.text();
    return out;
  }
  std::string out = place_text(place());
  if (!place().field.empty()) out += fmt::format("{}{}", out.empty() ? "" : ": ", fmt::join(place().field, "/"));
  return visible(out.empty() ? message() : out + ": " + message());
}

Error Error::at(const Place& place) const {
  Body body = *body_;
  for (Error& fault : body.faults) fault = fault.at(place);
  Place& known = body.place;
  const bool elsewhere = !known.file.empty() && !place.file.empty() && known.file != place.file;
  if (known.file.empty()) known.file = place.file;
  if (known.record < 0) known.record = place.record;
  if (known.offset < 0) known.offset = place.offset;
  if (known.feature.empty()) known.feature = place.feature;
  if (known.pointer.empty() && known.line == 0 && !elsewhere) {
    known.pointer = place.pointer;
    known.line = place.line;
    known.column = place.column;
  }
  if (known.row < 0) known.row = place.row;
  if (known.field.empty()) known.field = place.field;
  Error out = *this;
  out.body_ = std::make_shared<const Body>(std::move(body));
  return out;
}

Error Error::at(const Field& field) const { return at(Place{.field = field.path()}); }

Error Error::at(std::string_view where) const {
  Body body = *body_;
  body.message = fmt::format("{}: {}", where, body.message);
  Error out = *this;
  out.body_ = std::make_shared<const Body>(std::move(body));
  return out;
}

Error Error::all(std::vector<Error> faults) {
  if (faults.size() == 1) return faults.front();
  const auto config =
      std::find_if(faults.begin(), faults.end(), [](const Error& fault) { return fault.code() == Code::config; });
  const Error& first = config != faults.end() ? *config : faults.front();
  Error out{first.code(), first.detail(), "several faults"};
  Body body = *out.body_;
  body.faults = std::move(faults);
  out.body_ = std::make_shared<const Body>(std::move(body));
  return out;
}

}  // namespace forebay
