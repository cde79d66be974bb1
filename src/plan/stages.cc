// SPDX-License-Identifier: Apache-2.0
#include "plan/stages.h"

#include <algorithm>

#include <fmt/core.h>

#include "plan/document/faults.h"

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

template <class Type>
void add_names(const std::vector<Type>& types, std::vector<std::string>& names) {
  for (const Type& type : types) names.push_back(type.description.name);
}

/// Reads the stages of a document and sorts them into formats, decoders, orders, steps and the batcher. Adds what does
/// not fit to the faults. Lives for one call on the caller's thread.
class StageSorter {
 public:
  StageSorter(const Json& document, const Registry& registry, Faults& faults, DocumentKind kind)
      : document_{document}, registry_{registry}, faults_{faults}, is_branch_{kind == DocumentKind::branch} {}

  Stages run() {
    stages_.source_stage = named("source", "format");
    stages_.decoder_stage = named("decode", "decoder");
    if (const auto& stage = stages_.source_stage) look_up_source(*stage);
    if (const auto& stage = stages_.decoder_stage) stages_.decoder = look_up(registry_.decoders(), *stage, "decoder");
    const Json* steps = document_.find("steps");
    if (steps == nullptr || !steps->is(Json::Kind::array)) return std::move(stages_);
    for (const Json& item : steps->items()) {
      if (const auto stage = read_stage(item, "step, order or batcher", faults_)) {
        place(*stage);
      } else {
        add_unknown();
      }
    }
    if (!stages_.batch_stage && !unknown_ && !is_branch_) {
      complain(*steps, "no step makes batches; add {\"batch\": {\"size\": …}}", faults_);
    }
    return std::move(stages_);
  }

 private:
  std::optional<Stage> named(const char* key, std::string_view what) {
    const Json* json = document_.find(key);
    if (json == nullptr || !json->is(Json::Kind::object)) return std::nullopt;  // the top level reports this
    return read_stage(*json, what, faults_);
  }

  template <class Type>
  const Type* look_up(const std::vector<Type>& types, const Stage& stage, std::string_view what) {
    if (const Type* type = find_type(types, stage.plugin)) return type;
    std::vector<std::string> names;
    add_names(types, names);
    refuse(stage, what, names);
    return nullptr;
  }

  /// A format, or a combination of branches.
  void look_up_source(const Stage& stage) {
    stages_.combination = find_type(registry_.combinations(), stage.plugin);
    if (stages_.combination == nullptr) {
      stages_.source = look_up(registry_.sources(), stage, "format");
    } else if (is_branch_) {
      stages_.combination = nullptr;
      complain(*stage.json,
               fmt::format("'{}' combines branches, and combinations do not nest: list all branches in one, or make "
                           "the inner combination a data set of its own",
                           stage.plugin),
               faults_);
    }
  }

  void refuse(const Stage& stage, std::string_view what, const std::vector<std::string>& names) {
    faults_.emplace_back(Code::config, Detail::invalid_argument,
                         fmt::format("there is no {} {}{}{}", what, quote(stage.plugin), belongs(stage.plugin),
                                     among(stage.plugin, names, "known")),
                         stage.options->place());
  }

  /// Returns a hint about the right place of a plug-in that is in the wrong one.
  [[nodiscard]] std::string_view belongs(const std::string& name) const {
    if (find_type(registry_.sources(), name) != nullptr) return " (it is a format, for `source`)";
    if (find_type(registry_.combinations(), name) != nullptr) return " (it combines branches, for `source`)";
    if (find_type(registry_.decoders(), name) != nullptr) return " (it is a decoder, for `decode`)";
    if (find_type(registry_.steps(), name) != nullptr || find_type(registry_.orders(), name) != nullptr ||
        find_type(registry_.batchers(), name) != nullptr) {
      return " (it is for `steps`)";
    }
    return "";
  }

