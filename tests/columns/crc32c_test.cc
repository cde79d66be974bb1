// SPDX-License-Identifier: Apache-2.0
#include "columns/crc32c.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/cpu.h"
#include "tests/io/files.h"
#include "tests/support/noise.h"

namespace forebay::columns {
namespace {

using tests::bytes_of;
using tests::noise;

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(bytes_of("")), 0U);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(masked_crc32c(bytes_of("")), 0xa282ead8U);
  EXPECT_EQ(masked_crc32c(bytes_of("123456789")), 0xc78ab0e5U);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aaU);
}

TEST(Crc32c, UnmaskUndoesMask) {
  for (const std::uint32_t crc : {0U, 1U, 0xffffffffU, 0x12345678U, 0xa282ead8U}) EXPECT_EQ(unmask(mask(crc)), crc);
}

TEST(Crc32c, TheFastOneAgreesWithItsTwinForEverySizeAndAlignment) {
  const std::string bytes = noise(5000);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t size = 0; size < 1500; ++size) {
      const auto part = bytes_of(std::string_view{bytes}.substr(begin, size));
      ASSERT_EQ(crc32c(part), crc32c_scalar(part)) << begin << " " << size;
    }
  }
  for (std::size_t size = 1500; size < 5000; size += 37) {
    const auto part = bytes_of(std::string_view{bytes}.substr(1, size - 1));
    ASSERT_EQ(crc32c(part), crc32c_scalar(part)) << size;
  }
}

TEST(Crc32c, OfSeveralRangesIsThatOfEach) {
  const std::string bytes = noise(1 << 16);
  std::vector<std::span<const std::byte>> ranges;
  std::vector<std::uint32_t> alone;
  std::size_t at = 0;
  for (std::size_t i = 0; i < 400; ++i) {  // short, long and empty ones mixed, some longer than any before
    const std::size_t size = (i * i * 7) % (i % 5 == 4 ? 900 : 120);
    at = (at + size + 3) % 60'000;
    ranges.push_back(bytes_of(std::string_view{bytes}.substr(at, size)));
    alone.push_back(crc32c_scalar(ranges.back()));
  }
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t count = 0; first + count <= ranges.size(); count += 1 + count / 3) {
      std::vector<std::uint32_t> found(count);
      crc32c(std::span{ranges}.subspan(first, count), found.data());
      ASSERT_EQ(found, std::vector<std::uint32_t>(alone.begin() + static_cast<std::ptrdiff_t>(first),
                                                  alone.begin() + static_cast<std::ptrdiff_t>(first + count)))
          << first << " " << count;
    }
  }
}

TEST(Crc32c, OfANumberIsOfItsEightBytes) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::byte bytes[8];
    std::memcpy(bytes, &number, 8);
    EXPECT_EQ(crc32c_scalar(number), crc32c(bytes));
#if defined(__x86_64__)
    if (isa() != Isa::scalar) {
      EXPECT_EQ(crc32c_sse42(number), crc32c(bytes));
    }
#endif
  }
}

}  // namespace
}  // namespace forebay::columns
