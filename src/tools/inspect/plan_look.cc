// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/plan_look.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include <forebay/convert.h>

namespace forebay::tools {

namespace {

constexpr std::chrono::milliseconds between_looks{20};

/// Counts the values of one tensor, row by row.
class ColumnLook {
 public:
  ColumnLook(const ColumnSpec& spec, FeatureStats& stats) : spec_{spec}, stats_{stats} {}

  void add(const Value& value, const Tensor* lengths, std::int64_t row) {
    values_ = 0;
    if (value.kind == Value::Kind::sparse) {
      sparse(value, row);
    } else if (value.kind == Value::Kind::ragged) {
      ragged(value, row);
    } else {
      dense(value.values, lengths, row);
    }
    ++stats_.records;
    stats_.empty += values_ == 0 ? 1 : 0;
    stats_.lengths.add(values_);
    ++stats_.kinds[static_cast<std::size_t>(kind())];
  }

 private:
  [[nodiscard]] ValueKind kind() const {
    if (spec_.dtype == DType::string) return ValueKind::strings;
    return is_float(spec_.dtype) || spec_.dtype == DType::uint64 ? ValueKind::floats : ValueKind::integers;
  }

  /// Values that lie side by side.
  void run(const Tensor& tensor, std::int64_t first, std::int64_t count) {
    std::array<double, 512> floats;
    std::array<std::int64_t, 512> integers;
    const bool numbers = !is_complex(spec_.dtype) && spec_.dtype != DType::string;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t some = std::min<std::int64_t>(count - done, std::ssize(floats));
      const auto size = static_cast<std::size_t>(some);
      if (kind() == ValueKind::strings) {
        for (std::int64_t i = 0; i < some; ++i) stats_.strings.add(tensor.string(first + done + i));
      } else if (numbers && kind() == ValueKind::floats) {
        convert(tensor, first + done, std::span{floats}.first(size));
        stats_.floats.add(std::span<const double>{floats}.first(size));
      } else if (numbers) {
        convert(tensor, first + done, std::span{integers}.first(size));
        stats_.integers.add(std::span<const std::int64_t>{integers}.first(size), static_cast<std::size_t>(values_));
      }
      done += some;
      values_ += some;
    }
  }

  /// The part of a row that is no padding: `sizes` of the axes from `axis` on.
  void part(const Tensor& tensor, std::span<const std::int64_t> sizes, std::size_t axis, std::int64_t first) {
    const std::vector<std::int64_t>& dims = tensor.shape.dims();
    std::int64_t inner = 1;
    bool whole = true;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) {
      inner *= dims[i];
      whole = whole && sizes[i - 1] == dims[i];
    }
    if (axis == dims.size()) return run(tensor, first, 1);
    if (whole) return run(tensor, first, sizes[axis - 1] * inner);
    for (std::int64_t i = 0; i < sizes[axis - 1]; ++i) part(tensor, sizes, axis + 1, first + i * inner);
  }

  void dense(const Tensor& tensor, const Tensor* lengths, std::int64_t row) {
    const std::vector<std::int64_t>& dims = tensor.shape.dims();
    std::vector<std::int64_t> sizes{dims.begin() + 1, dims.end()};
    std::int64_t row_size = 1;
    for (const std::int64_t size : sizes) row_size *= size;
    if (lengths != nullptr) {
      const std::int64_t unknown = lengths->shape.rank() > 1 ? lengths->shape[1] : 1;
      std::int64_t next = row * unknown;
      for (std::size_t i = 0; i < sizes.size() && i < spec_.shape.rank(); ++i) {
        if (spec_.shape[i] == unknown_dim && next < (row + 1) * unknown)
          sizes[i] =
              std::clamp<std::int64_t>(lengths->as<std::int64_t>()[static_cast<std::size_t>(next++)], 0, sizes[i]);
      }
    }
    part(tensor, sizes, 1, row * row_size);
  }

