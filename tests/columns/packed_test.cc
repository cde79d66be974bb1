// SPDX-License-Identifier: Apache-2.0
#include "columns/packed.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "columns/varint.h"

namespace forebay::columns {
namespace {

std::string varint(std::uint64_t value, std::size_t min_bytes = 1) {
  std::string out;
  for (; value >= 0x80 || out.size() + 1 < min_bytes; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  return out + static_cast<char>(value);
}

/// The result of a kernel: the number of varints, whether they decode, and the values. A guard follows the values.
struct Outcome {
  std::size_t count = 0;
  bool good = false;
  std::vector<std::int64_t> values;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome(const PackedKernels& kernels, const std::string& bytes, std::ptrdiff_t off = 0) {
  const std::string padded = bytes + std::string(64, '\x7f');
  const auto* at = reinterpret_cast<const std::uint8_t*>(padded.data());
  Outcome out{.count = kernels.count(at, bytes.size())};
  const auto wanted =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(out.count) + off));
  std::vector<std::int64_t> values(wanted + 8, -77);
  out.good = kernels.decode(at, bytes.size(), values.data(), wanted);
  EXPECT_EQ(std::vector<std::int64_t>(values.end() - 8, values.end()), std::vector<std::int64_t>(8, -77))
      << "wrote behind the end";
  if (out.good) out.values.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(wanted));
  return out;
}

void expect_twins_agree(const std::string& bytes) {
  for (const PackedKernels& kernels : packed_twins()) {
    for (const std::ptrdiff_t off : {0, -1, 1})
      EXPECT_EQ(outcome(kernels, bytes, off), outcome(packed_scalar, bytes, off)) << static_cast<int>(kernels.isa);
  }
}

TEST(Packed, TwinsAgreeOnVarintsOfEveryWidth) {
  std::mt19937_64 random{5};
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    const auto most = random() % 200;
    const auto style = random() % 5;
    for (std::uint64_t i = 0; i < most; ++i) {
      const std::uint64_t bits = style == 0   ? 7
                                 : style == 1 ? 14
                                 : style == 2 ? 1 + random() % 64
                                 : style == 3 ? 62
                                              : 1 + random() % 28;
      bytes += varint(random() >> (64 - bits), random() % 50 == 0 ? 1 + random() % 10 : 1);
    }
    expect_twins_agree(bytes);
    if (!bytes.empty()) {
      bytes[random() % bytes.size()] ^= '\x80';
      expect_twins_agree(bytes);
    }
  }
}

TEST(Packed, TwinsAgreeOnTheEdges) {
  for (const std::string& bytes :
       {std::string{}, std::string(64, '\x80'), std::string(200, '\xff'), std::string(64, '\x01'),
        std::string(63, '\xff') + '\x01', varint(~std::uint64_t{0}), std::string(10, '\xff') + '\x01',
        std::string(9, '\x80') + '\x7f', std::string(65, '\x05') + '\x80'}) {
    expect_twins_agree(bytes);
  }
}

TEST(Packed, ValuesComeOutAsTheyWentIn) {
  const std::vector<std::int64_t> values{
      0, 1, 127, 128, 16383, 16384, -1, std::int64_t{1} << 62, -(std::int64_t{1} << 62)};
  std::string bytes;
  for (const std::int64_t value : values) bytes += varint(static_cast<std::uint64_t>(value));
  for (const PackedKernels& kernels : packed_twins())
    EXPECT_EQ(outcome(kernels, bytes), (Outcome{values.size(), true, values}));
}

TEST(Varint, OfASizeIsExactlyThatLong) {
  for (std::size_t bytes = 1; bytes <= 10; ++bytes) {
    const std::uint64_t value = ~std::uint64_t{0} >> (bytes >= 10 ? 0 : 64 - 7 * bytes);
    const std::string text = varint(value) + std::string(64, '\x7f');
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t size = 0; size <= 12; ++size) {
      std::uint64_t read = 0;
      EXPECT_EQ(varint_of_size(at, size, read), size == bytes) << size << " of " << bytes;
      if (size == bytes) {
        EXPECT_EQ(read, value);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::columns
