// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <forebay/inspect.h>
#include <forebay/printable.h>

namespace forebay {

namespace {

constexpr std::size_t longest_name = 60, longest_value = 40;
constexpr std::size_t top_values_in_text = 5;

std::string number(const Json& value) {
  if (value.is(Json::Kind::integer)) return fmt::format("{}", value.integer());
  return fmt::format("{:.6g}", value.number());
}

std::string text_of(const Json& object, const char* key) {
  const Json* const found = object.find(key);
  if (found == nullptr) return {};
  return found->is(Json::Kind::string) ? printable(found->string(), longest_name) : number(*found);
}

std::int64_t integer_of(const Json& object, const char* key) {
  const Json* const found = object.find(key);
  return found == nullptr ? 0 : found->integer();
}

std::string plural(std::int64_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string range(const Json& object) {
  const std::string min = number(*object.find("min")), max = number(*object.find("max"));
  return min == max ? min : min + " to " + max;
}

/// 100 % only where no record lacks it.
std::string share(const Json& feature) {
  const Json* const found = feature.find("share");
  if (found == nullptr) return {};
  const double percent = found->number() * 100;
  if (integer_of(feature, "missing") > 0 && percent > 99.9) return "> 99.9 %";
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return fmt::format("{:.3g} %", percent);
}

std::string contents_of(const Json& strings) {
  std::string out;
  if (const Json* const formats = strings.find("formats")) {
    for (const auto& [name, count] : formats->members())
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", name, count.integer());
  } else {
    const double utf8 = strings.find("utf8")->number();
    out = utf8 == 1 ? "text" : utf8 == 0 ? "bytes" : fmt::format("{:.3g} % text", utf8 * 100);
  }
  const std::string bytes = range(*strings.find("bytes"));
  return fmt::format("{}, {} byte{}", out, bytes, bytes == "1" ? "" : "s");
}

/// What the values are, in some words.
std::string summary(const Json& feature) {
  std::vector<std::string> parts;
  if (const Json* const steps = feature.find("steps")) parts.push_back(range(*steps) + " steps");
  const Json* const lengths = feature.find("lengths");
  const std::string values = lengths == nullptr ? "1" : range(*lengths);
  if (values != "1") parts.push_back(values + " values");
  for (const char* kind : {"integers", "floats"}) {
    const Json* const numbers = feature.find(kind);
    if (numbers == nullptr) continue;
    if (numbers->find("min") != nullptr) {
      const std::string found = range(*numbers);
      parts.push_back((found.find(" to ") == std::string::npos ? "always " : "from ") + found);
    }
    if (integer_of(*numbers, "nan") > 0) parts.push_back(fmt::format("{} NaN", integer_of(*numbers, "nan")));
    if (integer_of(*numbers, "inf") > 0) parts.push_back(fmt::format("{} infinite", integer_of(*numbers, "inf")));
  }
  if (const Json* const strings = feature.find("strings")) parts.push_back(contents_of(*strings));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

std::string top_text(const Json& values) {
  const Json* const top = values.find("top");
  if (top == nullptr || top->items().empty()) return {};
  std::string out;
  std::size_t shown = 0;
  for (const Json& each : top->items()) {
    if (shown++ == top_values_in_text) break;
    const Json& value = *each.find("value");
    const std::string text =
        value.is(Json::Kind::string) ? '"' + printable(value.string(), longest_value) + '"' : number(value);
    out += fmt::format("{}{} × {}", out.empty() ? "" : ", ", text, integer_of(each, "count"));
  }
  const std::int64_t missed = integer_of(values, "top_missed");
  const Json* const distinct = values.find("distinct");
  if (distinct != nullptr)
    return fmt::format("{} different: {}{}", distinct->integer(), out,
                       distinct->integer() > static_cast<std::int64_t>(top_values_in_text) ? ", …" : "");
  std::string about = "frequent";
  if (values.find("top_of") != nullptr) about += fmt::format(" among {} values", integer_of(values, "top_of"));
  if (missed > 0) about += fmt::format(", each maybe {} more", missed);
  return about + ": " + out;
}

/// Lines below a feature.
std::vector<std::string> details(const Json& feature) {
  std::vector<std::string> out;
  std::string counts =
      fmt::format("missing {}, empty {}", integer_of(feature, "missing"), integer_of(feature, "empty"));
  for (const char* kind : {"integers", "floats", "strings"}) {
    const Json* const values = feature.find(kind);
    if (values == nullptr) continue;
    counts += "; " + plural(integer_of(*values, "values"), "value");
    if (const Json* const mean = values->find("mean")) counts += ", mean " + number(*mean);
    if (const Json* const bytes = values->find("bytes"))
      counts += fmt::format(", {} bytes, mean {}", integer_of(*bytes, "total"), number(*bytes->find("mean")));
  }
  if (const Json* const lengths = feature.find("lengths"))
    if (range(*lengths) != "1") counts += fmt::format("; mean length {}", number(*lengths->find("mean")));
  out.push_back(counts);
  for (const char* kind : {"integers", "strings"})
    if (const Json* const values = feature.find(kind))
      if (std::string top = top_text(*values); !top.empty()) out.push_back(std::move(top));
  return out;
}

std::string title(const Json& report) {
  std::string out = text_of(report, "what");
  const std::int64_t files = integer_of(report, "files"), read = integer_of(report, "files_read");
  if (files > 0) {
    out += ", " + plural(files, "file");
    if (read < files) out += fmt::format(" ({} of them read)", read);
  }
  const std::int64_t records = integer_of(report, "records");
  const bool sample = report.find("sample")->boolean();
  if (records == 0) return out + (files > 0 ? ": no records" : "");
  return out + (sample ? ": a sample of " + plural(records, "record") + "; there are more"
                       : ": " + plural(records, "record") + ", all that there are");
}

using Cells = std::vector<std::string>;

Cells cells_of(const Json& feature) {
  std::string name = text_of(feature, "name");
  if (name.empty()) name = "\"\"";
  const std::string part = text_of(feature, "part");
  return {part.empty() ? name : name + " (" + part + ")",
          text_of(feature, "kind"),
          text_of(feature, "dtype"),
          text_of(feature, "shape"),
          share(feature),
          summary(feature)};
}

const Cells heading{"feature", "kind", "dtype", "shape", "in records", "values"};

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string notes_of(const Json& report, const char* mark) {
  std::string out;
  for (const Json& feature : report.find("features")->items())
    if (const Json* const note = feature.find("note"))
      out += fmt::format("{}{}: {}\n", mark, text_of(feature, "name"), printable(note->string(), 400));
  for (const Json& note : report.find("notes")->items()) out += mark + printable(note.string(), 400) + "\n";
  return out;
}

/// Text in a cell of a Markdown table, which shows no markup of it.
std::string in_cell(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<') {
      out += "&lt;";
      continue;
    }
    if (std::string_view{"|*_`[]\\"}.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

std::string Inspection::text(bool stats) const {
  const std::vector<Json>& features = report.find("features")->items();
  std::vector<Cells> rows{heading};
  for (const Json& feature : features) rows.push_back(cells_of(feature));
  Cells::size_type column = 0;
  std::vector<std::size_t> widths(heading.size(), 0);
  for (const Cells& row : rows)
    for (column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], letters(row[column]));
  std::string out = title(report) + "\n\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (column = 0; column < rows[i].size(); ++column) {
      line += rows[i][column];
      if (column + 1 < rows[i].size()) line += std::string(widths[column] - letters(rows[i][column]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (!stats || i == 0) continue;
    for (const std::string& detail : details(features[i - 1])) out += "    " + detail + "\n";
  }
  const std::string notes = notes_of(report, "note: ");
  return notes.empty() ? out : out + "\n" + notes;
}

std::string Inspection::markdown(bool stats) const {
  std::string out = in_cell(title(report)) + "\n\n";
  Cells names = heading;
  if (stats) names.emplace_back("more");
  const auto add = [&out](const Cells& cells) {
    out += "|";
    for (const std::string& cell : cells) out += " " + cell + " |";
    out += "\n";
  };
  add(names);
  add(Cells(names.size(), "---"));
  for (const Json& feature : report.find("features")->items()) {
    Cells cells = cells_of(feature);
    for (std::string& cell : cells) cell = in_cell(cell);
    if (stats) {
      std::string more;
      for (const std::string& detail : details(feature)) more += (more.empty() ? "" : "<br>") + in_cell(detail);
      cells.push_back(more);
    }
    add(cells);
  }
  std::string notes;
  for (const Json& feature : report.find("features")->items())
    if (const Json* const note = feature.find("note"))
      notes += "* " + in_cell(text_of(feature, "name")) + ": " + in_cell(printable(note->string(), 400)) + "\n";
  for (const Json& note : report.find("notes")->items()) notes += "* " + in_cell(printable(note.string(), 400)) + "\n";
  return notes.empty() ? out : out + "\n" + notes;
}

}  // namespace forebay
