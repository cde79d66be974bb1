// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/core.h>
#include <forebay/convert.h>

#include "cells.h"

namespace forebay::cli {

static_assert(std::endian::native == std::endian::little);

namespace {

std::uint64_t fnv(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return hash;
}

template <std::size_t width>
void hash_elements(const std::byte* data, std::span<std::uint64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = fnv(data + i * width, width);
}

/// Adds in numpy's order, so that the last bits agree: eight running sums over up to 128 values, halves above.
double pairwise_sum(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 8) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
  }
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
  }
  double r[8];
  std::copy_n(values.data(), 8, r);
  std::size_t i = 8;
  for (; i < n - n % 8; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) r[lane] += values[i + lane];
  }
  double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

struct Elements {
  std::vector<std::uint64_t> hashes;
  double sum = 0;
};

Elements look_at(const Tensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.count());
  Elements out{.hashes = std::vector<std::uint64_t>(count)};
  if (tensor.dtype == DType::string) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text = tensor.string(static_cast<std::int64_t>(i));
      out.hashes[i] = fnv(text.data(), text.size());
      out.sum += static_cast<double>(text.size());
    }
    return out;
  }
  switch (size_of(tensor.dtype)) {
    case 1:
      hash_elements<1>(tensor.data, out.hashes);
      break;
    case 2:
      hash_elements<2>(tensor.data, out.hashes);
      break;
    case 4:
      hash_elements<4>(tensor.data, out.hashes);
      break;
    case 8:
      hash_elements<8>(tensor.data, out.hashes);
      break;
    default:
      hash_elements<16>(tensor.data, out.hashes);
      break;
  }
  const Tensor real = is_complex(tensor.dtype) ? parts_of(tensor) : tensor;
  std::vector<double> values(static_cast<std::size_t>(real.count()));
  convert(real, 0, std::span{values});
  out.sum = pairwise_sum(values);
  return out;
}

Tensor as_tensor(std::vector<std::int64_t>& numbers) {
  return {.dtype = DType::int64,
          .shape = Shape{static_cast<std::int64_t>(numbers.size())},
          .data = reinterpret_cast<std::byte*>(numbers.data()),
          .owner = nullptr};
}

}  // namespace

void Digest::add(const std::string& name, const Tensor& tensor) {
  Sums& sums = tensors_[name];
  sums.dtype = to_string(tensor.dtype);
  const Elements elements = look_at(tensor);
  std::uint64_t index = static_cast<std::uint64_t>(sums.count);
  for (const std::uint64_t hash : elements.hashes) {
    sums.hash += hash;
    sums.order += hash * (2 * index++ + 1);
  }
  const std::vector<std::int64_t>& dims = tensor.shape.dims();
  sums.shapes += fnv(dims.data(), dims.size() * sizeof(std::int64_t)) * (2 * static_cast<std::uint64_t>(batches_) + 1);
  sums.sum += elements.sum;
  sums.count += tensor.count();
}

void Digest::add(const Batch& batch) {
  for (const std::string& name : batch.names()) {
    const Value& value = *batch.find(name);
    if (value.kind == Value::Kind::dense) {
      add(name, value.values);
      continue;
    }
    add(name + ".values", value.values);
    for (std::size_t axis = 0; axis < value.row_splits.size(); ++axis) {
      add(axis == 0 ? name + ".row_splits" : fmt::format("{}.row_splits.{}", name, axis), value.row_splits[axis]);
    }
    if (value.kind == Value::Kind::sparse) {
      add(name + ".indices", value.indices);
      std::vector<std::int64_t> dims = value.dense_shape.dims();
      add(name + ".dense_shape", as_tensor(dims));
    }
  }
  rows_ += batch.rows();
  ++batches_;
}

Json Digest::json() const {
  Json tensors = Json::object();
  for (const auto& [name, sums] : tensors_) {
    Json json = Json::object();
    json.set("dtype", sums.dtype);
    json.set("count", sums.count);
    json.set("sum", sums.sum);
    json.set("hash", fmt::format("{:016x}", sums.hash));
    json.set("order", fmt::format("{:016x}", sums.order));
    json.set("shapes", fmt::format("{:016x}", sums.shapes));
    tensors.members().emplace_back(name, std::move(json));
  }
  Json out = Json::object();
  out.set("rows", rows_);
  out.set("batches", batches_);
  out.set("tensors", std::move(tensors));
  return out;
}

std::string Digest::text() const {
  std::size_t width = 4;
  for (const auto& [name, sums] : tensors_) width = std::max(width, name.size());
  std::string out = fmt::format("{:<{}}  {:<8}  {:>12}  {:>24}  {:<16}  {:<16}  {:<16}\n", "name", width, "dtype",
                                "count", "sum", "hash", "order", "shapes");
  for (const auto& [name, sums] : tensors_) {
    out += fmt::format("{:<{}}  {:<8}  {:>12}  {:>24}  {:016x}  {:016x}  {:016x}\n", name, width, sums.dtype,
                       sums.count, Json{sums.sum}.text(), sums.hash, sums.order, sums.shapes);
  }
  return out;
}

}  // namespace forebay::cli
