// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/windows.h"

#include <algorithm>
#include <ranges>

#include <fmt/core.h>

#include "plan/bind/attributes.h"

namespace forebay::plan {

namespace {

constexpr std::uint64_t window_purpose = std::uint64_t{1} << 32;  // of draws; orders count from 1

/// A name as expressions quote it.
std::string in_backquotes(std::string_view name) {
  std::string out = "`";
  for (const char c : name) {
    if (c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out + '`';
}

}  // namespace

void WindowBinder::bind(std::size_t steps, std::size_t orders) {
  for (const WindowItem& item : stages_.windows) {
    if (item.steps_before == steps && item.orders_before == orders) bind_item(item);
  }
}

void WindowBinder::bind_item(const WindowItem& item) {
  const WindowItem& first = stages_.windows.front();
  if (item.steps_before != first.steps_before || item.orders_before != first.orders_before) {
    complain(
        *item.stage.options,
        fmt::format("'{}' must come directly after '{}': windows are cut once", item.stage.plugin, first.stage.plugin),
        faults_);
    return;
  }
  const auto cuts = [](const WindowItem& each) { return !each.type->widens; };
  const bool of_windows = item.type->of_windows || first.type->of_windows;
  if (&item != &first && of_windows && item.type->widens && std::none_of(&first, &item, cuts)) {
    complain(*item.stage.options,
             fmt::format("'{}' stands behind '{}', and neither cuts windows; put a step that cuts them before both, or "
                         "leave one of them out",
                         item.stage.plugin, first.stage.plugin),
             faults_);
    return;
  }
  const Windowing* const before = columns_.windows ? &columns_.windows->windowing : nullptr;
  const Schema& in = columns_.schema;
  std::vector<std::string> named;
  tensors_in(*item.stage.options, item.type->description.fields, named);
  Faults found;
  std::optional<Windowing> bound;
  if (!columns_.unknown.contain_any(named)) bound = keep(item.type->bind(*item.stage.options, in, before), found);
  if (!bound) {
    item.type->description.check(*item.stage.options, found);
    keep_new(found, faults_);
    columns_.unknown.all = true;  // which columns the windows cut is not known
    return;
  }
  if (!fits(item, *bound)) return;
  if (before == nullptr) {
    columns_.windows.emplace();
    columns_.windows->windowing = *std::move(bound);
    columns_.windows->orders_before = item.orders_before;
    columns_.windows->purpose = window_purpose;
    add_lengths(item);
  } else {
    columns_.windows->windowing = *std::move(bound);
  }
  columns_.element_steps = columns_.late.size();
  take_columns();
  columns_.schema = columns_.windows->windowing.out;
}

/// Whether the windows stand where their grain lets them stand.
bool WindowBinder::fits(const WindowItem& item, const Windowing& windowing) {
  const std::string& name = item.stage.plugin;
  if (windowing.grain == WindowGrain::sequences) {
    const bool widens_nothing = item.type->of_windows && &item == &stages_.windows.front();
    if (!item.before_interleave || !(stages_.interleave->ordering.random_access || widens_nothing)) return true;
    complain(*item.stage.options,
             fmt::format("'{}' cuts sequences and must come after '{}'", name, stages_.interleave->stage.plugin),
             faults_);
    return false;
  }
  if (item.orders_before > 0) {
    complain(*item.stage.options,
             fmt::format("'{}' joins the records of a file in their order and must come before '{}'", name,
                         stages_.record_orders.front().stage.plugin),
             faults_);
    return false;
  }
  if (!stages_.interleave || (item.before_interleave && !stages_.interleave->ordering.random_access)) return true;
  complain(*item.stage.options,
           item.before_interleave
               ? fmt::format("'{}' joins the records of a file in their order, and '{}' reads them in any order; give "
                             "'{}' a buffer",
                             name, stages_.interleave->stage.plugin, stages_.interleave->stage.plugin)
               : fmt::format("'{}' joins the records of a file in their order and must come before '{}'", name,
                             stages_.interleave->stage.plugin),
           faults_);
  return false;
}

/// Says where the lengths of the keys come from.
void WindowBinder::add_lengths(const WindowItem& item) {
  for (const ColumnId key : columns_.windows->windowing.keys) {
    const ColumnSpec& spec = columns_.schema[key];
    engine::KeyLength length;
    if (spec.shape[0] != unknown_dim) {
      length.constant = spec.shape[0];
    } else if (rows_ == nullptr) {
      const auto tree = expression::parse(fmt::format("length({})", in_backquotes(spec.name)));
      auto bound = tree.ok() ? expression::bind(*tree, columns_.schema) : Result<expression::Expression>{tree.error()};
      if (!bound.ok()) {
        complain(*item.stage.options,
                 fmt::format("the length of '{}' cannot be asked for: {}; rename the tensor", spec.name,
                             bound.error().message()),
                 faults_);
        return;
      }
      length.attribute = columns_.early.attributes.size();
      columns_.early.attributes.push_back({.value = *std::move(bound),
                                           .name = item.stage.plugin,
                                           .steps = columns_.late.size(),
                                           .stages = columns_.of_document(columns_.late.size())});
    } else if (static_cast<std::size_t>(key) >= rows_->schema.size()) {
      complain(*item.stage.options,
               fmt::format("'{}' is made by a step, so the length of its rows is not known before they are made; cut "
                           "first, then change the windows",
                           spec.name),
               faults_);
      return;
    }
    columns_.windows->lengths.push_back(length);
  }
}

void WindowBinder::take_columns() {
  const Windowing& windowing = columns_.windows->windowing;
  engine::Taking taking{.element_steps = {},
                        .cut = {},
                        .whole = windowing.whole,
                        .generated = windowing.generated,
                        .axes = windowing.axes};
  for (std::size_t i = 0; i < windowing.keys.size(); ++i) {
    taking.cut.push_back({.from = windowing.keys[i],
                          .to = windowing.made[i],
                          .axis = windowing.axes == 1 ? 0 : i,
                          .frame = windowing.frames});
    if (windowing.stacked.empty()) continue;
    taking.cut.back().unfold = {.left = windowing.stacked[i].left, .right = windowing.stacked[i].right};
  }
  columns_.taking = std::move(taking);
}

/// Binds an attribute over the values of frames, which is computed when their record is read.
Result<engine::WindowAttribute> WindowBinder::bind_frames(const Stage& stage, const Attribute& attribute,
                                                          expression::Expression bound) {
  const Windowing& windowing = columns_.windows->windowing;
  engine::FrameAttribute frames{.value = std::move(bound), .name = stage.plugin, .steps = columns_.element_steps};
  for (const ColumnId id : frames.value.reads()) {
    const auto made = std::ranges::find(windowing.made, id);
    if (made != windowing.made.end()) {
      frames.keys.push_back(windowing.keys[static_cast<std::size_t>(made - windowing.made.begin())]);
    } else if (std::ranges::find(windowing.generated, id, &GeneratedColumn::column) == windowing.generated.end()) {
      frames.reads.push_back(id);
    }
  }
  if (frames.keys.empty()) frames.keys.push_back(windowing.keys.front());
  frames.reads.insert(frames.reads.end(), frames.keys.begin(), frames.keys.end());
  engine::EarlyWork alone;
  alone.frame_attributes.push_back(frames);
  FOREBAY_DO(check_steps(alone, attribute, columns_.late));
  const auto by_index = [](const OrderStage& order) { return order.ordering.random_access; };
  const auto order = std::ranges::find_if(stages_.record_orders, by_index);
  const bool opens_by_index = stages_.interleave && by_index(*stages_.interleave);
  if (rows_ == nullptr && (opens_by_index || order != stages_.record_orders.end())) {
    const std::string& name = opens_by_index ? stages_.interleave->stage.plugin : order->stage.plugin;
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("it asks for the values of rows, which are computed when their record is read, and '{}' "
                             "names the records before they are read; give '{}' a buffer, or filter records before "
                             "'{}'",
                             name, name, stages_.windows.front().stage.plugin)};
  }
  columns_.early.frame_attributes.push_back(std::move(frames));
  return engine::WindowAttribute{.lengths = {}, .early = 0, .frames = columns_.early.frame_attributes.size() - 1};
}

Result<engine::WindowAttribute> WindowBinder::bind_attribute(const Stage& stage, const Attribute& attribute) {
  FOREBAY_TRY(const expression::Tree tree, expression::parse(attribute.expression));
  FOREBAY_TRY(expression::Expression bound, plan::bind_attribute(attribute, columns_.schema));
  const Windowing& windowing = columns_.windows->windowing;
  const auto is_made = [&](ColumnId id) { return std::ranges::find(windowing.made, id) != windowing.made.end(); };
  const auto is_of_window = [&](ColumnId id) {
    return is_made(id) ||
           std::ranges::find(windowing.generated, id, &GeneratedColumn::column) != windowing.generated.end();
  };
  const auto windows = std::ranges::count_if(bound.reads(), is_of_window);
  const auto refuse = [](std::string message) {
    return Error{Code::config, Detail::invalid_argument, std::move(message)};
  };
  if (attribute.kind == AttributeKind::text)
    return refuse("strings of windows are not known before the windows are made; move the order before them");
  const auto late = [&](ColumnId id) { return static_cast<std::size_t>(id) >= windowing.out.size(); };
  if ((windows == 0 || windowing.frames) && std::ranges::any_of(bound.reads(), late))
    return refuse("a tensor that is made after the windows are cut is not known yet; move the step before them");
  if (windows == 0) {
    const std::size_t early = columns_.early.attributes.size();
    columns_.early.attributes.push_back({.value = std::move(bound),
                                         .name = stage.plugin,
                                         .steps = columns_.element_steps,
                                         .stages = columns_.of_document(columns_.element_steps)});
    return engine::WindowAttribute{.lengths = {}, .early = early, .frames = {}};
  }
  const auto looks_inside = [&](const expression::Node& node) {
    if (node.op == expression::Op::length || node.name.empty()) return false;
    const auto column = columns_.schema.find(node.name);
    return column.ok() && is_made(*column);
  };
  if (windowing.frames && (std::ranges::any_of(bound.reads(), is_made) || windows != std::ssize(bound.reads())))
    return bind_frames(stage, attribute, std::move(bound));
  if (std::ranges::any_of(tree.nodes, looks_inside))
    return refuse("of a tensor that is cut, only the length of the windows is known here; ask for length(…)");
  if (windows != std::ssize(bound.reads()))
    return refuse("it has lengths of windows and tensors that are not cut; use two filters, one for each");
  return engine::WindowAttribute{.lengths = std::move(bound), .early = 0, .frames = {}};
}

void WindowBinder::bind_attributes(const std::vector<Attribute>& attributes, const Stage& stage) {
  for (const Attribute& attribute : attributes) {
    if (names_unknown(attribute, columns_.unknown)) continue;
    auto bound = bind_attribute(stage, attribute);
    if (bound.ok()) {
      columns_.windows->attributes.push_back(*std::move(bound));
    } else {
      add_attribute_fault(bound.error(), attribute, stage, faults_);
    }
  }
}

}  // namespace forebay::plan
