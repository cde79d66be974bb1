// SPDX-License-Identifier: Apache-2.0
#include <forebay/convert_records.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <forebay/files.h>

#include "engine/requests/open_file.h"
#include "io/identity.h"
#include "io/paths.h"
#include "stores/registry.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_output_files = 100'000;  // the names have five digits

Error folder_error(const std::string& what, const std::string& path, const std::error_code& problem) {
  return {Code::io, Detail::none, fmt::format("cannot {} '{}': {}", what, path, problem.message()),
          Place{.file = path}};
}

Result<void> make_folder(const std::string& path) {
  std::error_code problem;
  if (!path.empty()) fs::create_directories(path, problem);
  return problem ? Result<void>{folder_error("make the folder", path, problem)} : Result<void>{};
}

/// The note of one shard of a conversion, beside the indexes: patterns never match it.
std::string note_path(const std::string& out, std::int64_t files, const ConvertShard& shard) {
  const std::string part = shard.count == 1 ? "" : fmt::format(".{}-of-{}", shard.index, shard.count);
  return fmt::format("{}/convert-{}{}.json", io::resolve(std::string{io::store_folder}, io::parent(out)),
                     io::base_name(output_file(out, 0, files)), part);
}

/// Whether the conversion that the note tells of is this one. Fails with what differs.
Result<void> compare(const std::string& path, const Json& what) {
  constexpr std::int64_t max_note = 1 << 20;
  FOREBAY_TRY(const std::string text, read_file(path, max_note));
  FOREBAY_TRY(const Json old, parse_json(text, path));
  const auto differ = [&](const std::string& key, const Json* before, const Json* now) -> Result<void> {
    const std::string was = before == nullptr ? "not set" : before->text(),
                      is = now == nullptr ? "not set" : now->text();
    if (was == is) return {};
    return Error{
        Code::state, Detail::failed_precondition,
        fmt::format("the conversion that was begun is another one: {} was {} and is {} now; repeat the call that "
                    "began it, or begin anew with `replace` (--force)",
                    key, was, is),
        Place{.file = path}};
  };
  for (const auto& [key, value] : what.members()) FOREBAY_DO(differ(key, old.find(key), &value));
  for (const auto& [key, value] : old.members()) FOREBAY_DO(differ(key, &value, what.find(key)));
  return {};
}

/// A run that stores no index there removes the folder while it is empty, so it may go between the two calls.
Result<void> write_note(const std::string& path, const Json& what) {
  constexpr int max_tries = 100;
  for (int tries = 1;; ++tries) {
    FOREBAY_DO(make_folder(io::parent(path)));
    auto written = write_file(path, what.pretty() + "\n");
    if (written.ok() || written.error().detail() != Detail::not_found || tries == max_tries) return written;
  }
}

Result<void> remove_file(const std::string& path) {
  std::error_code problem;
  fs::remove(path, problem);
  return problem ? Result<void>{folder_error("remove", path, problem)} : Result<void>{};
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

Result<void> check_range(const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("{}: must be from {} to {}, found {}", name, min, max, value)};
}

/// The endings of compressed files.
constexpr std::array<std::pair<std::string_view, Compression>, 5> compressed_ends{{{".gz", Compression::gzip},
                                                                                   {".zz", Compression::zlib},
                                                                                   {".zst", Compression::zstd},
                                                                                   {".bz2", Compression::bzip2},
                                                                                   {".xz", Compression::xz}}};

}  // namespace

