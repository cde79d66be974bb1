// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "engine/tickets/finish/finish.h"

// The conventions of the companion columns are those of include/forebay/decoders/example.h.
namespace forebay::engine {

namespace {

std::span<const std::int64_t> row_of(const Column& column, std::int64_t row) {
  const std::int64_t* const splits = column.row_splits.as<std::int64_t>() + row;
  return {column.values.as<std::int64_t>() + splits[0], static_cast<std::size_t>(splits[1] - splits[0])};
}

/// Splits that were not validated may be any number.
std::int64_t shifted(std::int64_t split, std::int64_t base) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(split) + static_cast<std::uint64_t>(base));
}

/// Rows of a partition with that many splits.
std::int64_t rows_of(std::size_t splits) { return splits == 0 ? 0 : static_cast<std::int64_t>(splits) - 1; }

/// Rows that a partition declares.
std::int64_t rows_of(std::span<const std::int64_t> numbers, Partitioning partitioning) {
  if (partitioning == Partitioning::row_splits) return rows_of(numbers.size());
  if (partitioning != Partitioning::value_rowids) return static_cast<std::int64_t>(numbers.size());
  return numbers.empty() ? 0 : std::max<std::int64_t>(shifted(*std::ranges::max_element(numbers), 1), 0);
}

/// Size of level `level` of one record: rows of the partition, or values after the last partition.
std::int64_t level_size(const ColumnSpec& spec, const Column& piece, std::int64_t row, std::size_t level) {
  if (level < piece.parts.size()) return rows_of(row_of(piece.parts[level], row), spec.parts[level].partitioning);
  return piece.dims.as<std::int64_t>()[row * static_cast<std::int64_t>(piece.shape.unknown())];
}

/// Calls `visit` with the numbers of each record at one level, and the number of rows of level `counted` before it.
template <class Visit>
void each_record(const ColumnSpec& spec, columns::Pieces pieces, std::size_t level, std::size_t counted, Visit visit) {
  std::int64_t base = 0;
  for (const Column* piece : pieces) {
    for (std::int64_t row = 0; row < piece->rows; ++row) {
      visit(row_of(piece->parts[level], row), base);
      base = shifted(base, level_size(spec, *piece, row, counted));
    }
  }
}

/// Row ids that were not validated. The ids of a record count from the rows before it. The last id of the batch ends
/// the rows, whatever larger ids there are. Ids below 0 belong to the records before. At most `most` rows.
Result<std::vector<std::int64_t>> join_ids(const ColumnSpec& spec, columns::Pieces pieces, std::size_t level,
                                           std::int64_t most) {
  std::int64_t rows = 0, least = 0;
  each_record(spec, pieces, level, level, [&](auto ids, std::int64_t base) {
    if (ids.empty()) return;
    rows = std::max<std::int64_t>(shifted(shifted(ids.back(), base), 1), 0);
    least = std::min(least, shifted(*std::ranges::min_element(ids), base));
  });
  if (least < 0) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("row id {} is before the first row of the batch; row ids must be 0 or more", least),
                 Place{.feature = spec.name}};
  }
  if (rows > most) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("row ids make {} rows in one batch, more than the memory budget has room for", rows),
                 Place{.feature = spec.name}};
  }
  std::vector<std::int64_t> splits(static_cast<std::size_t>(rows) + 1);
  each_record(spec, pieces, level, level, [&](auto ids, std::int64_t base) {
    for (const std::int64_t id : ids) {
      if (const std::int64_t at = shifted(id, base); at >= 0 && at < rows) ++splits[static_cast<std::size_t>(at) + 1];
    }
  });
  for (std::size_t i = 1; i < splits.size(); ++i) splits[i] += splits[i - 1];
  return splits;
}

