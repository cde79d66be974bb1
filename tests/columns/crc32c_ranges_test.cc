// SPDX-License-Identifier: Apache-2.0
#include "columns/crc32c_ranges.h"

#include <string>

#include <gtest/gtest.h>

#include "columns/crc32c.h"
#include "tests/io/files.h"
#include "tests/support/noise.h"

namespace forebay::columns {
namespace {

using tests::bytes_of;
using tests::noise;

TEST(Crc32cJoined, IsTheChecksumOfBothPieces) {
  const std::string bytes = noise(3000);
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 7) {
    const auto first = bytes_of(bytes).first(cut);
    const auto second = bytes_of(bytes).subspan(cut);
    ASSERT_EQ(crc32c_joined(crc32c(first), crc32c(second), second.size()), crc32c(bytes_of(bytes))) << cut;
  }
}

TEST(RangeChecksums, AreThoseOfTheBytesWhateverTheOrderOfRanges) {
  const std::string bytes = noise(20'000);
  std::uint64_t x = 1;
  RangeChecksums sums;
  for (int i = 0; i < 3000; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    const std::size_t begin = (x >> 33) % bytes.size();
    const std::size_t end = begin + (x >> 13) % (bytes.size() - begin + 1);
    const std::size_t cut = (x >> 50) % (begin + 1);  // the window need not begin where the file does
    const auto window = bytes_of(bytes).subspan(cut);
    ASSERT_EQ(sums.of(window, static_cast<std::int64_t>(cut), begin - cut, end - cut),
              crc32c(bytes_of(bytes).subspan(begin, end - begin)))
        << begin << " " << end;
  }
}

TEST(RangeChecksums, OverlappingRangesCostOnePassAndAConstantEach) {
  const std::string bytes = noise(1 << 20);
  RangeChecksums sums;
  constexpr std::int64_t ranges = 4000;
  for (std::size_t i = 0; i < ranges; ++i) {
    const std::size_t begin = 12 * i;
    ASSERT_EQ(sums.of(bytes_of(bytes), 0, begin, bytes.size() - i),
              crc32c(bytes_of(bytes).subspan(begin, bytes.size() - i - begin)));
  }
  EXPECT_LE(sums.passed(), (1 << 20) + ranges * 2 * static_cast<std::int64_t>(RangeChecksums::step));
}

}  // namespace
}  // namespace forebay::columns
