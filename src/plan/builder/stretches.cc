// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/stretches.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "plan/builder/branch_batches.h"
#include "plan/builder/plan_builder.h"
#include "plan/builder/widenings.h"
#include "plan/data_files.h"

namespace forebay::plan {

namespace {

constexpr std::int64_t rows_a_batch = 64;  // of a stretch: few enough that an error waits for few rows before it

/// Where the steps of a document are cut into stretches, so that each of them can be planned:
///
///     source, filter, chunk │ shuffle, filter, chunk │ global shuffle, batch
///     ╰──── rows are made ──╯╰───── rows are made ───╯╰──── the plan ──────╯
///
/// A cut keeps the meaning of the steps. Lives for one call.
class Stretches {
 public:
  /// `batch_end`: as of bound_branch.
  Stretches(const Json& written, const Planning& planning, const PipelineDocument& document, DocumentKind kind,
            std::string batch_end = {})
      : written_{written},
        planning_{planning},
        document_{document},
        is_branch_{kind == DocumentKind::branch},
        batch_end_{std::move(batch_end)},
        where_{written.place().pointer} {
    const Json* const steps = written.find("steps");
    if (steps != nullptr && steps->is(Json::Kind::array)) steps_ = steps->items();
    end_ = is_branch_ ? steps_.size() : first_batcher();
    for (const Json& step : steps_) orders_.push_back(order_of(step));
  }

  /// False: no cuts help. `faults`: of the document as it is written.
  bool run(const Faults& faults) {
    if (faults.size() < fewest_.size() || fewest_.empty()) fewest_ = faults;
    if (end_ > steps_.size() || widens_nothing()) return false;
    return finish(0, nullptr, faults);
  }

  std::unique_ptr<BoundDocument> branch;  ///< What was found for a branch,
  std::optional<Plan> plan;               ///< and for a document.
  [[nodiscard]] const Faults& fewest() const { return fewest_; }

 private:
  using Before = std::shared_ptr<const MadeSource>;

  /// Plans the steps from `from` on, behind `before`. `faults`: what they have without a cut.
  bool finish(std::size_t from, const Before& before, const Faults& faults) {
    const std::optional<std::size_t> first = first_cut(from, before != nullptr, faults);
    if (!first) return false;
    if (!is_branch_ && *first > end_) return behind_batches(from, before);
    std::vector<std::pair<std::size_t, Before>> made;
    std::vector<Faults> left;
    for (std::size_t cut = *first; cut <= end_; ++cut) {
      if (cut > first_batcher() && cut < end_) continue;  // what stands behind the batcher belongs to its batches
      Before rows = rows_of(from, cut, before);
      if (!rows) break;  // what is wrong with a stretch is wrong with a longer one
      if (!may_cut(cut) || (opens_before(cut) && reads_no_files(*rows->program))) continue;
      left.emplace_back();
      if (last(cut, rows, left.back())) return true;
      made.emplace_back(cut, std::move(rows));
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (finish(made[i].first, made[i].second, left[i])) return true;
    }
    return false;
  }

  /// Plans the steps behind the batcher on rows that are made of its batches.
  bool behind_batches(std::size_t from, const Before& before) {
    if (document_.epochs != 1 && document_.epoch_boundary != EpochBoundary::hard) return false;
    batch_end_ = batch_end_of(0, false);
    const std::size_t behind = end_ + 1;
    const Before rows = rows_of(from, behind, before);
    batch_end_.clear();
    if (!rows) return false;
    steps_[end_] = batches_again(written_, planning_.registry);
    Faults left;
    return last(end_, rows, left);
  }

  /// Plans the steps from `from` on as the last stretch.
  bool last(std::size_t from, const Before& before, Faults& faults) {
    auto builder =
        std::make_unique<PlanBuilder>(stretch(from, steps_.size(), before, false), written_, planning_, before);
    if (is_branch_) {
      builder->bind_branch(document_);
      if (builder->faults().empty() && from == end_)
        branch = std::make_unique<BoundDocument>(std::move(*builder).bound());
      if (branch) return true;
    } else {
      plan = builder->run();
      if (plan) return true;
    }
    faults = builder->faults();
    if (faults.size() < fewest_.size() || tells_more(faults)) fewest_ = faults;
    return false;
  }

