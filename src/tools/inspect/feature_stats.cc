// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/feature_stats.h"

#include <algorithm>

namespace forebay::tools {

void FeatureStats::merge(const FeatureStats& other) {
  records += other.records;
  empty += other.empty;
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] += other.kinds[i];
  lengths.merge(other.lengths);
  steps.merge(other.steps);
  step_values.merge(other.step_values);
  kindless_steps += other.kindless_steps;
  integers.merge(other.integers);
  floats.merge(other.floats);
  strings.merge(other.strings);
}

bool FeatureStats::one_kind(ValueKind& kind) const {
  kind = ValueKind::none;
  int seen = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == 0) continue;
    ++seen;
    kind = static_cast<ValueKind>(i);
  }
  return seen < 2;
}

FeatureStats* FeatureTable::find_or_add(std::string_view name) {
  const auto found = features_.find(name);
  if (found != features_.end()) return found->second.get();
  if (features_.size() >= max_features || name.size() > max_name) {
    ++left_out_;
    return nullptr;
  }
  return features_.emplace(std::string{name}, std::make_unique<FeatureStats>()).first->second.get();
}

void FeatureTable::merge(FeatureTable&& other) {
  left_out_ += other.left_out_;
  for (const auto& [name, stats] : other.sorted()) {
    if (FeatureStats* own = find_or_add(name)) own->merge(*stats);
  }
}

std::vector<std::pair<std::string, const FeatureStats*>> FeatureTable::sorted() const {
  std::vector<std::pair<std::string, const FeatureStats*>> out;
  for (const auto& [name, stats] : features_) out.emplace_back(name, stats.get());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace forebay::tools
