// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/index/attribute_column.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// What is stored of the records of a file: their number, and the attributes of Program::early.
struct StoredValues {
  std::int64_t records = 0;
  std::span<const AttributeColumn> attributes;
};

/// The mean number of windows that each record of a file lies in, by the stored lengths of its first records. Empty
/// when these lengths do not fit each other. `program` has windows that ask no function of the program.
[[nodiscard]] std::optional<double> windows_of_a_record(const Program& program, const StoredValues& stored);

}  // namespace forebay::engine