  void place(const Stage& stage) {
    if (const StepType* step = find_type(registry_.steps(), stage.plugin)) {
      (stages_.batch_stage ? stages_.after : stages_.before).push_back({stage, step});
    } else if (const OrderType* order = find_type(registry_.orders(), stage.plugin)) {
      place_order(stage, *order);
    } else if (const BatcherType* batcher = find_type(registry_.batchers(), stage.plugin); batcher && is_branch_) {
      complain(*stage.options,
               fmt::format("'{}' makes batches of the rows of all branches; move it from the branch to the document's "
                           "`steps`",
                           stage.plugin),
               faults_);
    } else if (batcher != nullptr) {
      if (stages_.batch_stage) {
        complain(*stage.options,
                 fmt::format("'{}' comes behind '{}', but batches are made only once", stage.plugin,
                             stages_.batch_stage->plugin),
                 faults_);
        return;
      }
      stages_.batch_stage = stage;
      stages_.batcher = batcher;
    } else {
      std::vector<std::string> names;
      add_names(registry_.steps(), names);
      add_names(registry_.orders(), names);
      add_names(registry_.batchers(), names);
      refuse(stage, "step, order or batcher", names);
      add_unknown();
    }
  }

  static const StepStage* first_known(const std::vector<StepStage>& steps) {
    const auto known = [](const StepStage& step) { return step.type != nullptr; };
    const auto found = std::find_if(steps.begin(), steps.end(), known);
    return found == steps.end() ? nullptr : &*found;
  }

  void add_unknown() {
    unknown_ = true;
    (stages_.batch_stage ? stages_.after : stages_.before).push_back({});
  }

  static bool needs_files(const Ordering& order) {
    return order.grain == Grain::files_to_records || order.random_access || !order.attributes.empty();
  }

  void place_order(const Stage& stage, const OrderType& type) {
    if (stages_.batch_stage) {
      complain(*stage.options,
               fmt::format("'{}' orders records and must come before '{}'", stage.plugin, stages_.batch_stage->plugin),
               faults_);
      return;
    }
    auto ordering = keep(type.bind(*stage.options), faults_);
    if (!ordering) return;
    if (stages_.combination != nullptr && needs_files(*ordering)) {
      complain(*stage.options,
               fmt::format("'{}' comes after a combination, which has no files of its own and whose rows are not read "
                           "in any order; move it into the branches{}",
                           stage.plugin, ordering->random_access ? ", or give it a buffer" : ""),
               faults_);
      return;
    }
    if (ordering->grain != Grain::files_to_records) {
      stages_.record_orders.push_back({stage, *std::move(ordering), stages_.before.size()});
      return;
    }
    for (const OrderStage& order : stages_.record_orders) {
      if (order.ordering.grain != Grain::records) continue;
      complain(*order.stage.options,
               fmt::format("'{}' looks into records and must come after '{}', which opens the files",
                           order.stage.plugin, stage.plugin),
               faults_);
    }
    if (stages_.interleave) {
      complain(*stage.options,
               fmt::format("files are opened only once, by the first '{}'", stages_.interleave->stage.plugin), faults_);
    } else if (const StepStage* step = first_known(stages_.before)) {
      complain(*stage.options,
               fmt::format("'{}' opens files and must come before '{}', which acts on records", stage.plugin,
                           step->stage.plugin),
               faults_);
    } else {
      stages_.file_orders = std::exchange(stages_.record_orders, {});
      stages_.interleave = OrderStage{stage, *std::move(ordering)};
    }
  }

  const Json& document_;
  const Registry& registry_;
  Faults& faults_;
  Stages stages_;
  const bool is_branch_;
  bool unknown_ = false;  ///< An item of `steps` names no plug-in; it may have been meant as the batcher.
};

}  // namespace

Stages read_stages(const Json& document, const Registry& registry, Faults& faults, DocumentKind kind) {
  return StageSorter{document, registry, faults, kind}.run();
}

Ordering in_file_order(const Registry& registry) {
  const OrderType* type = find_type(registry.orders(), "interleave");
  return *type->bind(Json::object());
}

}  // namespace forebay::plan
