// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/stages.h"

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
    place_orders_of_files();
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
      misplace(*stage.json,
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
        find_type(registry_.windows(), name) != nullptr || find_type(registry_.batchers(), name) != nullptr) {
      return " (it is for `steps`)";
    }
    return "";
  }

  void place(const Stage& stage) {
    if (const StepType* step = find_type(registry_.steps(), stage.plugin)) {
      (stages_.batch_stage ? stages_.after : stages_.before).push_back({stage, step});
    } else if (const OrderType* order = find_type(registry_.orders(), stage.plugin)) {
      place_order(stage, *order);
    } else if (const WindowType* window = find_type(registry_.windows(), stage.plugin)) {
      place_window(stage, *window);
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
      add_names(registry_.windows(), names);
      add_names(registry_.batchers(), names);
      refuse(stage, "step, order or batcher", names);
      add_unknown();
    }
  }

  void add_unknown() {
    unknown_ = true;
    (stages_.batch_stage ? stages_.after : stages_.before).push_back({});
  }

  void place_window(const Stage& stage, const WindowType& type) {
    if (is_branch_ || stages_.combination != nullptr) {
      misplace(
          *stage.options,
          fmt::format("'{}' cuts windows, which can stand neither in a branch of a combination nor after one; leave "
                      "it out, or read one source",
                      stage.plugin),
          faults_);
      return;
    }
    if (stages_.batch_stage) {
      complain(*stage.options,
               fmt::format("'{}' cuts windows and must come before '{}'", stage.plugin, stages_.batch_stage->plugin),
               faults_);
      return;
    }
    stages_.windows.push_back({.stage = stage,
                               .type = &type,
                               .steps_before = stages_.before.size(),
                               .orders_before = stages_.record_orders.size()});
  }

  /// Windows that stand before `interleave`, and orders between them.
  void place_before_interleave(const Stage& interleave) {
    for (WindowItem& window : stages_.windows) {
      for (std::size_t i = window.orders_before; i < stages_.record_orders.size(); ++i) {
        complain(*stages_.record_orders[i].stage.options,
                 fmt::format("'{}' stands between '{}' and '{}'; before both it orders files, after both it orders "
                             "windows",
                             stages_.record_orders[i].stage.plugin, window.stage.plugin, interleave.plugin),
                 faults_);
      }
      window.before_interleave = true;
    }
  }

  /// Whether an order of files may stand here: before files are opened.
  bool may_order_files(const Stage& stage) {
    const Stage* const opens = stages_.interleave ? &stages_.interleave->stage : nullptr;
    if (stages_.combination == nullptr && opens == nullptr) return true;
    complain(
        *stage.options,
        opens != nullptr
            ? fmt::format("'{}' counts files and must come before '{}', which opens them", stage.plugin, opens->plugin)
            : fmt::format("'{}' counts files, and a combination has no files of its own; move it into the branches",
                          stage.plugin),
        faults_);
    return false;
  }

  /// Without an order that opens files, they are opened one after the other, before all orders of records.
  void place_orders_of_files() {
    const auto is_of_files = [](const OrderStage& order) { return order.ordering.grain == Grain::files; };
    auto& orders = stages_.record_orders;
    const auto records = std::ranges::find_if_not(orders, is_of_files);
    if (const auto late = std::find_if(records, orders.end(), is_of_files); late != orders.end()) {
      complain(*late->stage.options,
               fmt::format("'{}' counts files and must come before '{}', which orders records here", late->stage.plugin,
                           records->stage.plugin),
               faults_);
    }
    const auto moved = static_cast<std::size_t>(records - orders.begin());
    for (WindowItem& window : stages_.windows) window.orders_before -= std::min(window.orders_before, moved);
    std::move(orders.begin(), records, std::back_inserter(stages_.file_orders));
    orders.erase(orders.begin(), records);
  }

  /// Orders on batches stand after the batcher.
  void place_batch_order(const Stage& stage, Ordering ordering) {
    if (stages_.batch_stage) {
      stages_.batch_orders.push_back({stage, std::move(ordering)});
      return;
    }
    complain(*stage.options,
             fmt::format("'{}' orders batches and must come after the step that cuts them{}", stage.plugin,
                         is_branch_ ? "; move it from the branch to the document's `steps`" : ""),
             faults_);
  }

  static bool needs_files(const Ordering& order) {
    return order.grain == Grain::files_to_records || order.random_access || !order.attributes.empty();
  }

  void place_order(const Stage& stage, const OrderType& type) {
    auto ordering = keep(type.bind(*stage.options), faults_);
    if (ordering && ordering->grain == Grain::batches) {
      place_batch_order(stage, *std::move(ordering));
      return;
    }
    if (stages_.batch_stage) {
      complain(*stage.options,
               fmt::format("'{}' orders records and must come before '{}'", stage.plugin, stages_.batch_stage->plugin),
               faults_);
      return;
    }
    if (!ordering) return;
    if (stages_.combination != nullptr && needs_files(*ordering)) {
      misplace(
          *stage.options,
          fmt::format("'{}' comes after a combination, which has no files of its own and whose rows are not read "
                      "in any order; move it into the branches, into all of them if their rows stand side by side{}",
                      stage.plugin, ordering->random_access ? ", or give it a buffer" : ""),
          faults_);
      return;
    }
    if (ordering->grain == Grain::files && !may_order_files(stage)) return;
    if (ordering->grain != Grain::files_to_records) {
      stages_.record_orders.push_back({stage, *std::move(ordering), stages_.before.size()});
      return;
    }
    check_before_opening(stage, *ordering);
    if (stages_.interleave) {
      complain(*stage.options,
               fmt::format("files are opened only once, by the first '{}'", stages_.interleave->stage.plugin), faults_);
    } else {
      place_before_interleave(stage);
      for (OrderStage& order : std::exchange(stages_.record_orders, {})) {
        const bool in_parts = acts_in_part(order.ordering, *ordering);
        (in_parts                 ? stages_.record_orders
         : order.ordering.selects ? stages_.selecting
                                  : stages_.file_orders)
            .push_back(std::move(order));
      }
      stages_.orders_in_parts = stages_.record_orders.size();
      for (WindowItem& window : stages_.windows) window.orders_before = stages_.orders_in_parts;
      stages_.interleave = OrderStage{stage, *std::move(ordering), stages_.before.size()};
    }
  }

  /// Whether an order of records before the one that opens files acts within each file: it leaves records out by what
  /// is in them.
  static bool acts_in_part(const Ordering& order, const Ordering& opens) {
    return order.grain == Grain::records && order.keeps_order && !order.counts_rows && !opens.random_access;
  }

  /// Checks the orders that stand before the one that opens files: orders of files, then those of records, which act
  /// within each file, or filters before an order that reads by index.
  void check_before_opening(const Stage& stage, const Ordering& opens) {
    const OrderStage* filter = nullptr;
    for (const OrderStage& order : stages_.record_orders) {
      if (order.ordering.counts_rows) {
        complain(*order.stage.options,
                 fmt::format("'{}' counts rows: put it after '{}', or say '{}_files' to count files",
                             order.stage.plugin, stage.plugin, order.stage.plugin),
                 faults_);
      } else if (acts_in_part(order.ordering, opens)) {
        filter = &order;
      } else if (order.ordering.grain == Grain::records && !(opens.random_access && order.ordering.selects)) {
        complain(*order.stage.options,
                 fmt::format("'{}' looks into records and must come after '{}', which opens the files",
                             order.stage.plugin, stage.plugin),
                 faults_);
      } else if (order.ordering.selects) {
        filter = &order;
      } else if (filter != nullptr) {
        complain(
            *order.stage.options,
            fmt::format("'{}' stands between '{}', which looks into records, and '{}', which opens the files; put "
                        "it after '{}' for records, or before '{}' for files",
                        order.stage.plugin, filter->stage.plugin, stage.plugin, stage.plugin, filter->stage.plugin),
            faults_);
      }
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

void decide_options(const Source& source, Stages& stages, Faults& faults) {
  if (!stages.decoder_stage || source.decides.decoder != stages.decoder_stage->plugin) return;
  const Json& given = *stages.decoder_stage->options;
  if (!given.is(Json::Kind::object)) return;
  auto all = std::make_shared<Json>(given);
  for (const auto& [name, value] : source.decides.options.members()) {
    const Json* const own = given.find(name);
    if (own != nullptr && !own->is(Json::Kind::null)) {
      complain(*own, fmt::format("the source '{}' decides '{}'; leave it out here", stages.source_stage->plugin, name),
               faults);
    } else if (!value.is(Json::Kind::null)) {
      all->set(name, value);
    }
  }
  stages.decided = std::move(all);
  stages.decoder_stage->options = stages.decided.get();
}

std::vector<Ordering> orderings(const std::vector<OrderStage>& stages) {
  std::vector<Ordering> out;
  for (const OrderStage& stage : stages) out.push_back(stage.ordering);
  return out;
}

Ordering in_file_order(const Registry& registry) {
  const OrderType* type = find_type(registry.orders(), "interleave");
  return *type->bind(Json::object());
}

}  // namespace forebay::plan