  /// Whether as many faults as before name what is in a stage, where those before say that it cannot stand there.
  bool tells_more(const Faults& faults) const {
    if (faults.empty() || faults.size() != fewest_.size()) return false;
    const std::string& before = fewest_.front().place().pointer;
    const std::string& now = faults.front().place().pointer;
    return now.size() > before.size() && now.starts_with(before);
  }

  /// The rows behind step `to`, from step `from` on; null: they have faults.
  Before rows_of(std::size_t from, std::size_t to, const Before& before) {
    const bool batches = !batch_end_.empty() && to > first_batcher();
    auto builder = std::make_shared<PlanBuilder>(stretch(from, to, before, !batches), written_, planning_, before);
    const auto program = builder->run_rows(document_, batches ? batch_end_ : std::string{});
    if (!program) {
      // The faults of a combination in the branch, or of the branch's batches, say more than those of the whole branch.
      const bool only_places = std::ranges::all_of(fewest_, is_misplaced);
      const bool says_more = only_places && !std::ranges::all_of(builder->faults(), is_misplaced);
      if (says_more || (is_branch_ && ((!before && to == 0) || batches))) fewest_ = builder->faults();
      return nullptr;
    }
    auto out = std::make_shared<MadeSource>();
    if (before) out->stretches = before->stretches;
    out->source = builder->source_of_rows(program);
    out->program = program;
    out->stretches.push_back(std::make_shared<const BoundDocument>(std::move(*builder).bound()));
    return out;
  }

  /// The document with these steps alone. `batches`: and with a batch for its rows.
  std::shared_ptr<const Json> stretch(std::size_t from, std::size_t to, const Before& before, bool batches) const {
    auto out = std::make_shared<Json>(Json::object().mark(written_.place()));
    for (const auto& [key, value] : written_.members()) {
      if (key == "steps" || (before && (key == "source" || key == "decode"))) continue;
      out->members().emplace_back(key, value);
      if (key == "source" && cuts_from(0)) unpad_inside(out->members().back().second);
    }
    std::vector<Json> steps{steps_.begin() + static_cast<std::ptrdiff_t>(from),
                            steps_.begin() + static_cast<std::ptrdiff_t>(to)};
    if (cuts_from(to)) std::ranges::for_each(steps, [this](Json& step) { unpad(step); });
    if (batches) {
      Json size = Json::object();
      size.set("size", rows_a_batch);
      Json batch = Json::object();
      batch.set("batch", std::move(size));
      steps.push_back(std::move(batch));
    }
    out->members().emplace_back("steps", Json::array(std::move(steps)));
    return out;
  }

  /// Whether a step from `from` on cuts windows.
  bool cuts_from(std::size_t from) const {
    const auto cuts = [this](const Json& each) {
      return window_of(each) != nullptr && !is_window(each, &WindowType::widens);
    };
    return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(from), steps_.end(), cuts);
  }

  /// Windows that later ones are cut of get no padding, unless it is asked for.
  void unpad(Json& step) const {
    if (!is_window(step, &WindowType::pads)) return;
    Json& options = step.members().front().second;
    if (options.is(Json::Kind::object) && options.find("pad") == nullptr) options.set("pad", false);
  }
  /// The same in the branches of a source.
  void unpad_inside(Json& json) const {
    if (json.is(Json::Kind::array)) std::ranges::for_each(json.items(), [this](Json& item) { unpad_inside(item); });
    if (!json.is(Json::Kind::object)) return;
    for (auto& [key, value] : json.members()) {
      if (key == "steps") {
        std::ranges::for_each(value.items(), [this](Json& step) { unpad(step); });
      } else {
        unpad_inside(value);
      }
    }
  }

