// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/npz.h>

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "sources/source_files.h"
#include "sources/stored/array_files.h"
#include "sources/stored/npy_array.h"
#include "sources/stored/zip.h"

namespace forebay::sources {
namespace {

/// Name of the array in a member; empty: it is no array.
std::string array_name(const std::string& member) {
  constexpr std::string_view suffix = ".npy";
  return member.ends_with(suffix) ? member.substr(0, member.size() - suffix.size()) : std::string{};
}

/// The members that hold the wanted arrays, in their order; all arrays of the archive when none is named.
Result<std::vector<ZipMember>> wanted_members(const std::vector<ZipMember>& members,
                                              const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const ZipMember& each : members) names.push_back(array_name(each.name));
  std::vector<ZipMember> out;
  if (wanted.empty()) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty())
        return Error{Code::data, Detail::data_loss,
                     fmt::format("member {} is no array: its name does not end in .npy", quote(members[i].name))};
      out.push_back(members[i]);
    }
    return out;
  }
  for (const std::string& name : wanted) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return Error{Code::data, Detail::not_found,
                   fmt::format("there is no array {}{}", quote(name), among(name, names, "the file has"))};
    out.push_back(members[static_cast<std::size_t>(found - names.begin())]);
  }
  return out;
}

struct NpzPart {
  std::vector<ArrayView> arrays;
  std::shared_ptr<std::vector<std::shared_ptr<const void>>> owners;
};

Result<NpzPart> read_npz(const std::string& path, const std::vector<std::string>& wanted, std::int64_t& room) {
  FOREBAY_TRY(const Content archive, content_of(path, room));
  FOREBAY_TRY(const auto members, zip_members(archive.bytes));
  FOREBAY_TRY(const auto chosen, wanted_members(members, wanted));
  NpzPart out;
  out.owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const ZipMember& member : chosen) {
    if (member.size > static_cast<std::uint64_t>(room))
      return Error{Code::data, Detail::resource_exhausted,
                   "the arrays have more bytes than max_bytes; raise it if that is no mistake"};
    room -= static_cast<std::int64_t>(member.size);
    FOREBAY_TRY(Content content, zip_content(member, archive));
    FOREBAY_TRY(ArrayView view, npy_array(content.bytes).at(Place{.feature = array_name(member.name)}));
    view.name = array_name(member.name);
    out.arrays.push_back(std::move(view));
    out.owners->push_back(std::move(content.owner));
  }
  return out;
}

Result<Source> bind_npz(const Npz& options, const BindContext& context) {
  FOREBAY_TRY(const std::vector<std::string> files, source_files(options.files, context.folder));
  auto source = std::make_shared<RowSource>();
  std::vector<std::string> names = options.arrays;
  std::int64_t room = options.max_bytes;
  for (const std::string& path : files) {
    FOREBAY_TRY(NpzPart part, read_npz(path, names, room).at(Place{.file = path}));
    FOREBAY_DO(add_part(std::move(part.arrays), std::move(part.owners), path, *source));
    if (!names.empty()) continue;
    for (const ColumnId id : source->schema.visible()) names.push_back(source->schema[id].name);
  }
  return rows_of(std::move(source));
}

}  // namespace

SourceType npz() {
  SourceType out =
      describe<SourceType, Npz>("npz", "Reads npz files of numpy: each array is a tensor, read row by row.", bind_npz)
          .required("files", &Npz::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
          .field("arrays", &Npz::arrays, "The arrays to read; empty: all of the first file.")
          .field("max_bytes", &Npz::max_bytes, "More bytes of arrays in all files together are an error.", {.min = 1})
          .example({.options = R"({"files": ["in.npz"]})",
                    .in = R"(["base64:H4sIAAAAAAACAwvwZmYRYWBg4ABiRYaYaadueQFZE4CYFYgr9fIKKme/EX8lLXDyRMCxgLXzJkX)"
                          R"(NiVmSt3RB3vTMhesWL5g3LT4kaMoM8fnxUyZxCZV7n9H0Y+0ST1cRW8L0U8rNapYV11YuEQY9No6E9ksyDAH)"
                          R"(ejEwizLitg4EGRgaY5QHerGwgDiMQGgPpXLACAHC6npy2AAAA"])",
                    .out = R"({"y": [7, 8]})"});
  out.rows = true;
  return out;
}

}  // namespace forebay::sources
