// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "columns/scalar.h"

namespace forebay::plan {
namespace {

using engine::Output;

/// Returns the last entry of a `pad` list that names the tensor, as the place of its faults; else the options.
const Json& entry_of(const Json& options, const std::string& tensor) {
  const Json* found = &options;
  const Json* pad = options.find("pad");
  if (pad == nullptr) return *found;
  for (const Json& entry : pad->items()) {
    const Json* name = entry.find("tensor");
    if (name != nullptr && name->string() == tensor) found = &entry;
  }
  return *found;
}

const Json& member_or(const Json& json, const char* key) {
  const Json* member = json.find(key);
  return member != nullptr ? *member : json;
}

bool fits_integer(const Json& value, DType dtype) {
  std::vector<Error> ignored;
  const auto number = read_integer(value, ignored);
  if (!number) return false;
  const auto bits = static_cast<int>(size_of(dtype)) * 8;
  const bool is_unsigned =
      dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
  if (is_unsigned) return *number >= 0 && (bits == 64 || *number < (std::int64_t{1} << bits));
  if (bits == 64) return true;
  const std::int64_t limit = std::int64_t{1} << (bits - 1);
  return -limit <= *number && *number < limit;
}

bool converts(const Json& value, DType dtype) {
  if (value.is(Json::Kind::null)) return true;
  if (dtype == DType::string) return value.is(Json::Kind::string);
  if (dtype == DType::boolean) return value.is(Json::Kind::boolean);
  if (is_complex(dtype)) return false;
  if (is_integer(dtype)) return fits_integer(value, dtype);
  return columns::real_from(value).has_value();
}

bool variable(const ColumnSpec& spec) { return !spec.shape.known(); }

/// Whether the batcher may decide about the delivery of the column. Not for sparse columns and columns of several
/// parts.
bool free_to_pad(const ColumnSpec& spec) {
  return variable(spec) && spec.parts.empty() && spec.delivery != Delivery::sparse;
}

/// Returns the padding with its open sizes replaced by the known sizes of the column.
Padding complete(const ColumnSpec& spec, const Padding* wanted) {
  std::vector<std::int64_t> dims = spec.shape.dims();
  for (std::size_t i = 0; wanted != nullptr && i < std::min(dims.size(), wanted->shape.rank()); ++i) {
    if (wanted->shape[i] != unknown_dim) dims[i] = wanted->shape[i];
  }
  return Padding{.shape = Shape{std::move(dims)}, .value = wanted != nullptr ? wanted->value : Scalar{}};
}

void check_padding(const ColumnSpec& spec, const Padding& padding, const Json& options, Faults& faults) {
  const Json& entry = entry_of(options, spec.name);
  for (std::size_t i = 0; i < spec.shape.rank(); ++i) {
    if (spec.shape[i] == unknown_dim || spec.shape[i] <= padding.shape[i]) continue;
    complain(member_or(entry, "shape"),
             fmt::format("tensor {} has shape {} and cannot be padded to {}", quote(spec.name), spec.shape.text(),
                         padding.shape.text()),
             faults);
    break;
  }
  const Json value = JsonCodec<Scalar>::write(padding.value);
  if (!converts(value, spec.dtype)) {
    complain(member_or(entry, "value"),
             fmt::format("the padding value {} of tensor {} is no {}", value.text(), quote(spec.name),
                         to_string(spec.dtype)),
             faults);
  }
}

}  // namespace

std::vector<Output> batch_outputs(const Schema& schema, const Batching& batching, const Json& options, Faults& faults) {
  std::vector<Output> out;
  for (const ColumnId id : schema.visible()) {
    Output output{.id = id, .spec = schema[id], .padding = {}, .after_batch = false};
    const Padding* wanted = nullptr;
    for (const auto& [name, padding] : batching.padding) {
      if (name == output.spec.name) wanted = &padding;  // of two entries the last
    }
    if (batching.delivery && free_to_pad(output.spec)) output.spec.delivery = *batching.delivery;
    if (wanted != nullptr) check_padding(output.spec, complete(output.spec, wanted), options, faults);
    Padding padding = complete(output.spec, wanted);
    const bool grows = wanted != nullptr && !variable(output.spec) && !(padding.shape == output.spec.shape);
    if (grows) output.spec.delivery = Delivery::padded;
    if (grows || (variable(output.spec) && output.spec.delivery == Delivery::padded))
      output.padding = std::move(padding);
    out.push_back(std::move(output));
  }
  return out;
}

Schema after_batch(const Schema& schema, const std::vector<Output>& batched) {
  std::vector<ColumnSpec> specs;
  for (std::size_t id = 0; id < schema.size(); ++id) specs.push_back(schema[static_cast<ColumnId>(id)]);
  for (const Output& output : batched) {
    ColumnSpec& spec = specs[static_cast<std::size_t>(output.id)];
    spec.delivery = output.spec.delivery;
    if (!output.padding) continue;
    std::vector<std::int64_t> dims = spec.shape.dims();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (output.padding->shape[i] != dims[i]) dims[i] = unknown_dim;
    }
    spec.shape = Shape{std::move(dims)};
  }
  Schema out;
  for (ColumnSpec& spec : specs) out.put(std::move(spec));
  out.keep({schema.visible().begin(), schema.visible().end()});
  return out;
}

std::vector<Output> final_outputs(const Schema& schema, std::size_t first_after, const std::vector<Output>& batched,
                                  const Batching& batching) {
  std::vector<Output> out;
  for (const ColumnId id : schema.visible()) {
    if (static_cast<std::size_t>(id) >= first_after) {
      Output made{.id = id, .spec = schema[id], .padding = {}, .after_batch = true};
      if (batching.delivery && free_to_pad(made.spec)) made.spec.delivery = *batching.delivery;
      out.push_back(std::move(made));
      continue;
    }
    const auto same =
        std::find_if(batched.begin(), batched.end(), [&](const Output& output) { return output.id == id; });
    if (same == batched.end()) continue;
    out.push_back(*same);
    out.back().spec.name = schema[id].name;  // a step may have renamed it
  }
  return out;
}

Shape shown_shape(const Output& output) { return output.padding ? output.padding->shape : output.spec.shape; }

}  // namespace forebay::plan
