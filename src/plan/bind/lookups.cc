// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/lookups.h"

#include <fmt/core.h>

#include <forebay/files.h>

#include "base/draw.h"
#include "io/paths.h"
#include "plan/canonical.h"
#include "plan/document/faults.h"

namespace forebay::plan {

namespace {

constexpr std::int64_t max_lookup_bytes = std::int64_t{64} << 20;

/// Reads a small file and returns the hash of its content. `read` makes something of it.
template <class Read>
Result<std::uint64_t> read_small(const std::string& name, const std::vector<std::string>& option,
                                 const std::string& folder, const Read& read) {
  const std::string path = io::resolve(name, folder);
  const auto refuse = [&](Code code, Detail detail, std::string why) {
    return Error{code, detail, std::move(why), Place{.field = option}};
  };
  const auto content = read_file(path, max_lookup_bytes + 1);
  if (!content.ok()) {
    const Error& error = content.error();
    return refuse(error.code(), error.detail(), error.message());
  }
  if (std::ssize(*content) > max_lookup_bytes) {
    return refuse(Code::config, Detail::invalid_argument,
                  fmt::format("'{}' has more than {} bytes; is it the right file?", path, max_lookup_bytes));
  }
  FOREBAY_DO(read(*content, path).at(Place{.field = option}));
  return fnv1a(*content);
}

Result<void> read_lookup(TextLookup& lookup, const std::string& folder) {
  const auto read = [&](std::string_view content, const std::string& path) -> Result<void> {
    FOREBAY_TRY(lookup.find, lookup.read(content, path));
    return {};
  };
  FOREBAY_TRY(const std::uint64_t hash, read_small(lookup.file, lookup.option, folder, read));
  lookup.made_of = mix(lookup.made_of ^ hash);
  return {};
}

/// Calls `look` for every order that may have a lookup.
template <class StageList, class Look>
void for_each_lookup(StageList& stages, const Look& look) {
  const auto look_at = [&](auto& order) {
    for (auto& attribute : order.ordering.attributes) {
      if (attribute.lookup.read) look(order.stage, attribute.lookup);
    }
  };
  for (auto& order : stages.selecting) look_at(order);
  if (stages.interleave) look_at(*stages.interleave);
  for (auto& order : stages.record_orders) look_at(order);
}

}  // namespace

void read_lookups(Stages& stages, const BindContext& context, Faults& faults) {
  for_each_lookup(stages, [&](const Stage& stage, TextLookup& lookup) {
    const auto done = read_lookup(lookup, context.folder);
    if (!done.ok()) keep(at_options(done.error(), *stage.options), faults);
  });
}

void read_step_files(const Bound<Step>& bound, const Stage& stage, const std::string& folder, FileHashes& hashes,
                     Faults& faults) {
  for (const SmallFile& file : bound.files) {
    const auto hash = read_small(file.path, file.option, folder, file.read);
    if (hash.ok()) {
      hashes.emplace_back(fmt::format("{} of {}", file.option.front(), stage.plugin), *hash);
    } else {
      keep(at_options(hash.error(), *stage.options), faults);
    }
  }
}

FileHashes lookup_hashes(const Stages& stages, FileHashes out) {
  for_each_lookup(stages, [&](const Stage& stage, const TextLookup& lookup) {
    out.emplace_back(fmt::format("{} of {}", lookup.option.front(), stage.plugin), lookup.made_of);
  });
  return out;
}

}  // namespace forebay::plan
