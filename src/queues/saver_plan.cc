// SPDX-License-Identifier: Apache-2.0
#include "queues/saver_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "queues/live_example.h"

namespace forebay::queues {

namespace {

constexpr std::int64_t max_segment_bytes = std::int64_t{1} << 36;  // of all rows of a batch
constexpr std::int64_t max_rows = std::int64_t{1} << 24;

Error bad_option(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

/// Adds the faults of the tensors of one kind to `faults`; `list` is the option.
std::vector<SaverColumn> columns_of(const std::vector<SaverTensor>& tensors, const std::string& list,
                                    std::vector<Error>& faults) {
  std::vector<SaverColumn> out;
  for (const SaverTensor& tensor : tensors) {
    const std::string at = fmt::format("{}[{}]", list, quote(tensor.name));
    if (tensor.name.find(':') != std::string::npos)
      faults.push_back(
          bad_option(fmt::format("{}: the name has a ':', which separates the parts of keys; rename it", at)));
    if (std::ranges::find(out, tensor.name, &SaverColumn::name) != out.end())
      faults.push_back(bad_option(fmt::format("{}: declared twice; names must differ", at)));
    const auto& dims = tensor.shape.dims();
    if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim <= 0; }))
      faults.push_back(
          bad_option(fmt::format("{}: shape {}; all sizes must be known and 1 or more", at, tensor.shape.text())));
    out.push_back({.name = tensor.name,
                   .dtype = tensor.dtype,
                   .shape = tensor.shape,
                   .elements = tensor.shape.count(),
                   .bytes = 0});
  }
  return out;
}

/// The bytes of one row of a batch, as far as they are known; at most about max_segment_bytes.
std::int64_t row_bytes(SaverPlan& plan) {
  std::int64_t sum = 0;
  const auto add = [&](std::vector<SaverColumn>& columns, std::int64_t times) {
    for (SaverColumn& column : columns) {
      const auto size = static_cast<std::int64_t>(std::max<std::size_t>(1, size_of(column.dtype)));
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(column.elements, size, &bytes) || __builtin_mul_overflow(bytes, times, &bytes) ||
          bytes > max_segment_bytes)
        bytes = max_segment_bytes;
      sum = std::min(sum + bytes, max_segment_bytes);
      column.bytes = column.text() ? 0 : static_cast<std::size_t>(column.elements) * size_of(column.dtype);
    }
  };
  add(plan.sequences, plan.num_unroll);
  add(plan.context, 1);
  add(plan.states, 1);
  return sum;
}

/// Lays the states of an example out one after the other, and makes their initial values.
void lay_out_states(SaverPlan& plan, const std::vector<SaverTensor>& states, std::vector<Error>& faults) {
  for (SaverColumn& column : plan.states) {
    column.offset = plan.state_bytes;
    plan.state_bytes += (column.bytes + 63) / 64 * 64;
  }
  plan.initial.resize(plan.state_bytes);
  plan.initial_texts.resize(plan.states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const SaverColumn& column = plan.states[i];
    const std::string what = fmt::format("initial_states[{}]", quote(column.name));
    if (!states[i].initial) {
      if (column.text()) plan.initial_texts[i] = empty_texts(column.shape);
      continue;
    }
    if (auto fits = check_tensor(*states[i].initial, column.dtype, column.shape, what); !fits.ok()) {
      faults.push_back(fits.error());
    } else if (column.text()) {
      plan.initial_texts[i] = copy_of(*states[i].initial);
    } else {
      std::memcpy(plan.initial.data() + column.offset, states[i].initial->data, column.bytes);
    }
  }
}

void check_numbers(const StateSaverOptions& options, std::vector<Error>& faults) {
  const auto range = [&](std::string_view name, std::int64_t value, std::int64_t max) {
    if (value < 1 || value > max)
      faults.push_back(bad_option(fmt::format("{}: must be 1 … {}, found {}", name, max, value)));
  };
  range("batch_size", options.batch_size, max_rows);
  range("num_unroll", options.num_unroll, std::numeric_limits<std::int32_t>::max());
  if (options.capacity && *options.capacity < options.batch_size)
    faults.push_back(
        bad_option(fmt::format("capacity: {} live examples never fill a batch; must be batch_size, {}, or more",
                               *options.capacity, options.batch_size)));
  if (options.sequences.empty()) faults.push_back(bad_option("sequences: there is no sequence; declare one or more"));
  if (options.states.empty())
    faults.push_back(
        bad_option("initial_states: there is no state; declare one or more, or use batches without states"));
}

}  // namespace

Result<SaverPlan> SaverPlan::make(const StateSaverOptions& options) {
  std::vector<Error> faults;
  check_numbers(options, faults);
  SaverPlan plan{.batch_size = options.batch_size,
                 .num_unroll = options.num_unroll,
                 .sequences = columns_of(options.sequences, "sequences", faults),
                 .context = columns_of(options.context, "context", faults),
                 .states = columns_of(options.states, "initial_states", faults),
                 .capacity = options.capacity,
                 .allow_small_batch = options.allow_small_batch,
                 .pad = options.pad,
                 .make_keys_unique = options.make_keys_unique,
                 .sticky_rows = options.sticky_rows,
                 .save_timeout = options.save_timeout};
  if (faults.empty()) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(row_bytes(plan), plan.batch_size, &bytes) || bytes >= max_segment_bytes) {
      faults.push_back(bad_option(fmt::format(
          "batch_size {} × num_unroll {}: a batch takes {} GiB or more; make one of them smaller, or the shapes",
          plan.batch_size, plan.num_unroll, max_segment_bytes >> 30)));
    } else {
      lay_out_states(plan, options.states, faults);
    }
  }
  if (!faults.empty()) return faults.size() == 1 ? faults.front() : Error::all(std::move(faults));
  return plan;
}

Result<std::size_t> find_column(const std::vector<SaverColumn>& columns, std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(columns, name, &SaverColumn::name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  std::vector<std::string> names;
  for (const SaverColumn& column : columns) names.push_back(column.name);
  return Error{Code::config, Detail::not_found,
               fmt::format("{}: none is named {}{}", what, quote(name), among(name, names, "declared are"))};
}

Result<void> check_tensor(const Tensor& tensor, DType dtype, const Shape& shape, const std::string& what) {
  if (tensor.dtype != dtype || tensor.shape != shape) {
    return bad_option(fmt::format("{}: found {}{}, allowed is {}{}; convert the values, or change the declaration",
                                  what, to_string(tensor.dtype), tensor.shape.text(), to_string(dtype), shape.text()));
  }
  const bool text = dtype == DType::string;
  if ((text ? tensor.byte_splits == nullptr : tensor.data == nullptr) && shape.count() != 0)
    return bad_option(fmt::format("{}: it has no memory; set `{}`", what, text ? "byte_splits` and `bytes" : "data"));
  return {};
}

}  // namespace forebay::queues
