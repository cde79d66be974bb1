// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/bind/bound_columns.h"

/// The attributes that orders need of records (Ordering::attributes), as the planner binds and places them.
namespace forebay::plan {

/// Binds the attributes of an order or batcher to the columns at its place, and adds them to `early`. The steps before
/// the stage are those that are placed by then. Leaves out an expression that names an unknown tensor.
void bind_attributes(const std::vector<Attribute>& attributes, const Stage& stage, const BoundColumns& columns,
                     engine::EarlyWork& early, Faults& faults);

/// Binds one attribute to these columns. Fails when the expression is not of the kind that the order asks for.
[[nodiscard]] Result<expression::Expression> bind_attribute(const Attribute& attribute, const Schema& schema);
/// Fails when the attributes of `alone` need a step that must not run before the order is decided. `attribute` is the
/// one in `alone`, and `late` are the steps before it.
[[nodiscard]] Result<void> check_steps(const engine::EarlyWork& alone, const Attribute& attribute,
                                       const std::vector<engine::PlacedStep>& late);
[[nodiscard]] bool names_unknown(const Attribute& attribute, const UnknownTensors& unknown);
/// Adds the faults of an attribute, at the option of the stage that holds it.
void add_attribute_fault(const Error& error, const Attribute& attribute, const Stage& stage, Faults& faults);

/// Whether each of the late steps makes a column that an attribute needs. `EarlyAttribute::steps` are the numbers of
/// late steps before the orders; those of frame attributes, before the windows.
[[nodiscard]] std::vector<bool> needed_steps(const std::vector<engine::PlacedStep>& late,
                                             const engine::EarlyWork& early);

/// Gives each attribute of the program the hash of all that decides its values (EarlyAttribute::made_by), and the
/// program that of the trial decode. `sections` are the hashes of the parts of the document (Hashes).
void sign_attributes(const Stages& stages, const std::vector<std::pair<std::string, std::uint64_t>>& sections,
                     const Registry& registry, engine::Program& program);

}  // namespace forebay::plan