  /// The first step before which a cut may help; empty: none helps.
  std::optional<std::size_t> first_cut(std::size_t from, bool behind_rows, const Faults& faults) const {
    std::size_t first = is_branch_ && faults.empty() ? from : SIZE_MAX;  // of a branch, all rows must be made
    for (const Error& fault : faults) {
      const std::string& pointer = fault.place().pointer;
      // A combination in a branch, or a policy that the steps of a document, or other branches, leave no room for.
      const bool of_branch = pointer.starts_with(where_ + "/source/") && pointer.ends_with("/on_corrupt");
      if (of_branch || (is_branch_ ? pointer == where_ + "/source" : pointer.starts_with(where_ + "/on_corrupt"))) {
        first = std::min(first, from);
        continue;
      }
      const auto step = std::ranges::find_if(steps_, [&](const Json& each) { return is_in(each, pointer); });
      if (step == steps_.end()) return std::nullopt;
      first = std::min(first, static_cast<std::size_t>(step - steps_.begin()));
    }
    if (first == SIZE_MAX) return std::nullopt;
    return std::max(first, behind_rows ? from + 1 : from);
  }

  /// Whether the place of a fault is in this step.
  static bool is_in(const Json& step, const std::string& pointer) {
    const std::string& own = step.place().pointer;
    return !own.empty() && pointer.starts_with(own) && (pointer.size() == own.size() || pointer[own.size()] == '/');
  }

  /// Whether a cut before this step keeps the meaning of the steps around it.
  bool may_cut(std::size_t at) const {
    const auto by_number = [](const std::optional<Ordering>& order) { return order && order->random_access; };
    const auto cut = orders_.begin() + static_cast<std::ptrdiff_t>(at);
    const bool one_source = !combines();
    if (std::any_of(cut, orders_.end(), opens_parts)) return false;  // what stands before it acts within each part
    if (one_source && opens_before(at) && std::any_of(cut, orders_.end(), by_number))
      return false;  // by number, rows are reached without going through parts
    if (one_source && at > 0 && at < orders_.size() && reorders_all(orders_[at]) && only_moves(orders_[at - 1]))
      return false;  // the order before a global shuffle has no effect
    const auto step = steps_.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == first_batcher() && at > 0 && window_of(steps_[at - 1]) != nullptr)
      return false;  // batchers take windows as they are
    const auto widens = [this](const Json& each) { return is_window(each, &WindowType::widens); };
    const auto cuts = [&](const Json& each) { return window_of(each) != nullptr && !widens(each); };
    return !std::any_of(steps_.begin(), step, cuts) || std::none_of(step, steps_.end(), widens);
  }

  static bool opens_parts(const std::optional<Ordering>& order) {
    return order && order->grain == Grain::files_to_records && !order->random_access;
  }
  bool opens_before(std::size_t at) const {
    return std::any_of(orders_.begin(), orders_.begin() + static_cast<std::ptrdiff_t>(at), opens_parts);
  }
  /// Whether the rows lie in the program, in one part.
  static bool reads_no_files(const engine::Program& program) {
    return program.made ? reads_no_files(*program.made)
                        : program.branches.empty() && program.source.rows && program.source.parts() == 1;
  }

  static bool only_moves(const std::optional<Ordering>& order) {
    constexpr std::int64_t some = 1000;
    if (!order || order->keeps_order || order->selects) return false;
    if (order->count && order->count(some).value_or(some) != some) return false;
    return order->random_access || (!order->attributes.empty() && !order->repeats);
  }
  /// Whether the order gives any order alike.
  static bool reorders_all(const std::optional<Ordering>& order) {
    return order && order->random_access && order->attributes.empty() && !order->count && !order->asks;
  }

  const WindowType* window_of(const Json& step) const {
    return find_type(planning_.registry.windows(), stage_name(step));
  }
  bool is_window(const Json& step, bool WindowType::*kind) const {
    const WindowType* const type = window_of(step);
    return type != nullptr && type->*kind;
  }
  /// Whether a step has to do with windows that no step before it in this document has cut.
  bool widens_nothing() const {
    const auto widens = [this](const Json& step) { return is_window(step, &WindowType::of_windows); };
    const auto cuts = [this](const Json& step) {
      return window_of(step) != nullptr && !is_window(step, &WindowType::widens);
    };
    const Json* const source = written_.find("source");
    const auto adds_frames = [this](const Json& step) { return is_window(step, &WindowType::widens); };
    if (source != nullptr && has_inside(*source, cuts) && std::ranges::any_of(steps_, adds_frames))
      return true;  // the branches have what it widens
    return std::any_of(steps_.begin(), std::ranges::find_if(steps_, cuts), widens);
  }
  /// Whether a step of a branch inside of this source is of that kind.
  template <class Is>
  static bool has_inside(const Json& json, const Is& is) {
    const auto inside = [&](const Json& item) { return has_inside(item, is); };
    if (json.is(Json::Kind::array)) return std::ranges::any_of(json.items(), inside);
    return json.is(Json::Kind::object) && std::ranges::any_of(json.members(), [&](const Json::Member& member) {
             return member.first == "steps" ? std::ranges::any_of(member.second.items(), is) : inside(member.second);
           });
  }