/// The row splits of all records at one level, each record's shifted by those before it. `below`: the level they split.
std::vector<std::int64_t> join_level(const ColumnSpec& spec, columns::Pieces pieces, std::size_t level,
                                     std::int64_t below) {
  const Partitioning partitioning = spec.parts[level].partitioning;
  std::vector<std::int64_t> splits;
  if (partitioning != Partitioning::row_starts) splits.push_back(0);
  each_record(spec, pieces, level, level + 1, [&](auto own, std::int64_t base) {
    if (partitioning == Partitioning::row_lengths) {
      for (const std::int64_t length : own) splits.push_back(shifted(length, splits.back()));
      return;
    }
    for (std::size_t i = partitioning == Partitioning::row_splits ? 1 : 0; i < own.size(); ++i)
      splits.push_back(shifted(own[i], base));
  });
  if (partitioning == Partitioning::row_starts) splits.push_back(below);
  return splits;
}

std::vector<std::int64_t> join_rows(const ColumnSpec& spec, columns::Pieces pieces) {
  std::vector<std::int64_t> splits{0};
  for (const Column* piece : pieces) {
    for (std::int64_t row = 0; row < piece->rows; ++row)
      splits.push_back(shifted(splits.back(), level_size(spec, *piece, row, 0)));
  }
  return splits;
}

/// Indices of a sparse value: rows of `width` numbers, the batch row first.
class Indices {
 public:
  Indices(std::int64_t* out, std::size_t rank) : next_{out}, largest_(rank) {}
  void add(std::int64_t row, std::span<const std::int64_t> at) {
    *next_++ = row;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      largest_[axis] = std::max(largest_[axis], at[axis] + 1);
      *next_++ = at[axis];
    }
  }
  [[nodiscard]] const std::vector<std::int64_t>& largest() const { return largest_; }

 private:
  std::int64_t* next_;
  std::vector<std::int64_t> largest_;
};

/// Every position of a row of that shape, in row-major order.
void add_positions(std::int64_t row, const Shape& shape, Indices& out) {
  std::vector<std::int64_t> at(shape.rank());
  for (std::int64_t left = shape.count(); left > 0; --left) {
    out.add(row, at);
    for (std::size_t axis = at.size(); axis > 0 && ++at[axis - 1] == shape[axis - 1]; --axis) at[axis - 1] = 0;
  }
}

void add_row(const Column& piece, std::int64_t row, std::int64_t batch_row, bool listed, Indices& out) {
  if (piece.parts.empty()) return add_positions(batch_row, piece.row_shape(row), out);
  std::vector<std::int64_t> at;
  if (listed) {  // one list of indices for each axis
    const std::size_t count = row_of(piece.parts.front(), row).size();
    for (std::size_t i = 0; i < count; ++i) {
      at.clear();
      for (const Column& part : piece.parts) at.push_back(row_of(part, row)[i]);
      out.add(batch_row, at);
    }
    return;
  }
  const auto steps = row_of(piece.parts.front(), row);  // splits of the steps of a list
  for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
    for (std::int64_t i = 0; i < steps[step + 1] - steps[step]; ++i) {
      const std::array<std::int64_t, 2> position{static_cast<std::int64_t>(step), i};
      out.add(batch_row, position);
    }
  }
}

}  // namespace

std::int64_t Finisher::splits_of(columns::Pieces pieces) {
  std::int64_t count = 1;
  for (const Column* piece : pieces) count += piece->rows;
  for (std::size_t level = 0; level < pieces.front()->parts.size(); ++level) {
    ++count;
    for (const Column* piece : pieces) {
      const std::int64_t* const own = piece->parts[level].row_splits.as<std::int64_t>();
      count += own[piece->rows] - own[0];  // a few more than are joined: the first one of each row is not
    }
  }
  return count;
}