std::string file_format(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view shard = "-00000-of-00000";
  if (name.size() > shard.size()) {  // train.parquet-00003-of-00008
    const std::string_view end = name.substr(name.size() - shard.size());
    const auto fits = [](char found, char wanted) {
      return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
    };
    if (std::ranges::equal(end, shard, fits)) name.remove_suffix(shard.size());
  }
  for (const auto& [end, compression] : compressed_ends) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> formats{{{".parquet", "parquet"},
                                                                                   {".pq", "parquet"},
                                                                                   {".arrow", "arrow"},
                                                                                   {".feather", "arrow"},
                                                                                   {".ipc", "arrow"},
                                                                                   {".tar", "tar"},
                                                                                   {".csv", "csv"},
                                                                                   {".npy", "npy"},
                                                                                   {".npz", "npz"},
                                                                                   {".tfrecord", "tfrecord"},
                                                                                   {".tfrecords", "tfrecord"},
                                                                                   {".tfrec", "tfrecord"},
                                                                                   {".tfr", "tfrecord"},
                                                                                   {".record", "tfrecord"},
                                                                                   {".records", "tfrecord"}}};
  for (const auto& [end, format] : formats) {
    if (name.ends_with(end)) return std::string{format};
  }
  return name.substr(std::min<std::size_t>(1, name.size())).find('.') == std::string_view::npos ? "tfrecord" : "";
}

Compression compression_by_name(std::string_view path) {
  for (const auto& [end, compression] : compressed_ends) {
    if (path.ends_with(end)) return compression;
  }
  return Compression::none;
}

std::string output_file(const std::string& out, std::int64_t number, std::int64_t files) {
  if (files == 1) return out;
  const std::size_t name = out.rfind('/') + 1;  // 0 without a folder
  const std::size_t dot = std::min(out.find('.', std::min(name + 1, out.size())), out.size());
  return fmt::format("{}-{:05}-of-{:05}{}", out.substr(0, dot), number, files, out.substr(dot));
}

namespace {

Result<std::int64_t> size_of(const std::string& path) {
  if (stores::file_system_of(path) != nullptr) {
    FOREBAY_TRY(const auto file, engine::open_file(path));
    return file->size();
  }
  std::error_code problem;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, problem));
  if (problem) return folder_error("read", path, problem);
  return size;
}

}  // namespace

Result<Json> identity_of_inputs(const std::vector<std::string>& files) {
  std::string all;
  std::int64_t bytes = 0;
  for (const std::string& path : files) {
    FOREBAY_TRY(const std::int64_t size, size_of(path));
    bytes += size;
    all += fmt::format("{}\n{}\n", io::base_name(path), size);
  }
  Json out = Json::object();
  out.set("files", std::ssize(files));
  out.set("bytes", bytes);
  out.set("hash", fmt::format("{:016x}", io::fnv1a(std::as_bytes(std::span{all}))));
  return out;
}

Result<std::vector<std::int64_t>> begin_conversion(const std::string& out, std::int64_t files,
                                                   const ConvertShard& shard, ExistingOutput existing,
                                                   const Json& what) {
  FOREBAY_DO(check_range("files", files, 1, max_output_files));
  FOREBAY_DO(check_range("the count of the shard", shard.count, 1, max_output_files));
  FOREBAY_DO(check_range("the index of the shard", shard.index, 0, shard.count - 1));
  const std::string note = note_path(out, files, shard);
  const bool resumes = existing == ExistingOutput::resume && exists(note);
  if (resumes) FOREBAY_DO(compare(note, what));
  if (existing == ExistingOutput::replace) FOREBAY_DO(remove_file(note));
  std::vector<std::int64_t> missing;
  for (std::int64_t number = shard.index; number < files; number += shard.count) {
    const std::string path = output_file(out, number, files);
    if (exists(path)) {
      if (resumes) continue;
      if (existing != ExistingOutput::replace)
        return Error{Code::config, Detail::failed_precondition,
                     existing == ExistingOutput::refuse
                         ? "the file exists; `resume` (--resume) goes on with a conversion that was begun, `replace` "
                           "(--force) removes it"
                         : "the file exists, but no conversion of these names was begun here; `replace` (--force) "
                           "removes it",
                     Place{.file = path}};
      FOREBAY_DO(remove_file(path));
    }
    missing.push_back(number);
  }
  FOREBAY_DO(make_folder(io::parent(out)));
  if (!resumes) FOREBAY_DO(write_note(note, what));
  return missing;
}

}  // namespace forebay
