// SPDX-License-Identifier: Apache-2.0
#include "tools/guess_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "io/file_system.h"
#include "io/folder.h"
#include "io/paths.h"
#include "stores/registry.h"
#include "tools/file_kind.h"

namespace forebay::tools {

namespace {

using Names = std::vector<std::string>;

/// The kinds in the order in which one is chosen: data sets first, then what often lies beside them.
constexpr std::array<std::string_view, 11> kinds_by_weight{
    "tfrecord", FileKind::parquet, FileKind::arrow_file, "tar", "npz", "npy", "idx", FileKind::media, "csv", "lines",
    ""};

struct Asked {
  std::string text;
  bool folder = false;
  Names files = {};
};

/// A path as a pattern that names it alone.
std::string as_pattern(std::string_view path) {
  std::string out;
  for (const char letter : path) {
    if (letter == '*' || letter == '?' || letter == '[' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

bool is_hidden(const std::string& folder, const std::string& path) {
  const std::string_view rest = std::string_view{path}.substr(std::min(path.size(), folder.size()));
  if (rest.find("/.") != std::string_view::npos || rest.find("/_") != std::string_view::npos) return true;
  return false;
}

Result<Asked> find_files_of(const std::string& text) {
  Asked out{.text = text};
  FOREBAY_TRY(const FileSystem* const remote, stores::find_file_system(text));
  if (remote != nullptr ? !text.ends_with('/') : !io::real_folder(text).ok()) {
    FOREBAY_TRY(out.files, io::expand({text}, ""));
    return out;
  }
  out.folder = true;
  while (out.text.size() > 1 && out.text.ends_with('/') && !out.text.ends_with("://")) out.text.pop_back();
  const auto found = io::expand({as_pattern(out.text) + (out.text.ends_with("://") ? "**" : "/**")}, "");
  if (!found.ok() && found.error().code() == Code::io) return found.error();
  if (found.ok()) {
    for (const std::string& path : *found)
      if (!is_hidden(out.text, path) && !io::real_folder(path).ok()) out.files.push_back(path);
  }
  if (out.files.empty())
    return Error{Code::config, Detail::not_found, "the folder has no files", Place{.file = out.text}};
  return out;
}

/// The kind of each ending: the first file of an ending stands for all of them.
class KindsByEnding {
 public:
  Result<void> add(const std::string& path) {
    const std::string ending = ending_of(path);
    if (kinds_.contains(ending)) return {};
    FOREBAY_TRY(FileKind kind, kind_of_file(path));
    const bool empty = kind.source.empty() && kind.head.empty();
    if (!empty) kinds_.emplace(ending, std::move(kind));
    return {};
  }
  [[nodiscard]] const FileKind& of(const std::string& path) const {
    static const FileKind unknown{.source = "", .why = "an empty file"};
    const auto found = kinds_.find(ending_of(path));
    return found == kinds_.end() ? unknown : found->second;
  }
  /// The weightiest kind.
  [[nodiscard]] std::string chosen(const Names& files) const {
    std::size_t best = kinds_by_weight.size() - 1;
    for (const std::string& path : files) {
      const auto* at = std::find(kinds_by_weight.begin(), kinds_by_weight.end(), of(path).source);
      best = std::min<std::size_t>(best, static_cast<std::size_t>(at - kinds_by_weight.begin()));
    }
    return std::string{kinds_by_weight[best]};
  }

 private:
  std::map<std::string, FileKind> kinds_;
};

/// `ending_of`, with the capital letters that the path has.
std::string written_ending_of(const std::string& path) {
  const std::string ending = ending_of(path);
  const auto same = [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); };
  const std::string_view tail = std::string_view{path}.substr(path.size() - std::min(ending.size(), path.size()));
  return std::ranges::equal(ending, tail, same) ? std::string{tail} : ending;
}

/// Patterns in a folder that name these files and no others, one for each ending; none where there are none.
Names patterns_of(const std::string& folder, const Names& files) {
  constexpr std::size_t max_endings = 8;
  std::set<std::string> endings;
  bool deep = false;
  for (const std::string& path : files) {
    endings.insert(written_ending_of(path));
    deep = deep || io::parent(path) != folder;
  }
  if (endings.size() > max_endings) return {};
  const std::string stem = as_pattern(folder) + (deep ? "/**/*" : "/*");
  std::vector<Names> tries{{}};
  for (const std::string& ending : endings) tries.front().push_back(stem + as_pattern(ending));
  if (endings.size() == 1) {
    if (!endings.begin()->empty()) tries.push_back({tries.front().front() + "*"});
    tries.push_back({stem + "-*"});
  }
  Names wanted = files;
  std::ranges::sort(wanted);
  for (Names& patterns : tries) {
    Names found;
    for (const std::string& pattern : patterns)
      if (auto matching = io::expand({pattern}, ""); matching.ok())
        std::ranges::move(*matching, std::back_inserter(found));
    std::ranges::sort(found);
    if (found == wanted) return std::move(patterns);
  }
  return {};
}

/// What stands for the chosen files of one argument in a document: a pattern where one names just these.
void add_patterns(const Asked& asked, const Names& files, Names& out) {
  if (!asked.folder && files == asked.files) {
    out.push_back(asked.text);
    return;
  }
  if (asked.folder && files.size() > 1) {
    if (Names patterns = patterns_of(asked.text, files); !patterns.empty()) {
      std::ranges::move(patterns, std::back_inserter(out));
      return;
    }
  }
  for (const std::string& path : files) out.push_back(as_pattern(path));
}

/// The name of an array's files: without ending, number of a shard and "-idx3-ubyte".
std::string array_name(const std::string& path) {
  std::string name = without_shard_number(io::base_name(path));
  for (const std::string_view end : {".npy", ".gz", "-ubyte"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  const std::size_t idx = name.rfind("-idx");
  if (idx != std::string::npos) name.resize(idx);
  return name.empty() ? "values" : name;
}

Json strings_json(const Names& names) { return Json::array({names.begin(), names.end()}); }

void set_files(const Names& patterns, GuessedSource& out) {
  if (out.kind != "npy" && out.kind != "idx") {
    out.options.set("files", strings_json(patterns));
    return;
  }
  std::vector<std::pair<std::string, Names>> arrays;
  for (const std::string& path : out.files) {
    const std::string name = array_name(path);
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto& each) { return each.first == name; });
    if (found == arrays.end()) {
      arrays.emplace_back(name, Names{as_pattern(path)});
    } else {
      found->second.push_back(as_pattern(path));
    }
  }
  Json by_name = Json::object();
  for (const auto& [name, files] : arrays) by_name.set(name, strings_json(files));
  out.options.set("arrays", std::move(by_name));
}

void set_label(GuessedSource& out) {
  if (out.kind != FileKind::media || out.options.find("label_from") != nullptr) return;
  std::set<std::string> folders;
  for (const std::string& path : out.files) folders.insert(io::parent(path));
  if (folders.size() > 1) out.options.set("label_from", "folder");
}

Error unknown_kind(const Names& files, const KindsByEnding& kinds) {
  const std::string& first = files.front();
  return {Code::config, Detail::invalid_argument,
          fmt::format("the file is {}; name its source: fixed_length with record_bytes, raw numbers of one length; "
                      "lines; csv; whole_file, where each file is a record",
                      kinds.of(first).why),
          Place{.file = first}};
}

std::string left_out_note(const Names& left_out, const std::string& kind) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(left_out.size(), 3); ++i)
    names += (i == 0 ? "" : ", ") + quote(io::base_name(left_out[i]));
  return fmt::format("left out: {} file{} of other kinds than {}: {}{}", left_out.size(),
                     left_out.size() == 1 ? "" : "s", kind, names, left_out.size() > 3 ? ", …" : "");
}

}  // namespace

Result<GuessedSource> guess_source(const Names& paths, const std::string& kind, const Json& options) {
  if (paths.empty()) return Error{Code::config, Detail::invalid_argument, "no file is named"};
  std::vector<Asked> asked;
  KindsByEnding kinds;
  Names all, patterns, left_out;
  for (const std::string& path : paths) {
    FOREBAY_TRY(Asked found, find_files_of(path));
    for (const std::string& file : found.files) {
      if (kind.empty()) FOREBAY_DO(kinds.add(file));
      all.push_back(file);
    }
    asked.push_back(std::move(found));
  }
  GuessedSource out{.kind = kind.empty() ? kinds.chosen(all) : kind, .options = options};
  if (out.kind.empty()) return unknown_kind(all, kinds);
  for (const Asked& each : asked) {
    Names chosen;
    for (const std::string& file : each.files) {
      const std::string& found = kinds.of(file).source;
      const bool fits = !kind.empty() || found == out.kind;
      (fits ? chosen : left_out).push_back(file);
    }
    if (!chosen.empty()) add_patterns(each, chosen, patterns);
    out.files.insert(out.files.end(), chosen.begin(), chosen.end());
  }
  if (!left_out.empty()) out.notes.push_back(left_out_note(left_out, out.kind));
  if (kind.empty()) out.head = kinds.of(out.files.front()).head;
  set_files(patterns, out);
  set_label(out);
  return out;
}

}  // namespace forebay::tools
