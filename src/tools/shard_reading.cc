// SPDX-License-Identifier: Apache-2.0
#include <forebay/shard_reading.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/loader.h>

#include "engine/index/index_parallel.h"
#include "engine/order/files/own_rows.h"
#include "engine/program/plan_access.h"
#include "io/file.h"
#include "stores/registry.h"

namespace forebay {

namespace {

constexpr std::int64_t memory_for_published = std::int64_t{256} << 20;  // bytes

/// The bytes of files that are read whole, and of all.
struct Sizes {
  double whole = 0, all = 0;
};

/// By part: the requests for the indexes of files of other machines, after what is published of them was taken.
std::map<std::uint32_t, engine::IndexRequest> requests_to_others(const engine::Program& program,
                                                                 const std::shared_ptr<engine::IndexStores>& stores) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t part = 0; program.source.files_a_part == 0 && part < program.source.parts(); ++part)
    if (stores::file_system_of(program.source.files[part]) != nullptr) parts.push_back(part);
  const auto pool = std::make_shared<engine::BufferPool>(memory_for_published);
  auto requests = engine::requests_with_published(program, parts, {.pool = pool, .stores = stores});
  std::map<std::uint32_t, engine::IndexRequest> out;
  for (std::size_t i = 0; i < parts.size(); ++i) out.emplace(parts[i], std::move(requests[i]));
  return out;
}

/// Adds the files of a source to `out`, decided as OpenFiles decides. An order that reaches records by index reads its
/// own rows only, but for files of other machines whose records are not worth a request.
void add_files(const engine::Program& program, std::int64_t processes,
               const std::shared_ptr<engine::IndexStores>& stores, ShardReading& out, Sizes& sizes) {
  if (program.source.rows) return;
  engine::OwnRows own{program, processes};
  const auto of_others = requests_to_others(program, stores);
  std::optional<engine::MadeIndex> made;  // of the file that is decided
  for (std::uint32_t part = 0; part < program.source.parts(); ++part) {
    const auto other = of_others.find(part);
    const auto request = [&]() -> std::optional<engine::IndexRequest> {
      if (other != of_others.end()) return other->second.identity ? std::optional{other->second} : std::nullopt;
      engine::IndexRequest asked = engine::request_for(program.source, part);
      asked.stores = stores;
      return asked;
    };
    const auto load = [&]() -> std::optional<engine::StoredValues> {
      made.reset();
      if (const auto asked = request()) made = engine::load_made(program, *asked);
      if (!made) return std::nullopt;
      return engine::StoredValues{.records = made->index->records(), .attributes = made->attributes};
    };
    if (program.interleave.random_access) {
      own.reached(part, other == of_others.end() ? std::string{}
                        : load()                 ? engine::why_not_fetched_alone(*made->index)
                                                 : "it has no index; `forebay index` makes one");
    }
    const bool only_own = own.decide(part, request, load);
    if (program.source.files_a_part > 0) continue;
    const auto size = io::file_size(program.source.files[part]);
    sizes.all += size.ok() ? static_cast<double>(*size) : 0;
    sizes.whole += size.ok() && !only_own ? static_cast<double>(*size) : 0;
  }
  const ShardReading& found = own.reading();
  if (out.reason.empty()) out.reason = found.reason;
  out.own_files += found.own_files;
  out.whole_files += found.whole_files;
}

}  // namespace

ShardReading shard_reading(const Plan& plan, const RunOptions& options) {
  Shard shard = options.shard_count == 0 ? plan.shard() : Shard{.count = options.shard_count, .by = options.shard_by};
  if (options.batch_count > 0) shard.batch_count = options.batch_count;
  const std::int64_t processes = (shard.by == ShardBy::file ? 1 : shard.count) * shard.batch_count;
  ShardReading out;
  if (processes <= 1) return out;
  const engine::Program& program = engine::program_of(plan);
  const auto stores = std::make_shared<engine::IndexStores>(options.index_dir);
  Sizes sizes;
  if (program.branches.empty()) add_files(program, processes, stores, out, sizes);
  for (const engine::Program& branch : program.branches) add_files(branch, processes, stores, out, sizes);
  const double whole = sizes.all > 0 ? sizes.whole / sizes.all : out.own_files > 0 ? 0 : 1;
  if (out.own_files + out.whole_files > 0) out.amplification = 1 + whole * static_cast<double>(processes - 1);
  return out;
}

}  // namespace forebay