  std::optional<Ordering> order_of(const Json& step) const {
    const OrderType* const type = find_type(planning_.registry.orders(), stage_name(step));
    if (type == nullptr) return std::nullopt;
    Faults ignored;
    return keep(type->bind(step.members().front().second), ignored);
  }

  bool combines() const {
    const Json* const source = written_.find("source");
    return source != nullptr && find_type(planning_.registry.combinations(), stage_name(*source)) != nullptr;
  }

  std::size_t first_batcher() const {
    const auto is_batcher = [this](const Json& step) {
      return find_type(planning_.registry.batchers(), stage_name(step)) != nullptr;
    };
    const auto found = std::ranges::find_if(steps_, is_batcher);
    return found == steps_.end() ? SIZE_MAX : static_cast<std::size_t>(found - steps_.begin());
  }

  const Json& written_;
  const Planning planning_;
  const PipelineDocument& document_;
  const bool is_branch_;
  std::string batch_end_;
  const std::string where_;  // of the document
  std::vector<Json> steps_;
  std::vector<std::optional<Ordering>> orders_;  // by step
  std::size_t end_ = 0;                          // no cut stands behind this step
  Faults fewest_;
};

}  // namespace

std::unique_ptr<BoundDocument> bound_branch(const Json& written, const Planning& planning,
                                            const PipelineDocument& whole, const std::string& batch_end,
                                            Faults& faults) {
  const Json& batched = with_batches_of_branches(written, planning.registry, planning.moved);
  const Json& branch = with_widenings_moved(batched, planning.registry, planning.moved);
  PlanBuilder builder{branch, planning};
  builder.bind_branch(whole);
  if (!builder.faults().empty()) {
    Faults ignored;
    const PipelineDocument document = around_branch(whole, read_branch(branch, ignored));
    Stretches stretches{branch, planning, document, DocumentKind::branch, batch_end};
    if (stretches.run(builder.faults())) return std::move(stretches.branch);
    faults = stretches.fewest();
  }
  return std::make_unique<BoundDocument>(std::move(builder).bound());
}

std::optional<Plan> plan_in_stretches(const Json& written, const Planning& planning, Faults& faults) {
  const Json& document = with_widenings_moved(written, planning.registry, planning.moved);
  if (&document != &written) {
    PlanBuilder moved{document, planning};
    if (auto plan = moved.run()) return plan;
    faults = moved.faults();
  }
  Faults ignored;
  const PipelineDocument said = read_pipeline(document, ignored).document;
  Planning unchecked = planning;
  unchecked.checks.reset();  // the files were looked for, when the document was planned as it is written
  Stretches stretches{document, unchecked, said, DocumentKind::whole};
  if (stretches.run(faults)) return std::move(stretches.plan);
  faults = stretches.fewest();
  return std::nullopt;
}

Result<Plan> build(const Json& document, const BindContext& context, const Registry& registry,
                   std::optional<FileChecks> checks) {
  std::deque<Json> moved;
  const auto known = std::make_shared<engine::KnownVersions>();
  const BindContext finding = with_files(context, known);
  ask_together(document, finding, registry, checks, known);
  const Planning planning{.context = finding, .registry = registry, .known = known, .checks = checks, .moved = moved};
  const Json& written = with_batches_of_branches(document, registry, moved);
  PlanBuilder whole{written, planning};
  if (auto plan = whole.run()) return *std::move(plan);
  Faults faults = whole.faults();
  if (auto plan = plan_in_stretches(written, planning, faults)) return *std::move(plan);
  if (!std::ranges::all_of(faults, is_misplaced)) std::erase_if(faults, is_misplaced);
  return together(std::move(faults));
}

}  // namespace forebay::plan
