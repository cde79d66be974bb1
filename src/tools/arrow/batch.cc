// SPDX-License-Identifier: Apache-2.0
#include <forebay/arrow.h>

#include <algorithm>

#include <fmt/format.h>
#include <forebay/messages.h>

#include "config/utf8.h"
#include "tools/arrow/node.h"

namespace forebay {

namespace {

using tools::ArrowNode;

/// The letter of the interface for a type of numbers; null where Arrow has none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "b";
    case DType::int8:
      return "c";
    case DType::int16:
      return "s";
    case DType::int32:
      return "i";
    case DType::int64:
      return "l";
    case DType::uint8:
      return "C";
    case DType::uint16:
      return "S";
    case DType::uint32:
      return "I";
    case DType::uint64:
      return "L";
    case DType::float16:
      return "e";
    case DType::float32:
      return "f";
    case DType::float64:
      return "g";
    case DType::bfloat16:
    case DType::complex64:
    case DType::complex128:
    case DType::string:
      break;
  }
  return nullptr;
}

/// Bytes of 0 and 1 as bits. `zeros`: how many are 0.
std::shared_ptr<void> bits_of(const std::byte* flags, std::int64_t count, std::int64_t& zeros) {
  auto bits = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(count / 8 + 1));
  zeros = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool set = flags[i] != std::byte{0};
    if (set) (*bits)[static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(1U << (i % 8));
    zeros += set ? 0 : 1;
  }
  std::uint8_t* const at = bits->data();
  return {std::move(bits), at};
}

Result<ArrowNode> strings_node(const Tensor& tensor, bool text) {
  static constexpr std::int64_t none = 0;
  const std::int64_t count = tensor.count();
  for (std::int64_t i = 0; text && i < count; ++i) {
    if (!config::is_utf8(tensor.string(i)))
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("string {} is not UTF-8; leave the tensor out of `utf8` to get it as binary", i)};
  }
  const void* const splits = tensor.byte_splits == nullptr ? &none : tensor.byte_splits;
  return ArrowNode{.format = text ? "U" : "Z",
                   .length = count,
                   .buffers = {nullptr, splits, tensor.bytes},
                   .owners = {tensor.owner}};
}

/// All elements of a tensor as one array.
Result<ArrowNode> elements_node(const Tensor& tensor, bool text) {
  if (tensor.dtype == DType::string) return strings_node(tensor, text);
  const char* const format = format_of(tensor.dtype);
  if (format == nullptr)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("Arrow has no type for {}; {}", to_string(tensor.dtype),
                             tensor.dtype == DType::bfloat16 ? "`cast` it to float32 in the document"
                                                             : "deliver the batch without it (`select`)")};
  ArrowNode out{.format = format, .length = tensor.count(), .buffers = {nullptr, tensor.data}};
  if (tensor.dtype == DType::boolean) {
    std::int64_t zeros = 0;
    out.owners = {bits_of(tensor.data, out.length, zeros)};
    out.buffers = {nullptr, out.owners.front().get()};
  } else {
    out.owners = {tensor.owner};
  }
  return out;
}

ArrowNode list_of(ArrowNode items, std::string format, std::int64_t length) {
  items.name = "item";
  ArrowNode out{.format = std::move(format), .length = length, .buffers = {nullptr}};
  out.children.push_back(std::move(items));
  return out;
}

/// A tensor as an array of its first axis.
Result<ArrowNode> dense_node(const Tensor& tensor, bool text) {
  FOREBAY_TRY(ArrowNode out, elements_node(tensor, text));
  const std::vector<std::int64_t>& dims = tensor.shape.dims();
  for (std::size_t axis = dims.size(); axis-- > 1;) {
    std::int64_t length = 1;
    for (std::size_t i = 0; i < axis; ++i) length *= dims[i];
    out = list_of(std::move(out), fmt::format("+w:{}", dims[axis]), length);
  }
  return out;
}

ArrowNode with_splits(ArrowNode items, const Tensor& splits) {
  const bool narrow = splits.dtype == DType::int32;
  ArrowNode out = list_of(std::move(items), narrow ? "+l" : "+L", splits.count() - 1);
  out.buffers.push_back(splits.data);
  out.owners.push_back(splits.owner);
  return out;
}

Result<ArrowNode> ragged_node(const Value& value, bool text) {
  FOREBAY_TRY(ArrowNode out, dense_node(value.values, text));
  for (std::size_t level = value.row_splits.size(); level-- > 0;)
    out = with_splits(std::move(out), value.row_splits[level]);
  return out;
}

