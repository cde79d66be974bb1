// SPDX-License-Identifier: Apache-2.0
#include "decoders/raw/raw_numbers.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

namespace forebay::decoders {
namespace {

std::uint16_t swapped(std::uint16_t value) { return __builtin_bswap16(value); }
std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }
std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

template <class Word>
void swap_words(std::byte* at, std::size_t size) {
  for (std::size_t i = 0; i < size; i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, at + i, sizeof(word));
    word = swapped(word);
    std::memcpy(at + i, &word, sizeof(word));
  }
}

void swap_bytes(std::byte* at, std::size_t size, std::size_t part) {
  switch (part) {
    case 2:
      return swap_words<std::uint16_t>(at, size);
    case 4:
      return swap_words<std::uint32_t>(at, size);
    case 8:
      return swap_words<std::uint64_t>(at, size);
    default:
      return;
  }
}

}  // namespace

Result<std::int64_t> raw_count(const Output& output, std::size_t bytes) {
  const std::size_t size = size_of(output.dtype);
  const std::size_t item = static_cast<std::size_t>(output.count) * size;
  if (output.fixed_length != 0) bytes = static_cast<std::size_t>(output.fixed_length);
  if (output.shape.known()) {
    if (bytes == item) return output.count;
    return Error{Code::data, Detail::data_loss,
                 fmt::format("expected {} bytes for {} {} (shape {}), found {}", item, output.count,
                             to_string(output.dtype), output.shape.text(), bytes)};
  }
  if (bytes % item == 0) return static_cast<std::int64_t>(bytes / size);
  return Error{Code::data, Detail::data_loss,
               fmt::format("{} bytes are not a multiple of {}, the size of one {} of shape {}", bytes, item,
                           to_string(output.dtype), output.shape.text())};
}

void copy_raw(const Output& output, columns::Wire bytes, std::int64_t count, std::byte* to) {
  const std::size_t item = size_of(output.dtype);
  const std::size_t size = static_cast<std::size_t>(count) * item;
  const std::size_t there = std::min(size, bytes.size());
  if (there != 0) std::memcpy(to, bytes.at, there);
  if (there < size) std::memset(to + there, 0, size - there);
  if (output.dtype == DType::boolean) {
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::byte>(to[i] != std::byte{0});
  } else if (output.swaps) {
    swap_bytes(to, size, is_complex(output.dtype) ? item / 2 : item);
  }
}

}  // namespace forebay::decoders
