// SPDX-License-Identifier: Apache-2.0
// The features with levels: ragged features, and the feature lists of sequence examples.
#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "columns/packed.h"
#include "decoders/feature_writer.h"
#include "decoders/raw/raw_numbers.h"
#include "decoders/value_list.h"

namespace forebay::decoders {
namespace {

/// Limit of rows that row ids may name in a record. Without it, a record of a few bytes could fill the memory.
constexpr std::int64_t max_rows_from_ids = 1 << 24;

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

Result<void> FeatureWriter::inner_rows(const Output& output, std::int64_t values, std::int64_t& rows) const {
  if (values % output.inner != 0) {
    return fault(Detail::invalid_argument, output.source,
                 fmt::format("{} values do not divide into rows of uniform length {}", values, output.inner));
  }
  rows = values / output.inner;
  return {};
}

/// Computes the row splits of one level. Reads the partition from scratch_.numbers and writes scratch_.splits. `below`
/// is the number of rows or values that the partition splits. Fails when the partition does not fit them.
Result<void> FeatureWriter::splits_of(const Output& output, const Partition& partition, std::int64_t below) {
  const std::vector<std::int64_t>& numbers = scratch_.numbers;
  std::vector<std::int64_t>& splits = scratch_.splits;
  splits.assign(1, 0);
  switch (partition.kind) {
    case PartitionKind::row_splits:
      if (!numbers.empty()) splits = numbers;
      break;
    case PartitionKind::row_lengths:
      for (const std::int64_t length : numbers) splits.push_back(wrapping_sum(splits.back(), length));
      break;
    case PartitionKind::row_starts:
      if (!numbers.empty()) splits = numbers, splits.push_back(below);
      break;
    case PartitionKind::row_limits:
      splits.insert(splits.end(), numbers.begin(), numbers.end());
      break;
    case PartitionKind::value_rowids: {
      const std::int64_t rows = numbers.empty() || numbers.back() < 0 ? 0 : numbers.back() + 1;
      if (rows > max_rows_from_ids) {
        return fault(Detail::resource_exhausted, partition.source,
                     fmt::format("row id {} is above {}", rows - 1, max_rows_from_ids - 1));
      }
      splits.resize(static_cast<std::size_t>(rows) + 1, 0);
      for (const std::int64_t id : numbers) {
        if (id >= 0 && id < rows) ++splits[static_cast<std::size_t>(id) + 1];
      }
      for (std::size_t i = 1; i < splits.size(); ++i) splits[i] += splits[i - 1];
      break;
    }
    case PartitionKind::uniform_row_length:
      if (below % partition.length != 0) {
        return fault(Detail::invalid_argument, output.source,
                     fmt::format("{} rows do not divide by the uniform length {}", below, partition.length));
      }
      for (std::int64_t at = partition.length; at <= below; at += partition.length) splits.push_back(at);
      return {};
  }
  const bool ids = partition.kind == PartitionKind::value_rowids;
  const bool ordered =
      ids ? std::ranges::is_sorted(numbers) && (numbers.empty() || numbers[0] >= 0) : std::ranges::is_sorted(splits);
  if (splits[0] != 0 || splits.back() != below || !ordered) {
    return fault(
        Detail::invalid_argument, partition.source,
        fmt::format(
            "the partition does not fit the {} values it splits: it must begin at 0, never decrease and end at {}; "
            "`validate`: false lets it through",
            below, below));
  }
  return {};
}

/// Appends the partition in scratch_.numbers unchecked to scratch_.levels, counted from the beginning of the record.
/// Sets `rows` to the number of rows that it declares. Fails when a row id exceeds the limit.
Result<void> FeatureWriter::keep_numbers(const Output& output, std::size_t level, std::int64_t& rows) {
  const Partition& partition = output.partitions[level];
  std::span<const std::int64_t> numbers = scratch_.numbers;
  std::int64_t base = scratch_.rows_before[level + 1];
  if (partition.kind == PartitionKind::row_splits && !numbers.empty()) numbers = numbers.subspan(1);
  rows = static_cast<std::int64_t>(numbers.size());
  if (partition.kind == PartitionKind::row_lengths) base = 0;
  if (partition.kind == PartitionKind::value_rowids) {
    base = scratch_.rows_before[level];
    const std::int64_t largest = numbers.empty() ? -1 : *std::ranges::max_element(numbers);
    const bool outermost = level == 0 && !output.list;  // its rows are only counted; the output ends with the last id
    if (const std::int64_t id = outermost && !numbers.empty() ? numbers.back() : largest;
        id >= max_rows_from_ids - base) {
      return fault(Detail::resource_exhausted, partition.source,
                   fmt::format("row id {} is above {}", id, max_rows_from_ids - base - 1));
    }
    rows = std::max<std::int64_t>(wrapping_sum(largest, 1), 0);
  }
  auto& all = scratch_.levels[level + (output.list ? 1 : 0)];
  for (const std::int64_t number : numbers) all.push_back(wrapping_sum(number, base));
  return {};
}

/// Appends the partitions of one step of a sequence, or of a record, from the innermost level outwards. `find(source)`
/// returns the feature of this step under that key.
template <class Find>
Result<void> FeatureWriter::add_partitions(const Output& output, std::int64_t& rows, Find find) {
  const std::size_t first = output.list ? 1 : 0;
  std::vector<std::int64_t>& rows_before = scratch_.rows_before;
  for (std::size_t level = output.partitions.size(); level-- > 0;) {
    const Partition& partition = output.partitions[level];
    scratch_.numbers.clear();
    if (partition.source != KeyTable::none) {
      FOREBAY_DO(read_numbers(partition.source, find(partition.source), scratch_.numbers));
    }
    const std::int64_t below = rows;
    if (!output.holds_splits(partition)) {
      FOREBAY_DO(keep_numbers(output, level, rows));
      rows_before[level + 1] += below;
      continue;
    }
    FOREBAY_DO(splits_of(output, partition, below));
    // Splits of this step continue from the last split of the steps before it.
    std::vector<std::int64_t>& all = scratch_.levels[first + level];
    std::vector<std::int64_t>& splits = scratch_.splits;
    const std::int64_t before = all.empty() ? 0 : all.back();
    for (std::size_t i = all.empty() ? 0 : 1; i < splits.size(); ++i) all.push_back(wrapping_sum(splits[i], before));
    rows = static_cast<std::int64_t>(splits.size()) - 1;
    rows_before[level + 1] += below;
  }
  rows_before[0] += rows;
  return {};
}

Result<void> FeatureWriter::ragged(const Output& output) {
  FOREBAY_DO(read(output.source, found(output.source), scratch_.values));
  std::int64_t rows = 0;
  FOREBAY_DO(inner_rows(output, scratch_.values.size(output.stored), rows));
  if (scratch_.levels.size() < output.partitions.size()) scratch_.levels.resize(output.partitions.size());
  for (auto& level : scratch_.levels) level.clear();
  scratch_.rows_before.assign(output.partitions.size() + 1, 0);
  Column& column = block_[output.column];
  append(output, column, scratch_.values);
  column.end_row({&rows, 1});
  FOREBAY_DO(add_partitions(output, rows, [this](int index) -> const FoundFeature& { return found(index); }));
  write_levels(column, 0);
  return {};
}

Result<void> FeatureWriter::list(const Output& output) {
  const FoundList& list = parsed_.lists[static_cast<std::size_t>(output.source)];
  const bool required = output.kind == FeatureKind::fixed_len_sequence || output.kind == FeatureKind::raw;
  if (!list.present && required && !output.allow_missing) {
    return missing(output, "the list is required", "`allow_missing`: true takes it as empty");
  }
  if (output.kind == FeatureKind::raw) return list_raw(output, list);
  return output.kind == FeatureKind::fixed_len_sequence ? list_sequence(output, list) : list_steps(output, list);
}

Result<void> FeatureWriter::list_sequence(const Output& output, const FoundList& list) {
  Column& column = block_[output.column];
  const std::size_t step_bytes = static_cast<std::size_t>(output.count) * size_of(output.dtype);
  const bool floats = output.stored == StoredAs::float_ && output.dtype == DType::float32;
  const bool ints = output.stored == StoredAs::int_ && output.dtype == DType::int64;
  for (step_ = 0; step_ < list.count; ++step_) {
    const FoundFeature& step = parsed_.steps[list.first + static_cast<std::size_t>(step_)];
    columns::Wire run;
    const bool plain = step.present && step.kind == output.stored && single_run(parsed_.of(step), run);
    if (plain && floats && run.size() == step_bytes) {
      if (step_bytes != 0) std::memcpy(column.values.extend(step_bytes), run.at, step_bytes);
      continue;
    }
    if (plain && ints &&
        columns::packed().decode(run.at, run.size(), reinterpret_cast<std::int64_t*>(column.values.extend(step_bytes)),
                                 static_cast<std::size_t>(output.count))) {
      continue;
    }
    FOREBAY_DO(read(output.source, step, scratch_.values));
    const std::int64_t count = scratch_.values.size(output.stored);
    if (count != output.count) {
      return fault(Detail::data_loss, output.source,
                   fmt::format("expected {} values (shape {}), found {}", output.count, output.shape.text(), count));
    }
    append(output, column, scratch_.values);
  }
  const auto steps = static_cast<std::int64_t>(list.count);
  column.end_row({&steps, 1});
  return {};
}

Result<void> FeatureWriter::list_raw(const Output& output, const FoundList& list) {
  Column& column = block_[output.column];
  for (step_ = 0; step_ < list.count; ++step_) {
    FOREBAY_DO(read(output.source, parsed_.steps[list.first + static_cast<std::size_t>(step_)], scratch_.values));
    const auto& strings = scratch_.values.strings;
    if (strings.size() != 1) {
      return fault(Detail::data_loss, output.source, fmt::format("expected 1 byte string, found {}", strings.size()));
    }
    FOREBAY_TRY(const std::int64_t count, raw_elements(output, strings[0]));
    copy_raw(output, strings[0], count, column.values.extend(static_cast<std::size_t>(count) * size_of(output.dtype)));
  }
  const auto steps = static_cast<std::int64_t>(list.count);
  column.end_row({&steps, 1});
  return {};
}

Result<void> FeatureWriter::list_steps(const Output& output, const FoundList& list) {
  Column& column = block_[output.column];
  if (scratch_.levels.size() < column.parts.size()) scratch_.levels.resize(column.parts.size());
  for (auto& level : scratch_.levels) level.clear();
  scratch_.rows_before.assign(output.partitions.size() + 1, 0);
  scratch_.levels[0].push_back(0);
  for (std::size_t level = 1; level < column.parts.size() && list.count == 0; ++level) {
    if (output.holds_splits(output.partitions[level - 1])) scratch_.levels[level].push_back(0);
  }
  for (const Partition& partition : output.partitions) {
    if (partition.source == KeyTable::none) continue;
    const std::uint32_t count = parsed_.lists[static_cast<std::size_t>(partition.source)].count;
    if (count != list.count) {
      return fault(Detail::invalid_argument, partition.source,
                   fmt::format("the partition has {} steps, the values have {}", count, list.count));
    }
  }
  std::int64_t total = 0;
  for (step_ = 0; step_ < list.count; ++step_) {
    FOREBAY_DO(read(output.source, parsed_.steps[list.first + static_cast<std::size_t>(step_)], scratch_.values));
    std::int64_t rows = 0;
    FOREBAY_DO(inner_rows(output, scratch_.values.size(output.stored), rows));
    append(output, column, scratch_.values);
    total += rows;
    FOREBAY_DO(add_partitions(output, rows, [this](int index) -> const FoundFeature& {
      const FoundList& partition = parsed_.lists[static_cast<std::size_t>(index)];
      return parsed_.steps[partition.first + static_cast<std::size_t>(step_)];
    }));
    scratch_.levels[0].push_back(scratch_.levels[0].back() + rows);
  }
  step_ = -1;
  column.end_row({&total, 1});
  write_levels(column, 0);
  return {};
}

}  // namespace forebay::decoders
