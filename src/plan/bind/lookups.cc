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

Result<void> read_lookup(TextLookup& lookup, const std::string& folder) {
  const std::string path = io::resolve(lookup.file, folder);
  const auto refuse = [&](Code code, Detail detail, std::string why) {
    return Error{code, detail, std::move(why), Place{.field = lookup.option}};
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
  FOREBAY_TRY(lookup.find, lookup.read(*content, path).at(Place{.field = lookup.option}));
  lookup.made_of = mix(lookup.made_of ^ fnv1a(*content));
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

std::vector<std::pair<std::string, std::uint64_t>> lookup_hashes(const Stages& stages) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for_each_lookup(stages, [&](const Stage& stage, const TextLookup& lookup) {
    out.emplace_back(fmt::format("{} of {}", lookup.option.front(), stage.plugin), lookup.made_of);
  });
  return out;
}

}  // namespace forebay::plan
