// SPDX-License-Identifier: Apache-2.0
#include "engine/index/attribute_column.h"

#include <cstring>
#include <utility>

namespace forebay::engine {
namespace {

struct StoredColumn {
  std::uint64_t count = 0;
  std::uint32_t bits = 1;
  std::uint32_t zero = 0;
};
static_assert(sizeof(StoredColumn) == 16);

template <class T>
std::int64_t number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return static_cast<std::int64_t>(value);
}

std::int64_t value_at(const std::byte* values, int bits, std::int64_t record) {
  switch (bits) {
    case 1:
      return static_cast<std::int64_t>(values[record / 8] >> (record % 8)) & 1;
    case 8:
      return number<std::uint8_t>(values + record);
    case 16:
      return number<std::uint16_t>(values + 2 * record);
    case 32:
      return number<std::uint32_t>(values + 4 * record);
    default:
      return number<std::int64_t>(values + 8 * record);
  }
}

int bits_of(std::int64_t value) {
  if (value < 0 || value > std::int64_t{UINT32_MAX}) return 64;
  return value > UINT16_MAX ? 32 : value > UINT8_MAX ? 16 : value > 1 ? 8 : 1;
}

/// Bytes of `count` values, `count` at most 2^56.
std::uint64_t bytes_of(std::uint64_t count, int bits) {
  return bits == 1 ? (count + 7) / 8 : count * (static_cast<std::uint64_t>(bits) / 8);
}

void append_value(std::vector<std::byte>& out, std::int64_t record, int bits, std::int64_t value) {
  if (bits == 1) {
    if (record % 8 == 0) out.push_back(std::byte{0});
    out.back() |= static_cast<std::byte>(value << (record % 8));
    return;
  }
  const auto bytes = std::as_bytes(std::span{&value, 1}).first(static_cast<std::size_t>(bits) / 8);  // little-endian
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::optional<AttributeColumn> AttributeColumn::parse(std::shared_ptr<const MappedFile> store,
                                                      std::span<const std::byte> image) {
  StoredColumn head;
  if (image.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, image.data(), sizeof(head));
  const bool known = head.bits == 1 || head.bits == 8 || head.bits == 16 || head.bits == 32 || head.bits == 64;
  if (!known || head.zero != 0 || head.count > std::uint64_t{1} << 56) return std::nullopt;
  const int bits = static_cast<int>(head.bits);
  if (bytes_of(head.count, bits) != image.size() - sizeof(head)) return std::nullopt;
  AttributeColumn out;
  out.store_ = std::move(store);
  out.image_ = image;
  out.values_ = image.data() + sizeof(head);
  out.size_ = static_cast<std::int64_t>(head.count);
  out.bits_ = bits;
  return out;
}

std::int64_t AttributeColumn::at(std::int64_t record) const { return value_at(values_, bits_, record); }

AttributeBuilder::AttributeBuilder() : image_(sizeof(StoredColumn)) {}

void AttributeBuilder::add(std::int64_t value) {
  if (const int bits = bits_of(value); bits > bits_) widen(bits);
  append_value(image_, size_++, bits_, value);
}

void AttributeBuilder::widen(int bits) {
  std::vector<std::byte> wider(sizeof(StoredColumn));
  wider.reserve(sizeof(StoredColumn) + bytes_of(static_cast<std::uint64_t>(size_) + 1, bits));
  for (std::int64_t i = 0; i < size_; ++i)
    append_value(wider, i, bits, value_at(image_.data() + sizeof(StoredColumn), bits_, i));
  image_ = std::move(wider);
  bits_ = bits;
}

AttributeColumn AttributeBuilder::finish() {
  const StoredColumn head{.count = static_cast<std::uint64_t>(size_), .bits = static_cast<std::uint32_t>(bits_)};
  std::memcpy(image_.data(), &head, sizeof(head));
  image_.shrink_to_fit();
  AttributeColumn out;
  out.own_ = std::move(image_);
  out.image_ = out.own_;
  out.values_ = out.own_.data() + sizeof(head);
  out.size_ = size_;
  out.bits_ = bits_;
  return out;
}

}  // namespace forebay::engine
