// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/npz.h>

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "sources/detect.h"
#include "sources/source_files.h"
#include "sources/stored/array_files.h"
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

/// The array of a member. Only the header is read.
Result<StoredContent> array_of_member(const ZipMember& member, const io::RandomAccessFile& archive,
                                      std::int64_t& room) {
  if (member.size > static_cast<std::uint64_t>(room))
    return Error{Code::data, Detail::resource_exhausted,
                 "the arrays have more bytes than max_bytes; raise it if that is no mistake"};
  room -= static_cast<std::int64_t>(member.size);
  FOREBAY_TRY(std::vector<std::byte> head, zip_head(member, archive, array_head_bytes));
  FOREBAY_TRY(const ArrayLayout layout, npy_layout(head));
  FOREBAY_DO(layout.check_size(static_cast<std::int64_t>(member.size)));
  head.resize(static_cast<std::size_t>(layout.begin));
  StoredContent out{.path = archive.path(),
                    .file_bytes = archive.size(),
                    .bytes = static_cast<std::int64_t>(member.size),
                    .header = std::move(head),
                    .member = member};
  out.arrays.emplace_back(layout.view(array_name(member.name), nullptr), layout.begin);
  return out;
}

Result<std::vector<StoredContent>> read_npz(const std::string& path, const std::vector<std::string>& wanted,
                                            std::int64_t& room, const BindContext& context) {
  FOREBAY_TRY(const auto opened, open_to_plan(path, context));
  const io::RandomAccessFile& archive = *opened;
  std::vector<std::byte> head(64);
  FOREBAY_TRY(const std::size_t size, archive.read(head, 0));
  if (compression_by_magic(std::span{head}.first(size)) != Compression::none)
    return Error{Code::data, Detail::invalid_argument,
                 "the archive is compressed as a whole; decompress the file first"};
  FOREBAY_TRY(const auto members, zip_members(archive));
  FOREBAY_TRY(const auto chosen, wanted_members(members, wanted));
  std::vector<StoredContent> out;
  for (const ZipMember& member : chosen) {
    const Place place{.feature = array_name(member.name)};
    FOREBAY_TRY(StoredContent content, array_of_member(member, archive, room).at(place));
    out.push_back(std::move(content));
  }
  return out;
}

Result<Source> bind_npz(const Npz& options, const BindContext& context) {
  FOREBAY_TRY(const std::vector<std::string> files, source_files(options.files, context));
  auto source = std::make_shared<RowSource>();
  std::vector<std::string> names = options.arrays;
  std::int64_t room = options.max_bytes;
  for (const std::string& path : files) {
    FOREBAY_TRY(std::vector<StoredContent> contents, read_npz(path, names, room, context).at(Place{.file = path}));
    FOREBAY_DO(add_part(std::move(contents), path, *source));
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
          .example(
              {.options = R"({"files": ["in.npz"]})",
               .in = R"(["base64:UEsDBBQAAAAIAAAAIQBclsraSgAAAJAAAAAFAAAAeS5ucHmb7BfqGxDJyFDGUK2eklqcXKRupaBul2mhrqOg)"
                     R"(npZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFAAuBghgh9IcAFBLAQIUAxQAAAAIAAAAIQBc)"
                     R"(lsraSgAAAJAAAAAFAAAAAAAAAAAAAACAAQAAAAB5Lm5weVBLBQYAAAAAAQABADMAAABtAAAAAAA="])",
               .out = R"({"y": [7, 8]})"});
  out.rows = true;
  return out;
}

}  // namespace forebay::sources
