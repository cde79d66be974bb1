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
Result<std::vector<std::vector<std::string>>> files_of_arrays(const ArrayFiles& arrays, const std::string& folder) {
  if (arrays.empty()) return Error{Code::config, Detail::invalid_argument, "names no array"}.at(Field{"arrays"});
  std::vector<std::vector<std::string>> out;
  std::vector<Error> faults;
  for (const auto& [name, paths] : arrays) {
    auto files = source_files(paths, folder);
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

}  // namespace

Result<void> add_part(std::vector<ArrayView> arrays, std::shared_ptr<const void> owner, const std::string& name,
                      RowSource& source) {
  auto made = array_rows(std::move(arrays), std::move(owner), name);
  if (!made.ok()) return Error{Code::data, Detail::data_loss, made.error().message()}.at(Place{.file = name});
  const RowSource& rows = **made;
  if (!source.parts.empty()) FOREBAY_DO(same_columns(source.schema, rows.schema).at(Place{.file = name}));
  if (source.parts.empty()) source.schema = rows.schema;
  source.parts.push_back(rows.parts.front());
  return {};
}

Result<Source> arrays_in_files(const ArrayFiles& arrays, std::int64_t max_bytes, const BindContext& context,
                               Result<ArrayView> (*parse)(std::span<const std::byte>)) {
  FOREBAY_TRY(const auto files, files_of_arrays(arrays, context.folder));
  auto source = std::make_shared<RowSource>();
  std::int64_t room = max_bytes;
  for (std::size_t part = 0; part < files.front().size(); ++part) {
    std::vector<ArrayView> views;
    auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::string& path = files[i][part];
      FOREBAY_TRY(Content content, content_of(path, room));
      room -= std::ssize(content.bytes);
      FOREBAY_TRY(ArrayView view, parse(content.bytes).at(Place{.file = path}));
      view.name = arrays[i].first;
      views.push_back(std::move(view));
      owners->push_back(std::move(content.owner));
    }
    FOREBAY_DO(add_part(std::move(views), std::move(owners), files.front()[part], *source));
  }
  return rows_of(std::move(source));
}

}  // namespace forebay::sources
