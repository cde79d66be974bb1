// SPDX-License-Identifier: Apache-2.0
#include "decoders/feature_writer.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "columns/cast.h"
#include "decoders/raw/raw_numbers.h"
#include "decoders/value_list.h"

namespace forebay::decoders {
namespace {

constexpr std::string_view name_of(StoredAs stored) {
  switch (stored) {
    case StoredAs::int_:
      return "int64";
    case StoredAs::float_:
      return "float";
    case StoredAs::bytes:
      return "bytes";
  }
  return "";
}

}  // namespace

void Values::clear() {
  ints.clear();
  floats.clear();
  strings.clear();
}

std::int64_t Values::size(StoredAs stored) const {
  switch (stored) {
    case StoredAs::int_:
      return static_cast<std::int64_t>(ints.size());
    case StoredAs::float_:
      return static_cast<std::int64_t>(floats.size());
    case StoredAs::bytes:
      return static_cast<std::int64_t>(strings.size());
  }
  return 0;
}

std::int64_t Values::bytes() const { return bytes_of(ints) + bytes_of(floats) + bytes_of(strings); }

std::int64_t Scratch::owned() const {
  std::int64_t sum =
      values.bytes() + bytes_of(numbers) + bytes_of(splits) + bytes_of(rows_before) + bytes_of(order) + bytes_of(bytes);
  for (const auto& level : levels) sum += bytes_of(level);
  return sum;
}

Result<void> FeatureWriter::write(const Output& output, std::int64_t row, std::int64_t record) {
  output_ = &output, row_ = row, record_ = record, step_ = -1;
  if (output.list) return list(output);
  switch (output.kind) {
    case FeatureKind::fixed_len:
      return fixed(output);
    case FeatureKind::var_len:
    case FeatureKind::fixed_len_sequence:
      return variable(output);
    case FeatureKind::sparse:
      return sparse(output);
    case FeatureKind::ragged:
      return ragged(output);
    case FeatureKind::raw:
      return raw(output);
  }
  return {};
}

Error FeatureWriter::fault(Detail detail, int index, std::string message) const {
  const std::string& key = source(index).key;
  std::string where;
  if (key != output_->name) where += fmt::format("key '{}': ", key);
  if (step_ >= 0) where += fmt::format("step {}: ", step_);
  return {Code::data, detail, where + message, Place{.feature = output_->name, .row = record_}};
}

Error FeatureWriter::malformed(int index) const {
  return fault(Detail::data_loss, index,
               fmt::format("the {} list is cut short or malformed", name_of(source(index).stored)));
}

Error FeatureWriter::missing(const Output& output, std::string what, const std::string& cure) const {
  what += " but the record does not have it";
  if (message_.at != nullptr) what += about_missing(message_, looked_, source(output.source).key, cure);
  return fault(Detail::invalid_argument, output.source, std::move(what));
}

Result<void> FeatureWriter::read(int index, const FoundFeature& feature, Values& out) {
  out.clear();
  if (!feature.present) return {};
  const StoredAs wanted = source(index).stored;
  if (feature.kind != wanted) {
    return fault(
        Detail::invalid_argument, index,
        fmt::format("expected a list of {}, found a list of {}; correct `dtype` or `stored`, or the writer of the file",
                    name_of(wanted), name_of(feature.kind)));
  }
  const Pieces pieces = parsed_.of(feature);
  const StopCheck* const check = block_[output_->column].values.check();
  bool good = false;
  switch (wanted) {
    case StoredAs::int_:
      good = read_ints(pieces, out.ints, check);
      break;
    case StoredAs::float_:
      good = read_floats(pieces, out.floats, check);
      break;
    case StoredAs::bytes:
      good = read_strings(pieces, out.strings, check);
      break;
  }
  if (!good) return malformed(index);
  return {};
}

Result<void> FeatureWriter::read_numbers(int index, const FoundFeature& feature, std::vector<std::int64_t>& out) {
  Values values;
  values.ints.swap(out);
  auto done = read(index, feature, values);
  values.ints.swap(out);
  return done;
}

void FeatureWriter::convert(const Output& output, const Values& values, std::byte* to) {
  if (output.stored == StoredAs::int_) {
    columns::cast(reinterpret_cast<const std::byte*>(values.ints.data()), DType::int64, to, output.dtype,
                  values.ints.size());
  } else {
    columns::cast(reinterpret_cast<const std::byte*>(values.floats.data()), DType::float32, to, output.dtype,
                  values.floats.size());
  }
}

void FeatureWriter::append(const Output& output, Column& column, const Values& values) {
  if (output.dtype == DType::string) {
    for (const columns::Wire& value : values.strings)
      column.push_string({reinterpret_cast<const std::byte*>(value.at), value.size()});
  } else {
    const auto count = static_cast<std::size_t>(values.size(output.stored));
    convert(output, values, column.values.extend(count * size_of(output.dtype)));
  }
}

Result<void> FeatureWriter::fixed(const Output& output) {
  Column& column = block_[output.column];
  const FoundFeature& feature = found(output.source);
  if (!feature.present) {
    if (!output.has_default) {
      return missing(output, fmt::format("is required ({} {})", output.shape.text(), to_string(output.dtype)),
                     "give it a `default`, or make it var_len");
    }
    write_default(output, column);
    return {};
  }
  FOREBAY_DO(read(output.source, feature, scratch_.values));
  const std::int64_t count = scratch_.values.size(output.stored);
  if (count != output.count) {
    return fault(
        Detail::data_loss, output.source,
        fmt::format("expected {} {} values (shape {}), found {}{}", output.count, name_of(output.stored),
                    output.shape.text(), count,
                    count == 0 ? "; a list without values is not a missing one" : "; correct `shape`, or use var_len"));
  }
  if (output.dtype == DType::string) {
    append(output, column, scratch_.values);
    ++column.rows;
  } else {
    convert(output, scratch_.values, column.values.data() + static_cast<std::size_t>(row_) * column.row_bytes());
  }
  return {};
}

void FeatureWriter::write_default(const Output& output, Column& column) {
  if (output.dtype == DType::string) {
    for (const std::string& text : output.default_strings) column.push_string(std::as_bytes(std::span{text}));
    ++column.rows;
  } else if (!output.default_bytes.empty()) {
    std::memcpy(column.values.data() + static_cast<std::size_t>(row_) * output.default_bytes.size(),
                output.default_bytes.data(), output.default_bytes.size());
  }
}

Result<void> FeatureWriter::variable(const Output& output) {
  FOREBAY_DO(read(output.source, found(output.source), scratch_.values));
  const std::int64_t count = scratch_.values.size(output.stored);
  const std::int64_t step = output.kind == FeatureKind::var_len ? 1 : output.count;
  if (count % step != 0) {
    return fault(Detail::data_loss, output.source,
                 fmt::format("{} {} values are not a multiple of {}, the size of one step (shape {})", count,
                             name_of(output.stored), step, output.shape.text()));
  }
  Column& column = block_[output.column];
  append(output, column, scratch_.values);
  const std::int64_t steps = count / step;
  column.end_row({&steps, 1});
  return {};
}

Result<void> FeatureWriter::sparse(const Output& output) {
  FOREBAY_DO(read(output.source, found(output.source), scratch_.values));
  const std::int64_t count = scratch_.values.size(output.stored);
  auto& axes = scratch_.levels;
  if (axes.size() < output.indices.size()) axes.resize(output.indices.size());
  for (std::size_t axis = 0; axis < output.indices.size(); ++axis) {
    const int index = output.indices[axis];
    FOREBAY_DO(read_numbers(index, found(index), axes[axis]));
    if (static_cast<std::int64_t>(axes[axis].size()) != count) {
      return fault(Detail::invalid_argument, index,
                   fmt::format("{} indices for {} values; there must be as many", axes[axis].size(), count));
    }
    for (const std::int64_t at : axes[axis]) {
      if (at < 0 || at >= output.sizes[axis]) {
        return fault(Detail::invalid_argument, index,
                     fmt::format("index {} is outside of axis {}, whose size is {}", at, axis, output.sizes[axis]));
      }
    }
  }
  if (!output.already_sorted) {
    scratch_.order.resize(static_cast<std::size_t>(count));
    for (std::uint32_t i = 0; i < scratch_.order.size(); ++i) scratch_.order[i] = i;
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      for (std::size_t axis = 0; axis < output.indices.size(); ++axis) {
        if (axes[axis][a] != axes[axis][b]) return axes[axis][a] < axes[axis][b];
      }
      return a < b;  // equal ones stay in their order
    };
    if (!std::ranges::is_sorted(scratch_.order, before)) {
      std::ranges::sort(scratch_.order, before);
      sort_by_indices(output.stored);
      for (std::size_t axis = 0; axis < output.indices.size(); ++axis) {
        scratch_.numbers.assign(axes[axis].begin(), axes[axis].end());
        for (std::size_t i = 0; i < scratch_.order.size(); ++i) axes[axis][i] = scratch_.numbers[scratch_.order[i]];
      }
    }
  }
  Column& column = block_[output.column];
  append(output, column, scratch_.values);
  column.end_row({&count, 1});
  write_levels(column, 0);
  return {};
}