/// Metadata of one key, as the interface encodes it.
std::string encoded_metadata(std::string_view key, std::string_view text) {
  std::string out;
  const auto put = [&out](std::size_t number) {
    const auto narrow = static_cast<std::int32_t>(number);
    out.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  };
  put(1);
  put(key.size());
  out += key;
  put(text.size());
  out += text;
  return out;
}

/// Where the values of each row begin, and the end: indices are sorted by row.
Tensor rows_of_sparse(const Value& value, std::int64_t rows) {
  auto splits = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(rows + 1), 0);
  const auto indices = value.indices.as<const std::int64_t>();
  const auto rank = static_cast<std::size_t>(value.indices.shape[1]);
  for (std::size_t i = 0; i < indices.size(); i += rank) {
    const std::int64_t row = indices[i];
    if (row >= 0 && row < rows) ++(*splits)[static_cast<std::size_t>(row + 1)];
  }
  for (std::size_t row = 1; row < splits->size(); ++row) (*splits)[row] += (*splits)[row - 1];
  auto* const data = reinterpret_cast<std::byte*>(splits->data());
  return {.dtype = DType::int64, .shape = Shape{rows + 1}, .data = data, .owner = std::move(splits)};
}

Result<ArrowNode> sparse_node(const Value& value, std::int64_t rows, bool text) {
  const Tensor splits = rows_of_sparse(value, rows);
  ArrowNode out{.format = "+s", .length = rows, .buffers = {nullptr}};
  out.metadata = encoded_metadata("forebay.dense_shape", value.dense_shape.text());
  for (const Tensor* part : {&value.indices, &value.values}) {
    FOREBAY_TRY(ArrowNode node, dense_node(*part, text));
    out.children.push_back(with_splits(std::move(node), splits));
  }
  out.children.front().name = "indices";
  out.children.back().name = "values";
  return out;
}

Result<ArrowNode> value_node(const Value& value, std::int64_t rows, bool text) {
  if (value.kind == Value::Kind::sparse) return sparse_node(value, rows, text);
  if (value.kind == Value::Kind::ragged) return ragged_node(value, text);
  if (value.values.shape.rank() == 0 || value.values.shape[0] != rows)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("its shape {} has no batch axis of {} rows; deliver the batch without it (`select`)",
                             value.values.shape.text(), rows)};
  return dense_node(value.values, text);
}

std::string present_name(std::string_view name) { return fmt::format("present({})", name); }

/// The tensor whose nulls this one tells; null: none.
const Value* tells_nulls_of(const Batch& batch, const std::string& name) {
  constexpr std::string_view begin = "present(";
  if (!name.starts_with(begin) || !name.ends_with(')')) return nullptr;
  const Value* const found = batch.find(name);
  if (found->values.dtype != DType::boolean || found->values.shape.rank() != 1) return nullptr;
  return batch.find(std::string_view{name}.substr(begin.size(), name.size() - begin.size() - 1));
}

void add_nulls(const Batch& batch, const std::string& name, ArrowNode& node) {
  const std::string other = present_name(name);
  const Value* const present = batch.find(other);
  if (present == nullptr || tells_nulls_of(batch, other) == nullptr) return;
  node.owners.push_back(bits_of(present->values.data, node.length, node.nulls));
  node.buffers.front() = node.owners.back().get();
}

Result<ArrowNode> batch_node(const Batch& batch, const BatchToArrow& options) {
  for (const std::string& name : options.utf8) {
    const Value* const value = batch.find(name);
    if (value == nullptr || value->values.dtype != DType::string)
      return Error{Code::config, Detail::not_found,
                   fmt::format("utf8: the batch has no tensor of strings {}", quote(name))};
  }
  ArrowNode out{.format = "+s", .length = batch.rows(), .buffers = {nullptr}};
  for (const std::string& name : batch.names()) {
    if (tells_nulls_of(batch, name) != nullptr) continue;
    const bool text = std::ranges::find(options.utf8, name) != options.utf8.end();
    auto node = value_node(*batch.find(name), batch.rows(), text);
    if (!node.ok()) return node.error().at(Place{.feature = name});
    node->name = name;
    add_nulls(batch, name, *node);
    out.children.push_back(*std::move(node));
  }
  return out;
}

}  // namespace

Result<void> export_batch(const Batch& batch, ArrowSchema& schema, ArrowArray& array, const BatchToArrow& options) {
  FOREBAY_TRY(ArrowNode node, batch_node(batch, options));
  tools::publish_schema(node, schema);
  tools::publish_array(std::move(node), array);
  return {};
}

}  // namespace forebay
