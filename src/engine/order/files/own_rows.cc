// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/own_rows.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/index/made_index.h"
#include "engine/read/mapped_file.h"
#include "io/file_system.h"
#include "sources/detect.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

bool is_compressed(const IndexRequest& request) {
  const auto file = io::File::open(request.file);
  if (!file.ok()) return false;
  const auto compression = sources::compression_of(*file, request.compression, *request.format);
  return compression.ok() && *compression != Compression::none;
}

std::int64_t mean_record(const IndexFacts& facts) {
  return facts.records > 0 ? facts.bytes / facts.records : min_own_request;
}

bool is_requested(const IndexRequest& request) { return stores::file_system_of(request.file) != nullptr; }

std::int64_t min_own(const IndexRequest& request) { return is_requested(request) ? min_own_request : min_own_record; }

std::string small_records(std::int64_t mean, std::int64_t min) {
  return fmt::format("its records have {} bytes on average, less than {}", mean, min);
}

std::string why_not_stored(const IndexRequest& request) {
  const auto found = load_index(request);
  if (!found.ok()) return found.error().message();
  if (found->state == IndexState::absent && request.made_by != 0)
    return "which of its records are corrupt is not stored; `forebay index --document` stores that";
  if (found->state == IndexState::absent) return "it has no index; `forebay index` makes one";
  if (found->state == IndexState::good)
    return "values that an order needs of its records are not stored, or memory has no room for its index";
  return "its index is not used: " + found->reason;
}

}  // namespace

std::int64_t processes_of(const Program& program, const Shard& shard) {
  return shard.count * shard.batch_count * program.dealt;
}

bool brings_whole_files(const Program& program) {
  const Source& source = program.source;
  const bool own = source.files_a_part > 0 && !source.files.empty() && stores::file_system_of(source.files.front());
  return own || std::ranges::any_of(program.branches, brings_whole_files);
}

std::string whole_for_all(const Program& program) {
  if (!program.early.frame_attributes.empty()) return "an order needs values of frames, which are not stored";
  if (program.windows && program.windows->windowing.asks) return "a function of the program cuts the windows";
  if (program.source.files_a_part == 0) return {};
  if (program.windows) return "rows are windows of whole files";
  if (skips_early(program.on_corrupt))
    return "on_corrupt leaves records out, and which whole files are corrupt is not stored";
  if (!program.early.empty())
    return "an order needs values of the records of all files, and those of whole files are not stored";
  return {};
}

std::string why_not_fetched_alone(const RecordIndex& index) {
  if (index.compression() != Compression::none) return "it is compressed";
  const std::int64_t mean = index.payload_bytes() / std::max<std::int64_t>(1, index.records());
  return index.records() > 0 && mean < min_own_request ? small_records(mean, min_own_request) : std::string{};
}

bool OwnRows::reads_own(const IndexRequest& request, const LoadStored& load) const {
  // The head of an entry tells most files that are read whole, without their index in memory.
  const auto facts = peek_index(request);
  if (!facts || facts->compression != Compression::none || mean_record(*facts) < min_own(request)) return false;
  if (!is_requested(request) && MappedFile::too_many()) return false;
  const auto stored = load();
  return stored && why_not_worth(*stored).empty();
}

/// Why `reads_own` is false, in words.
std::string OwnRows::why_whole(const IndexRequest& request, const LoadStored& load) const {
  if (!is_requested(request) && is_compressed(request)) return "it is compressed";
  const auto facts = peek_index(request);
  if (!facts) return why_not_stored(request);
  if (facts->compression != Compression::none) return "it is compressed";
  if (mean_record(*facts) < min_own(request)) return small_records(mean_record(*facts), min_own(request));
  if (!is_requested(request) && MappedFile::too_many()) return "as many files are mapped as the system allows";
  const auto stored = load();
  return stored ? why_not_worth(*stored) : why_not_stored(request);
}

/// Why a file is read whole whose index is stored; empty: it is not. A record is brought for each batch in which the
/// process has a window of it, which are not the same batches after a shuffle.
std::string OwnRows::why_not_worth(const StoredValues& stored) const {
  if (!program_.windows) return {};
  const auto windows = windows_of_a_record(program_, stored);
  if (windows && 2 * *windows <= static_cast<double>(processes_)) return {};
  if (!windows) return "its windows cannot be cut";
  return fmt::format("each of its records lies in {:.1f} windows, more than half of {} processes", *windows,
                     processes_);
}

bool OwnRows::unknown(std::uint32_t part) {
  if (ways_.empty()) ways_.resize(program_.source.parts());
  return ways_[part] == Way::unknown;
}

void OwnRows::take(std::uint32_t part, Way way) {
  ways_[part] = way;
  (way == Way::own ? reading_.own_files : reading_.whole_files) += program_.source.files_of(part);
}

bool OwnRows::decide(std::uint32_t part, const std::function<std::optional<IndexRequest>()>& request,
                     const LoadStored& load) {
  if (!some_rows() || program_.source.rows) return false;
  if (!unknown(part)) return ways_[part] == Way::own;
  std::string reason = for_all_;
  bool own = reason.empty();
  if (own && program_.source.files_a_part == 0) {
    auto asked = request();
    if (asked) asked->made_by = index_key(program_);
    own = asked && reads_own(*asked, load);
    if (!own && reading_.whole_files == 0)
      reason = fmt::format("{}: {}", program_.source.files[part],
                           asked ? why_whole(*asked, load) : "its store tells no version of it");
  }
  if (!own && reading_.whole_files == 0) reading_.reason = std::move(reason);
  take(part, own ? Way::own : Way::whole);
  return own;
}

void OwnRows::reached(std::uint32_t part, std::string why_whole) {
  if (!some_rows() || !unknown(part)) return;
  const bool own = why_whole.empty();
  if (!own && reading_.whole_files == 0)
    reading_.reason = fmt::format("{}: {}", program_.source.files[part], why_whole);
  take(part, own ? Way::own : Way::whole);
}

}  // namespace forebay::engine
