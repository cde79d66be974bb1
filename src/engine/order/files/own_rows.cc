// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/own_rows.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/index/made_index.h"
#include "engine/read/mapped_file.h"
#include "io/file_system.h"
#include "sources/detect.h"

namespace forebay::engine {

namespace {

bool is_compressed(const IndexRequest& request) {
  const auto file = io::File::open(request.file);
  if (!file.ok()) return false;
  const auto compression = sources::compression_of(*file, request.compression, *request.format);
  return compression.ok() && *compression != Compression::none;
}

std::int64_t mean_record(const IndexFacts& facts) {
  return facts.records > 0 ? facts.bytes / facts.records : min_own_record;
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

bool takes_some_rows(const Program& program, const Shard& shard) {
  return shard.count > 1 || shard.batch_count > 1 || program.dealt > 1;
}

std::string whole_for_all(const Program& program) {
  if (program.windows) return "rows are windows of records";
  if (program.source.files_a_part == 0) return {};
  if (skips_early(program.on_corrupt))
    return "on_corrupt leaves records out, and which whole files are corrupt is not stored";
  if (!program.early.empty())
    return "an order needs values of the records of all files, and those of whole files are not stored";
  return {};
}

bool reads_own_records(const IndexRequest& request, const std::function<bool()>& load) {
  if (io::file_system_of(request.file) != nullptr) return false;
  // The head of an entry tells most files that are read whole, without their index in memory.
  const auto facts = peek_index(request);
  if (!facts || facts->compression != Compression::none || mean_record(*facts) < min_own_record) return false;
  return !MappedFile::too_many() && load();
}

std::string why_whole(const IndexRequest& request) {
  if (io::file_system_of(request.file) != nullptr) return "it is not a file of this machine";
  if (is_compressed(request)) return "it is compressed";
  const auto facts = peek_index(request);
  if (facts && mean_record(*facts) < min_own_record) {
    return fmt::format("its records have {} bytes on average, less than {}", mean_record(*facts), min_own_record);
  }
  return MappedFile::too_many() ? "as many files are mapped as the system allows" : why_not_stored(request);
}

bool OwnRows::unknown(std::uint32_t part) {
  if (ways_.empty()) ways_.resize(program_.source.parts());
  return ways_[part] == Way::unknown;
}

void OwnRows::take(std::uint32_t part, Way way) {
  ways_[part] = way;
  (way == Way::own ? reading_.own_files : reading_.whole_files) += program_.source.files_of(part);
}

bool OwnRows::decide(std::uint32_t part, const std::function<IndexRequest()>& request,
                     const std::function<bool()>& load) {
  if (!some_rows_ || program_.source.rows) return false;
  if (!unknown(part)) return ways_[part] == Way::own;
  const bool files = program_.source.files_a_part > 0;
  std::string reason = for_all_;
  bool own = reason.empty();
  if (own && !files) {
    IndexRequest asked = request();
    asked.made_by = index_key(program_);
    own = reads_own_records(asked, load);
    if (!own && reading_.whole_files == 0) reason = fmt::format("{}: {}", asked.file, why_whole(asked));
  }
  if (!own && reading_.whole_files == 0) reading_.reason = std::move(reason);
  take(part, own ? Way::own : Way::whole);
  return own;
}

void OwnRows::reached(std::uint32_t part) {
  if (some_rows_ && unknown(part)) take(part, Way::own);
}

}  // namespace forebay::engine
