// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <forebay/decoders/example.h>
#include <forebay/plugin.h>

#include "decoders/key_table.h"

namespace forebay::decoders {

/// One key of the message that an output uses.
struct Source {
  std::string key;
  StoredAs stored = StoredAs::int_;
  std::string feature;  ///< The first tensor that uses the key, for errors.
  FeatureKind kind = FeatureKind::fixed_len;
  int uses = 0;
};

/// The numbers that a column holds of a partition that is not validated.
constexpr Partitioning kept_as(PartitionKind kind) {
  switch (kind) {
    case PartitionKind::row_splits:  // without the first
    case PartitionKind::row_limits:
      return Partitioning::row_limits;
    case PartitionKind::row_lengths:
      return Partitioning::row_lengths;
    case PartitionKind::row_starts:
      return Partitioning::row_starts;
    case PartitionKind::value_rowids:
      return Partitioning::value_rowids;
    case PartitionKind::uniform_row_length:
      break;
  }
  return Partitioning::row_splits;
}

struct Partition {
  PartitionKind kind = PartitionKind::row_splits;
  int source = KeyTable::none;
  std::int64_t length = 0;  ///< Of uniform_row_length.
};

/// How one column is made from sources: the checked options.
struct Output {
  ColumnId column = 0;
  std::string name;
  FeatureKind kind = FeatureKind::fixed_len;
  DType dtype = DType::float32;
  StoredAs stored = StoredAs::float_;
  int source = KeyTable::none;  ///< Source of the values.
  Shape shape;                  ///< Shape of a record or a step.
  std::int64_t count = 1;       ///< Number of values of a record, or of a step.
  bool variable = false;        ///< The column's shape has an unknown dim.
  bool has_default = false;
  std::vector<std::byte> default_bytes;  ///< All values, in the final type.
  std::vector<std::string> default_strings;
  std::vector<int> indices;         ///< sparse: sources, one per axis.
  std::vector<std::int64_t> sizes;  ///< sparse
  bool already_sorted = false;
  std::vector<Partition> partitions;        ///< ragged, without the trailing uniform ones
  std::int64_t inner = 1;                   ///< ragged: product of the trailing uniform lengths.
  std::vector<std::int64_t> inner_lengths;  ///< The trailing uniform lengths, outermost first.
  bool validate = true;
  /// Whether the column holds row splits of a partition. Otherwise it holds the numbers of the message.
  [[nodiscard]] bool holds_splits(const Partition& partition) const {
    return validate || kept_as(partition.kind) == Partitioning::row_splits;
  }
  bool swaps = false;  ///< raw: the byte order differs from this machine's.
  std::int64_t len = 1;
  std::int64_t fixed_length = 0;  ///< raw: 0 means any length.
  bool allow_missing = false;
  bool list = false;  ///< A feature list of a sequence example.
};

/// The keys of a message that are read, and the columns that are made from them. Immutable.
struct FeaturePlan {
  std::vector<Source> sources;
  std::vector<Output> outputs;
  KeyTable keys;
};

/// The option of a decoder that holds the features.
enum class Role : std::uint8_t { example, context, lists };

/// The name of that option.
constexpr const char* option_of(Role role) {
  return role == Role::example ? "features" : role == Role::context ? "context" : "lists";
}

/// Adds the columns of `features` to `schema` and plans those in `wanted` (all when it is empty). Every fault of the
/// options goes to `faults`, with the field that it is about.
FeaturePlan plan_features(const FeatureMap& features, Role role, const std::vector<std::string>& wanted, Schema& schema,
                          std::vector<Error>& faults);

}  // namespace forebay::decoders