  static std::int64_t split(const Tensor& splits, std::int64_t at) {
    const auto index = static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, splits.count() - 1));
    return splits.dtype == DType::int32 ? splits.as<std::int32_t>()[index] : splits.as<std::int64_t>()[index];
  }

  void ragged(const Value& value, std::int64_t row) {
    std::int64_t begin = row, end = row + 1;
    for (const Tensor& splits : value.row_splits) {
      begin = split(splits, begin);
      end = split(splits, end);
    }
    const std::vector<std::int64_t>& dims = value.values.shape.dims();
    std::int64_t inner = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) inner *= dims[i];
    begin = std::clamp<std::int64_t>(begin, 0, dims[0]);
    end = std::clamp<std::int64_t>(end, begin, dims[0]);
    run(value.values, begin * inner, (end - begin) * inner);
  }

  void sparse(const Value& value, std::int64_t row) {
    const std::int64_t rank = value.indices.shape[1];
    const std::span<const std::int64_t> indices = value.indices.as<std::int64_t>();
    const std::int64_t count = value.values.count();
    const auto row_of = [&](std::int64_t i) { return indices[static_cast<std::size_t>(i * rank)]; };
    // The indices are sorted.
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      (row_of(middle) < row ? low : high) = row_of(middle) < row ? middle + 1 : middle;
    }
    std::int64_t end = low;
    while (end < count && row_of(end) == row) ++end;
    run(value.values, low, end - low);
  }

  const ColumnSpec& spec_;
  FeatureStats& stats_;
  std::int64_t values_ = 0;  // of the row
};

/// The column that says in which rows a column has a value; its own number when there is none.
std::vector<std::size_t> presences_of(const std::vector<ColumnSpec>& specs) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const ColumnSpec& spec) {
      return spec.dtype == DType::boolean && spec.name == "present(" + specs[i].name + ")";
    });
    out.push_back(found == specs.end() ? i : static_cast<std::size_t>(found - specs.begin()));
  }
  return out;
}

bool is_present(const Batch& batch, const ColumnSpec& presence, std::int64_t row) {
  const auto flags = batch.tensor(presence.name).as<std::uint8_t>();
  return static_cast<std::size_t>(row) >= flags.size() || flags[static_cast<std::size_t>(row)] != 0;
}

const char* kind_of(const ColumnSpec& spec) {
  if (spec.delivery == Delivery::ragged) return "ragged";
  if (spec.delivery == Delivery::sparse) return "sparse";
  return spec.delivery == Delivery::padded ? "padded" : "dense";
}

}  // namespace

std::int64_t add_batch(const Batch& batch, const std::vector<ColumnSpec>& specs, std::int64_t rows, Inspected& out) {
  std::int64_t added = 0;
  const std::vector<std::size_t> presences = presences_of(specs);
  for (std::int64_t row = 0; row < batch.rows() && added < rows; ++row) {
    if (batch.has_spans() ? batch.origins(row).empty() : row >= batch.valid_rows()) continue;
    ++added;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Value* const value = batch.find(specs[i].name);
      if (value != nullptr && (presences[i] == i || is_present(batch, specs[presences[i]], row)))
        ColumnLook{specs[i], out.features[i].stats}.add(*value, batch.lengths(specs[i].name), row);
    }
  }
  return added;
}

void leave_out_presences(std::vector<InspectedFeature>& features) {
  std::vector<std::string> presences;
  for (const InspectedFeature& feature : features) presences.push_back("present(" + feature.name + ")");
  std::erase_if(features, [&](const InspectedFeature& feature) {
    return feature.dtype == "bool" && std::find(presences.begin(), presences.end(), feature.name) != presences.end();
  });
}

std::vector<InspectedFeature> features_of(const Plan& plan) {
  std::vector<InspectedFeature> out;
  for (const ColumnSpec& spec : plan.outputs()) {
    out.push_back({.name = spec.name,
                   .kind = kind_of(spec),
                   .dtype = std::string{to_string(spec.dtype)},
                   .shape = spec.sizes.empty() ? spec.shape.text() : Shape{spec.sizes}.text(),
                   .note = spec.logical});
  }
  return out;
}

Result<void> look_at_run(Loader& loader, const PlanPass& pass, Inspected& out) {
  const Plan& plan = loader.plan();
  out.features = features_of(plan);
  while (true) {
    bool timed_out = false;
    FOREBAY_TRY(const auto batch, loader.next_within(between_looks, timed_out));
    if (pass.go_on && !pass.go_on())
      return Error{Code::cancelled, fmt::format("interrupted after {} rows", out.records)};
    if (timed_out) continue;
    if (!batch) break;
    if (batch->epoch() > 0) break;
    if (pass.rows && out.records == *pass.rows) {
      out.sample = true;
      break;
    }
    const std::int64_t left = pass.rows ? *pass.rows - out.records : batch->rows();
    const std::int64_t added = add_batch(*batch, plan.outputs(), left, out);
    out.records += added;
    out.sample = out.sample || (added == left && added < batch->valid_rows());
  }
  return {};
}

}  // namespace forebay::tools
