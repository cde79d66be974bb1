// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/side_by_side.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "plan/builder/widenings.h"
#include "plan/canonical.h"

namespace forebay::plan {
namespace {

/// Whether the order gives elements in another order than they came in. `repeat` begins again, and moves none.
bool moves(const OrderStage& order) {
  const Ordering& ordering = order.ordering;
  return !ordering.keeps_order && !(ordering.repeats && ordering.grain == Grain::any);
}

/// All orders of a branch; those of files, and those that open files, come first.
std::vector<const OrderStage*> orders_of(const std::vector<const Stages*>& stretches) {
  std::vector<const OrderStage*> out;
  const auto add = [&](const OrderStage& order) { out.push_back(&order); };
  for (const Stages* stages : stretches) {
    std::ranges::for_each(stages->file_orders, add);
    std::ranges::for_each(stages->selecting, add);
    if (stages->interleave) add(*stages->interleave);
    std::ranges::for_each(stages->record_orders, add);
    std::ranges::for_each(stages->batch_orders, add);
  }
  return out;
}

bool is_in(const OrderStage* order, const std::vector<OrderStage>& list) {
  return std::ranges::any_of(list, [&](const OrderStage& each) { return &each == order; });
}

/// Whether the order moves rows by the files that they are in.
bool goes_by_files(const OrderStage& order, const std::vector<const Stages*>& stretches) {
  const Ordering& ordering = order.ordering;
  if (!moves(order)) return false;
  const bool of_files =
      std::ranges::any_of(stretches, [&](const Stages* stages) { return is_in(&order, stages->file_orders); });
  return of_files || (ordering.grain == Grain::files_to_records && !ordering.random_access);
}

/// Why the rows of branches may be moved differently by an order that all of them have; empty: they are not.
std::string depends_on(const OrderStage& order, const std::vector<const Stages*>& stretches, bool shortest) {
  const Ordering& ordering = order.ordering;
  if (!ordering.attributes.empty())
    return "decides by the values of rows, and branches have different ones; write the rows to one file, and order "
           "that";
  if (!moves(order)) return {};
  if (goes_by_files(order, stretches) && stretches.size() > 1)
    return "moves rows by the files that they are in, and the rows of a branch are made, so it is not known in which "
           "files those of the others lie; shuffle the rows with a buffer or globally";
  if (shortest)
    return "moves rows by their number, and with \"until\": \"first\" branches may have different numbers of rows; "
           "leave "
           "`until` out";
  return {};
}

class SideBySide {
 public:
  SideBySide(std::span<const SideBranch> branches, bool shortest, const Registry& registry, Faults& faults)
      : branches_{branches}, shortest_{shortest}, registry_{registry}, faults_{faults} {
    for (const SideBranch& branch : branches) orders_.push_back(orders_of(branch.stages));
  }

  /// Whether the files of all branches must have equally many rows.
  bool run() {
    const auto has_moving = [](const auto& orders) {
      return std::ranges::any_of(orders, [](const OrderStage* order) { return moves(*order); });
    };
    const auto moving = std::ranges::find_if(orders_, has_moving);
    if (moving != orders_.end()) check_alike(static_cast<std::size_t>(moving - orders_.begin()));
    for (std::size_t i = 0; i < branches_.size(); ++i) check_inside(i);
    for (const SideBranch& branch : branches_) check_policy(branch);
    const auto by_files = [&](const auto* order) { return goes_by_files(*order, branches_.front().stages); };
    return std::ranges::any_of(orders_.front(), by_files);
  }

 private:
  void check_alike(std::size_t first) {
    for (const OrderStage* order : orders_[first]) {
      const std::string why = depends_on(*order, branches_[first].stages, shortest_);
      if (why.empty()) continue;
      complain(*order->stage.options, fmt::format("'{}' {}", order->stage.plugin, why), faults_);
      return;
    }
    const OrderStage* const moving =
        *std::ranges::find_if(orders_[first], [](const auto* each) { return moves(*each); });
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (alike(orders_[i], orders_[first]) && same_stretches(i, first)) continue;
      const auto other = std::ranges::find_if(orders_[i], [](const auto* each) { return moves(*each); });
      complain(
          other != orders_[i].end() ? *(*other)->stage.options : *moving->stage.options,
          fmt::format("'{}' moves the rows of branch {}, and branch {} has other orders, so rows that belong together "
                      "would be separated; give every branch the same orders with the same options",
                      moving->stage.plugin, first, i),
          faults_);
      return;
    }
  }

  /// Branches of a branch have no counterparts in the other ones.
  void check_inside(std::size_t branch) {
    for (const OrderStage* order : orders_of(branches_[branch].inside)) {
      if (!moves(*order)) continue;
      complain(*order->stage.options,
               fmt::format("'{}' moves rows within branch {} of a `zip`, so rows that belong together would be "
                           "separated; put it behind the `zip`",
                           order->stage.plugin, branch),
               faults_);
      return;
    }
  }

  /// Orders draw by the stretch that they stand in, and windows before them change how many rows they move.
  [[nodiscard]] bool same_stretches(std::size_t one, std::size_t other) const {
    const std::size_t stretches = branches_[one].stages.size();
    if (stretches != branches_[other].stages.size()) return false;
    return stretches == 1 || moving_stages(branches_[one].json) == moving_stages(branches_[other].json);
  }

  /// The hashes of the stages of a branch that act on rows, and not on columns alone.
  [[nodiscard]] std::vector<std::uint64_t> moving_stages(const Json& branch) const {
    std::vector<std::uint64_t> out;
    const Json* const steps = branch.find("steps");
    if (steps == nullptr) return out;
    for (const Json& step : steps->items()) {
      if (find_type(registry_.steps(), stage_name(step)) == nullptr) out.push_back(stage_hash(step, registry_));
    }
    return out;
  }

  [[nodiscard]] bool alike(const std::vector<const OrderStage*>& one,
                           const std::vector<const OrderStage*>& other) const {
    return std::ranges::equal(one, other, [&](const OrderStage* a, const OrderStage* b) {
      return stage_hash(*a->stage.json, registry_) == stage_hash(*b->stage.json, registry_);
    });
  }

  void check_policy(const SideBranch& branch) {
    if (branch.instead_of_skips.empty() || told_) return;
    told_ = true;
    complain(branch.document.on_corrupt.json,
             fmt::format("records that are skipped in one branch would leave the rows after them beside rows that they "
                         "do not belong to; {}",
                         branch.instead_of_skips),
             faults_);
  }

  const std::span<const SideBranch> branches_;
  const bool shortest_;
  const Registry& registry_;
  Faults& faults_;
  std::vector<std::vector<const OrderStage*>> orders_;
  bool told_ = false;
};

}  // namespace

bool check_side_by_side(std::span<const SideBranch> branches, bool shortest, const Registry& registry, Faults& faults) {
  return SideBySide{branches, shortest, registry, faults}.run();
}

}  // namespace forebay::plan
