// SPDX-License-Identifier: Apache-2.0
#include "plan/document/merged_columns.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "columns/scalar.h"

#include <forebay/batchers/batch_ends.h>
#include <forebay/messages.h>

namespace forebay::plan {
namespace {

using engine::MergedColumn;

std::optional<ColumnId> column_of(const BranchColumns& branch, const std::string& name) {
  const auto found = branch.schema->find(name);
  return found.ok() ? std::optional{*found} : std::nullopt;
}

std::vector<std::string> names_of(const Schema& schema) {
  std::vector<std::string> out;
  for (const ColumnId id : schema.visible()) out.push_back(schema[id].name);
  return out;
}

/// Whether rows of both are delivered in the same way, with the same companion columns.
bool same_form(const ColumnSpec& a, const ColumnSpec& b) {
  const auto equal = [](const ColumnSpec& one, const ColumnSpec& other) {
    return one.dtype == other.dtype && one.partitioning == other.partitioning;
  };
  return (a.shape.known() || b.shape.known() || a.delivery == b.delivery) && a.sizes == b.sizes &&
         a.row_splits_int32 == b.row_splits_int32 && std::ranges::equal(a.parts, b.parts, equal);
}

/// Sizes that only one of the two knows become unknown. Empty: other sizes, or another number of axes.
std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return std::nullopt;
  std::vector<std::int64_t> dims = a.dims();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == b[axis]) continue;
    if (dims[axis] != unknown_dim && b[axis] != unknown_dim) return std::nullopt;
    dims[axis] = unknown_dim;
  }
  return Shape{std::move(dims)};
}

/// Merges the tensors of branches whose rows come one after the other. Lives for one call on the caller's thread.
class ColumnMerger {
 public:
  ColumnMerger(const std::vector<BranchColumns>& branches, const Combining& combining, const Json& options,
               Faults& faults)
      : branches_{branches}, combining_{combining}, options_{options}, faults_{faults} {}

  MergedSchema run() {
    for (const BranchColumns& branch : branches_) {
      for (const std::string& name : names_of(*branch.schema)) {
        if (!out_.schema.find(name).ok()) add(name);
      }
    }
    check_fill_names();
    return std::move(out_);
  }

 private:
  void add(const std::string& name) {
    std::optional<ColumnSpec> spec;
    MergedColumn merged;
    std::size_t first = 0;
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      const auto id = column_of(branches_[i], name);
      merged.from.push_back(id.value_or(MergedColumn::filled));
      if (!id) continue;
      const ColumnSpec& found = (*branches_[i].schema)[*id];
      if (!spec) {
        spec = found;
        first = i;
      } else {
        unite(found, i, first, *spec);
      }
    }
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      if (merged.from[i] == MergedColumn::filled) fill(*spec, i, first, merged);
    }
    merged.id = out_.schema.put(*std::move(spec));
    out_.columns.push_back(std::move(merged));
  }

  void unite(const ColumnSpec& found, std::size_t branch, std::size_t first, ColumnSpec& spec) {
    const auto refuse = [&](const std::string& what, const std::string& fix) {
      complain(*branches_[branch].json,
               fmt::format("tensor {} {} in branch {}; {}", quote(spec.name), what, first, fix), faults_);
    };
    if (found.dtype != spec.dtype)
      return refuse(
          fmt::format("is {} here and {}", to_string(found.dtype), to_string(spec.dtype)),
          fmt::format("add the step {{\"cast\": …}} to one of them, for example to {} here", to_string(spec.dtype)));
    const auto shape = common_shape(spec.shape, found.shape);
    if (!shape)
      return refuse(fmt::format("has shape {} here and {}", found.shape.text(), spec.shape.text()),
                    "bring both to one shape with the step `reshape` or `slice`");
    if (!same_form(found, spec))
      return refuse("is delivered in another form than", "decode it in the same way in both");
    if (spec.shape.known()) spec.delivery = found.delivery;  // that of the branch whose rows differ in size
    spec.shape = *shape;
  }

  /// The value of the option `fill` for a tensor, and its place.
  void fill(const ColumnSpec& spec, std::size_t branch, std::size_t owner, MergedColumn& merged) {
    if (is_frames_in_batch(spec.name)) {
      merged.fill.assign(sizeof(std::int64_t), std::byte{0});
      return;
    }
    const auto given = std::ranges::find(combining_.fill, spec.name, &std::pair<std::string, Scalar>::first);
    if (given == combining_.fill.end()) {
      complain(
          *branches_[branch].json,
          fmt::format("branch {} lacks tensor {} of branch {}; add it to `fill` ({{\"{}\": value}}), make it with the "
                      "step `constant`, or leave it out of all branches with `select`",
                      branch, quote(spec.name), owner, spec.name),
          faults_);
      return;
    }
    const Json& place = place_of(spec.name);
    if (!spec.parts.empty()) {
      complain(place, fmt::format("tensor {} is sparse or partitioned and cannot be filled", quote(spec.name)),
               faults_);
      return;
    }
    auto element = columns::element_from(JsonCodec<Scalar>::write(given->second), spec.dtype);
    if (element.ok()) {
      merged.fill = *std::move(element);
    } else {
      complain(place,
               fmt::format("the value for tensor {} is no {}: {}", quote(spec.name), to_string(spec.dtype),
                           element.error().message()),
               faults_);
    }
  }

  [[nodiscard]] const Json& place_of(const std::string& name) const {
    const Json* const fill = options_.find("fill");
    const Json* const entry = fill != nullptr ? fill->find(name) : nullptr;
    return entry != nullptr ? *entry : options_;
  }

  void check_fill_names() {
    const std::vector<std::string> names = names_of(out_.schema);
    for (const auto& [name, value] : combining_.fill) {
      const auto found = out_.schema.find(name);
      if (!found.ok()) {
        complain(place_of(name),
                 fmt::format("no branch has a tensor {}{}", quote(name), among(name, names, "they have")), faults_);
      } else if (std::ranges::count(out_.columns[static_cast<std::size_t>(*found)].from, MergedColumn::filled) == 0) {
        complain(place_of(name), fmt::format("every branch has tensor {}, so nothing is filled", quote(name)), faults_);
      }
    }
  }

  const std::vector<BranchColumns>& branches_;
  const Combining& combining_;
  const Json& options_;
  Faults& faults_;
  MergedSchema out_;
};

}  // namespace

MergedSchema merge_columns(const std::vector<BranchColumns>& branches, const Combining& combining, const Json& options,
                           Faults& faults) {
  return ColumnMerger{branches, combining, options, faults}.run();
}

MergedSchema join_columns(const std::vector<BranchColumns>& branches, Faults& faults) {
  MergedSchema out;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const Schema& schema = *branches[i].schema;
    for (const ColumnId id : schema.visible()) {
      const ColumnSpec& spec = schema[id];
      if (out.schema.find(spec.name).ok()) {
        complain(*branches[i].json,
                 fmt::format("tensor {} is in branch {} and in one before it; side by side the names differ: add the "
                             "step `rename`, or leave one out with `select`",
                             quote(spec.name), i),
                 faults);
        continue;
      }
      engine::MergedColumn merged;
      merged.from.assign(branches.size(), engine::MergedColumn::filled);
      merged.from[i] = id;
      merged.id = out.schema.put(spec);
      out.columns.push_back(std::move(merged));
    }
  }
  return out;
}

}  // namespace forebay::plan