void FeatureWriter::sort_by_indices(StoredAs stored) {
  const auto reorder = [this](auto& values) {
    const auto old = values;
    for (std::size_t i = 0; i < old.size(); ++i) values[i] = old[scratch_.order[i]];
  };
  switch (stored) {
    case StoredAs::int_:
      return reorder(scratch_.values.ints);
    case StoredAs::float_:
      return reorder(scratch_.values.floats);
    case StoredAs::bytes:
      return reorder(scratch_.values.strings);
  }
}

void FeatureWriter::write_levels(Column& column, std::size_t first) {
  for (std::size_t part = first; part < column.parts.size(); ++part) {
    const std::vector<std::int64_t>& numbers = scratch_.levels[part];
    const std::size_t size = numbers.size() * sizeof(std::int64_t);
    std::byte* const to = column.parts[part].values.extend(size);
    if (size != 0) std::memcpy(to, numbers.data(), size);
    const auto count = static_cast<std::int64_t>(numbers.size());
    column.parts[part].end_row({&count, 1});
  }
}

Result<void> FeatureWriter::raw(const Output& output) {
  const FoundFeature& feature = found(output.source);
  if (!feature.present) {
    return missing(output, fmt::format("is required (raw {})", to_string(output.dtype)),
                   "leave it out or filter those files");
  }
  FOREBAY_DO(read(output.source, feature, scratch_.values));
  const auto& strings = scratch_.values.strings;
  if (static_cast<std::int64_t>(strings.size()) != output.len) {
    return fault(Detail::data_loss, output.source,
                 fmt::format("expected {} byte string{} (`len`), found {}", output.len, output.len == 1 ? "" : "s",
                             strings.size()));
  }
  Column& column = block_[output.column];
  if (output.variable) {
    FOREBAY_TRY(const std::int64_t count, raw_elements(output, strings[0]));
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(output.dtype);
    copy_raw(output, strings[0], count, column.values.extend(bytes));
    const std::int64_t size = count / output.count;
    column.end_row({&size, 1});
    return {};
  }
  std::byte* to = column.values.data() + static_cast<std::size_t>(row_) * column.row_bytes();
  for (const columns::Wire& string : strings) {
    FOREBAY_TRY(const std::int64_t count, raw_elements(output, string));
    copy_raw(output, string, count, to);
    to += static_cast<std::size_t>(count) * size_of(output.dtype);
  }
  return {};
}

Result<std::int64_t> FeatureWriter::raw_elements(const Output& output, columns::Wire bytes) const {
  auto count = raw_count(output, bytes.size());
  if (count.ok()) return count;
  return fault(count.error().detail(), output.source, count.error().message());
}

}  // namespace forebay::decoders
