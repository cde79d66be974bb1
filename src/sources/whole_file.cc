// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/whole_file.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <forebay/messages.h>
#include <forebay/printable.h>
#include "io/file_system.h"

#include "sources/framing.h"
#include "sources/labelled_files.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

constexpr std::int64_t files_a_part = 4096;

/// The whole file is the record. The engine reads such files without this `scan`; tools that look through one file
/// after the other use it.
class WholeFileFormat final : public Format, public LabelledFiles {
 public:
  WholeFileFormat(std::int64_t max, LabelledFiles files)
      : LabelledFiles{std::move(files)}, max_{static_cast<std::size_t>(max)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t,
                       std::vector<Extent>& records) const override {
    if (bytes.size() > max_) {
      return Error{Code::data, Detail::data_loss, fmt::format("the file has more than max_file_bytes, {}", max_),
                   Place{.offset = offset}};
    }
    if (!last) return Scanned{.wanted = bytes.size() + 1};
    if (offset == 0) records.push_back({0, static_cast<std::uint32_t>(bytes.size())});
    return Scanned{.consumed = bytes.size()};
  }

  Result<void> verify(std::span<const Record>) const override { return {}; }  // files have no checksums

  std::string key(std::string_view file, std::int64_t, std::int64_t) const override { return std::string{file}; }

  Compression detect(std::span<const std::byte>) const override { return Compression::none; }

 private:
  const std::size_t max_;
};

/// The name of the folder that a file is in.
std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view folder = path.substr(0, slash);
  return folder.substr(folder.rfind('/') + 1);
}

/// The labels of the files: the numbers of their folders' names, which are sorted by their bytes unless they are given.
Result<LabelledFiles> labels_by_folder(const std::vector<std::string>& files, const WholeFile& options) {
  LabelledFiles out{.tensor = options.label, .classes = options.classes};
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    if (numbers.emplace(options.classes[i], static_cast<std::int32_t>(i)).second) continue;
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("{} is there twice; every class has one number", quote(options.classes[i]))}
        .at(Field{"classes", std::to_string(i)});
  }
  if (options.classes.empty()) {
    for (const std::string& path : files) numbers.emplace(folder_of(path), 0);
    for (auto& [name, number] : numbers) {
      number = static_cast<std::int32_t>(out.classes.size());
      out.classes.emplace_back(name);
    }
  }
  out.labels.reserve(files.size());
  for (const std::string& path : files) {
    const auto found = numbers.find(folder_of(path));
    if (found == numbers.end()) {
      const std::string folder{folder_of(path)};
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the folder {} of '{}' is no class{}; name it, or leave its files out", quote(folder),
                               visible(path), among(folder, options.classes, "the classes are"))}
          .at(Field{"classes"});
    }
    out.labels.push_back(found->second);
  }
  return out;
}

Result<Source> bind_whole_file(const WholeFile& options, const BindContext& context) {
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  const bool labels = options.label_from == LabelFrom::folder;
  if (labels && options.label.empty())
    return Error{Code::config, Detail::invalid_argument, "a name must not be empty"}.at(Field{"label"});
  if (!labels && !options.classes.empty())
    return Error{Code::config, Detail::invalid_argument, "classes are the names of folders; set label_from to folder"}
        .at(Field{"classes"});
  LabelledFiles of_files;
  if (labels) {
    FOREBAY_TRY(of_files, labels_by_folder(files, options));
  }
  auto format = std::make_shared<WholeFileFormat>(options.max_file_bytes, std::move(of_files));
  return Source{.files = std::move(files),
                .compression = Compression::none,
                .format = std::move(format),
                .signature = "whole_file",
                .files_a_part = files_a_part,
                .max_file_bytes = options.max_file_bytes,
                .record_key = options.record_key};
}

}  // namespace

SourceType whole_file() {
  return describe<SourceType, WholeFile>("whole_file", "Reads whole files: each is one record.", bind_whole_file)
      .required("files", &WholeFile::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("max_file_bytes", &WholeFile::max_file_bytes, "A larger file is an error, before memory is taken.",
             {.min = 0, .max = max_record_bytes})
      .field("label_from", &WholeFile::label_from,
             "folder: a tensor has the number of each file's folder in the sorted names of all their folders.")
      .field("label", &WholeFile::label, "Name of that tensor, int64.")
      .field("classes", &WholeFile::classes,
             "The folders' names by label, also of folders without files; empty: the sorted names of all folders.")
      .field("record_key", &WholeFile::record_key, record_key_doc)
      .example(
          {.options = R"({"files": ["*.json"]})", .in = R"(["one\n", "", "two"])", .out = R"(["one\n", "", "two"])"});
}

}  // namespace forebay::sources

namespace forebay {

std::size_t Source::parts() const {
  const auto each = static_cast<std::size_t>(std::max<std::int64_t>(1, files_a_part));
  return (files.size() + each - 1) / each;
}

std::int64_t Source::files_of(std::size_t part) const {
  const std::int64_t first = static_cast<std::int64_t>(locate(part, 0, 0).file);
  return std::min(std::max<std::int64_t>(1, files_a_part), std::ssize(files) - first);
}

std::string Source::key(const Located& at) const {
  return rows ? fmt::format("{}:{}", files[at.file], at.record) : format->key(files[at.file], at.record, at.offset);
}

Source::Located Source::locate(std::size_t part, std::int64_t record, std::int64_t offset) const {
  if (files_a_part == 0) return {.file = part, .record = record, .offset = offset};
  return {.file = part * static_cast<std::size_t>(files_a_part) + static_cast<std::size_t>(record)};
}

}  // namespace forebay
