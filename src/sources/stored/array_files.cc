// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/array_files.h"

#include <fmt/core.h>

#include <forebay/messages.h>

#include "sources/source_files.h"

namespace forebay::sources {
namespace {

/// Fails when the columns are not those of the first part.
Result<void> same_columns(const Schema& first, const Schema& next) {
  for (const ColumnId id : first.visible()) {
    const ColumnSpec& wanted = first[id];
    const auto found = next.find(wanted.name);
    if (!found.ok())
      return Error{Code::data, Detail::data_loss, fmt::format("there is no array {}", quote(wanted.name))};
    const ColumnSpec& column = next[*found];
    if (column.dtype == wanted.dtype && column.shape == wanted.shape && *found == id) continue;
    return Error{
        Code::data, Detail::data_loss,
        fmt::format("array {} has rows of {} {}, but those of the first file are {} {}", quote(wanted.name),
                    to_string(column.dtype), column.shape.text(), to_string(wanted.dtype), wanted.shape.text())};
  }
  if (next.size() != first.size())
    return Error{Code::data, Detail::data_loss, "there are more arrays than in the first file"};
  return {};
}

/// The files of each array. Fails when there are not as many for each.
Result<std::vector<std::vector<std::string>>> files_of_arrays(const ArrayFiles& arrays, const BindContext& context) {
  if (arrays.empty()) return Error{Code::config, Detail::invalid_argument, "names no array"}.at(Field{"arrays"});
  std::vector<std::vector<std::string>> out;
  std::vector<Error> faults;
  for (const auto& [name, paths] : arrays) {
    auto files = source_files(paths, context);
    if (!files.ok()) {
      faults.push_back(
          Error{files.error().code(), files.error().detail(), files.error().message()}.at(Field{"arrays", name}));
      continue;
    }
    out.push_back(*std::move(files));
    if (out.back().size() == out.front().size()) continue;
    faults.push_back(Error{Code::config, Detail::invalid_argument,
                           fmt::format("has {} files, but {} has {}: file k of each array has the same rows",
                                       out.back().size(), quote(arrays.front().first), out.front().size())}
                         .at(Field{"arrays", name}));
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return out;
}

constexpr std::byte nowhere{};  // stands for numbers that are not read

/// The views of the contents. `data` gives the bytes of content number i.
template <class Data>
std::vector<ArrayView> views_of(const std::vector<StoredContent>& contents, Data data) {
  std::vector<ArrayView> out;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    for (const auto& [view, begin] : contents[i].arrays) {
      out.push_back(view);
      out.back().data = data(i) + begin;
    }
  }
  return out;
}

Result<std::shared_ptr<const RowBlock>> map_rows(const std::vector<StoredContent>& contents, const std::string& name,
                                                 PartFiles& run) {
  std::vector<Content> opened;
  for (const StoredContent& content : contents) {
    FOREBAY_TRY(Content one, open_content(content, run));
    opened.push_back(std::move(one));
  }
  auto views =
      views_of(contents, [&](std::size_t i) { return opened[i].bytes.empty() ? &nowhere : opened[i].bytes.data(); });
  const auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (Content& one : opened) owners->push_back(std::move(one.owner));
  FOREBAY_TRY(const auto rows, array_rows(std::move(views), owners, name));
  return rows->parts.front().rows;
}

/// The content of a file that is one array.
Result<StoredContent> one_array(const std::string& name, const std::string& path, std::int64_t max_bytes,
                                std::int64_t& room, const BindContext& context,
                                Result<ArrayLayout> (*parse)(std::span<const std::byte>)) {
  FOREBAY_TRY(FileHead head, head_of(path, Compression::automatic, array_head_bytes, context));
  const Place here{.file = path};
  FOREBAY_TRY(const ArrayLayout layout, parse(head.bytes).at(here));
  if (head.compression == Compression::none) FOREBAY_DO(layout.check_size(head.size).at(here));
  if (layout.bytes > room - layout.begin) return more_than_max_bytes(max_bytes).at(here);
  room -= layout.begin + layout.bytes;
  head.bytes.resize(static_cast<std::size_t>(layout.begin));
  StoredContent out{.path = path,
                    .compression = head.compression,
                    .file_bytes = head.size,
                    .bytes = layout.begin + layout.bytes,
                    .header = std::move(head.bytes)};
  out.arrays.emplace_back(layout.view(name, nullptr), layout.begin);
  return out;
}

}  // namespace

Result<void> add_part(std::vector<StoredContent> contents, const std::string& name, RowSource& source) {
  // The columns and the number of rows are asked for, not the numbers.
  auto made = array_rows(views_of(contents, [](std::size_t) { return &nowhere; }), nullptr, name);
  if (!made.ok()) return Error{Code::data, Detail::data_loss, made.error().message()}.at(Place{.file = name});
  const RowSource& rows = **made;
  if (!source.parts.empty()) FOREBAY_DO(same_columns(source.schema, rows.schema).at(Place{.file = name}));
  if (source.parts.empty()) source.schema = rows.schema;
  const auto map = [all = std::make_shared<const std::vector<StoredContent>>(std::move(contents)),
                    name](PartFiles& run) { return map_rows(*all, name, run); };
  source.parts.push_back({.name = name, .count = rows.parts.front().rows->rows, .map = map});
  return {};
}

Result<Source> arrays_in_files(const ArrayFiles& arrays, std::int64_t max_bytes, const BindContext& context,
                               Result<ArrayLayout> (*parse)(std::span<const std::byte>)) {
  FOREBAY_TRY(const auto files, files_of_arrays(arrays, context));
  auto source = std::make_shared<RowSource>();
  std::int64_t room = max_bytes;
  for (std::size_t part = 0; part < files.front().size(); ++part) {
    std::vector<StoredContent> contents;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      FOREBAY_TRY(StoredContent content, one_array(arrays[i].first, files[i][part], max_bytes, room, context, parse));
      contents.push_back(std::move(content));
    }
    FOREBAY_DO(add_part(std::move(contents), files.front()[part], *source));
  }
  return rows_of(std::move(source));
}

}  // namespace forebay::sources