std::optional<Finisher::Failure> Finisher::ragged(const Output& output, columns::Pieces pieces, Made& made) {
  const ColumnSpec& spec = output.spec;
  const std::int64_t elements = columns::extents(pieces).elements;
  const std::int64_t splits_bytes = splits_of(pieces) * static_cast<std::int64_t>(sizeof(std::int64_t));
  const std::int64_t more = text_bytes(pieces) + splits_bytes;
  if (auto failed = room(output, element_bytes(spec.dtype), Shape{elements}, more)) return failed;
  if (spec.row_splits_int32 && elements > INT32_MAX) {
    return Failure{Error{Code::data, Detail::resource_exhausted,
                         fmt::format("batch {} has {} values, more than int32 row splits can count; ask for int64 "
                                     "row splits or make batches smaller",
                                     job_.layout.number, elements),
                         Place{.feature = output.spec.name}}};
  }
  made.value.kind = Value::Kind::ragged;
  const std::shared_ptr<void> charge = pool_.charge(splits_bytes);  // for the splits, until they are copied
  std::int64_t total = 0;
  for (const Column* piece : pieces) {
    for (std::int64_t row = 0; row < piece->rows; ++row) total += level_size(spec, *piece, row, spec.parts.size());
  }
  std::vector<std::vector<std::int64_t>> levels(spec.parts.size() + 1);
  levels[0] = join_rows(spec, pieces);
  std::int64_t below = total;
  for (std::size_t level = spec.parts.size(); level-- > 0; below = rows_of(levels[level + 1].size())) {
    if (spec.parts[level].partitioning != Partitioning::value_rowids) {
      levels[level + 1] = join_level(spec, pieces, level, below);
      continue;
    }
    auto joined = join_ids(spec, pieces, level, pool_.limit() / static_cast<std::int64_t>(sizeof(std::int64_t)));
    if (!joined.ok()) return Failure{joined.error()};
    levels[level + 1] = *std::move(joined);
  }
  for (const auto& level : levels) {
    Tensor splits = integers(Shape{static_cast<std::int64_t>(level.size())});
    if (spec.row_splits_int32) {
      splits.dtype = DType::int32;
      std::transform(level.begin(), level.end(), reinterpret_cast<std::int32_t*>(splits.data),
                     [](std::int64_t split) { return static_cast<std::int32_t>(split); });
    } else {
      std::copy(level.begin(), level.end(), splits.as<std::int64_t>().data());
    }
    made.value.row_splits.push_back(std::move(splits));
  }
  std::vector<std::int64_t> dims = spec.shape.dims();
  dims.front() = total;
  made.value.values = flat_values(pieces, Shape{std::move(dims)}, Use::list);
  return std::nullopt;
}

std::optional<Finisher::Failure> Finisher::sparse(const Output& output, columns::Pieces pieces, Made& made) {
  const ColumnSpec& spec = output.spec;
  const bool listed = !spec.sizes.empty();
  const std::size_t rank = listed ? spec.sizes.size() : spec.shape.rank() + spec.parts.size();
  const std::int64_t count = columns::extents(pieces).elements;
  const std::int64_t places = count * static_cast<std::int64_t>((rank + 1) * sizeof(std::int64_t));
  if (auto failed = room(output, element_bytes(spec.dtype), Shape{count}, text_bytes(pieces) + places)) return failed;
  made.value.kind = Value::Kind::sparse;
  made.value.values = flat_values(pieces, Shape{count}, Use::list);
  made.value.indices = integers(Shape{count, static_cast<std::int64_t>(rank) + 1});
  Indices indices{made.value.indices.as<std::int64_t>().data(), rank};
  std::vector<std::int64_t> steps(1);
  std::int64_t batch_row = 0;
  each(pieces, [&](const Column& piece) {
    for (std::int64_t row = 0; row < piece.rows; ++row, ++batch_row) {
      add_row(piece, row, batch_row, listed, indices);
      if (!listed && !piece.parts.empty()) steps[0] = std::max(steps[0], level_size(spec, piece, row, 0));
    }
  });
  std::vector<std::int64_t> dims{job_.layout.rows};
  const auto& largest = listed ? spec.sizes : indices.largest();
  dims.insert(dims.end(), largest.begin(), largest.end());
  if (!listed && !spec.parts.empty()) dims[1] = std::max(dims[1], steps[0]);  // trailing empty steps count
  made.value.dense_shape = Shape{std::move(dims)};
  return std::nullopt;
}

}  // namespace forebay::engine
