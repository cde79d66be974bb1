// SPDX-License-Identifier: Apache-2.0
#include "columns/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "columns/cast_float16.h"

namespace forebay::columns {
namespace {

template <class To, class From>
std::vector<To> converted(DType from, DType to, const std::vector<From>& in) {
  std::vector<To> out(in.size());
  cast(reinterpret_cast<const std::byte*>(in.data()), from, reinterpret_cast<std::byte*>(out.data()), to, in.size());
  return out;
}

TEST(Cast, FloatsAreTruncatedTowardZeroAndDefinedOutsideTheRange) {
  const float nan = std::nanf("");
  EXPECT_EQ((converted<std::int32_t, float>(DType::float32, DType::int32, {1.9F, -1.9F, 3e9F, nan})),
            (std::vector<std::int32_t>{1, -1, INT32_MIN, INT32_MIN}));
  EXPECT_EQ((converted<std::uint8_t, float>(DType::float32, DType::uint8, {255.9F, 256.F, -1.F})),
            (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ((converted<std::uint64_t, double>(DType::float64, DType::uint64, {1.8e19, -1.0})),
            (std::vector<std::uint64_t>{18000000000000000000U, UINT64_MAX}));
}

TEST(Cast, IntegersWrap) {
  EXPECT_EQ((converted<std::int8_t, std::int64_t>(DType::int64, DType::int8, {300, -129, 127})),
            (std::vector<std::int8_t>{44, 127, 127}));
}

template <class T>
std::optional<std::size_t> misfit(DType from, DType to, const std::vector<T>& values) {
  return first_out_of_range(reinterpret_cast<const std::byte*>(values.data()), from, to, values.size());
}

TEST(Cast, FindsTheFirstValueOutsideTheRange) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  EXPECT_EQ(misfit<std::int64_t>(DType::int64, DType::uint8, {0, 255, 256, -1}), 2U);
  EXPECT_EQ(misfit<std::int64_t>(DType::int64, DType::uint8, {255, -1}), 1U);
  EXPECT_EQ(misfit<std::int64_t>(DType::int64, DType::int32, {INT32_MIN, INT32_MAX}), std::nullopt);
  EXPECT_EQ(misfit<std::int64_t>(DType::int64, DType::int32, {std::int64_t{1} << 40}), 0U);
  EXPECT_EQ(misfit<std::int64_t>(DType::int64, DType::uint64, {INT64_MAX, -1}), 1U);
  EXPECT_EQ(misfit<std::uint64_t>(DType::uint64, DType::int64, {INT64_MAX, std::uint64_t{1} << 63}), 1U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::int8, {127.9, -128.9, 128.0}), 2U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::int8, {-129.0}), 0U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::int64, {-0x1p63, 0x1.fffffffffffffp62, 0x1p63}), 2U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::uint64, {-0.5, 0x1p64}), 1U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::int32, {nan}), 0U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::float32, {nan, inf, -inf, 3e38, 4e38}), 4U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::float16, {65504.0, -inf, 65520.0}), 2U);
  EXPECT_EQ(misfit<double>(DType::float64, DType::boolean, {nan, 7.0}), std::nullopt);
  EXPECT_EQ(misfit<std::uint16_t>(DType::float16, DType::uint8, {0x5bf8, 0x5c00}), 1U);  // 255, 256
  EXPECT_EQ(misfit<std::uint8_t>(DType::boolean, DType::int8, {255}), std::nullopt);
}

TEST(Cast, EverythingButZeroIsTrue) {
  EXPECT_EQ((converted<std::uint8_t, float>(DType::float32, DType::boolean, {0.F, -0.F, 0.1F, std::nanf("")})),
            (std::vector<std::uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ((converted<std::int32_t, std::uint8_t>(DType::boolean, DType::int32, {0, 1, 2})),
            (std::vector<std::int32_t>{0, 1, 1}));
}

TEST(Cast, Float16RoundsOnceToTheNearestTiesToEven) {
  EXPECT_EQ(
      (converted<std::uint16_t, double>(DType::float64, DType::float16,
                                        {1.0, -2.0, 65504.0, 65519.99, 65520.0, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14,
                                         2049.0, 2051.0, 2049.0000000001, 0x1.ff8p-15, 0x1.ffcp-15, -0.0})),
      (std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 1, 0, 1, 0x400, 0x6800, 0x6802, 0x6801, 0x3ff,
                                  0x400, 0x8000}));
}

TEST(Cast, EveryFloat16AndBfloat16SurvivesFloat) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    std::vector<std::uint16_t> all;
    const std::uint32_t infinite = dtype == DType::float16 ? 0x7c00 : 0x7f80;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      if ((bits & 0x7fff) <= infinite) all.push_back(static_cast<std::uint16_t>(bits));
    }
    EXPECT_EQ((converted<std::uint16_t, float>(DType::float32, dtype,
                                               converted<float, std::uint16_t>(dtype, DType::float32, all))),
              all);
    EXPECT_EQ((converted<std::uint16_t, double>(DType::float64, dtype,
                                                converted<double, std::uint16_t>(dtype, DType::float64, all))),
              all);
  }
}

TEST(Cast, Bfloat16RoundsToTheNearestTiesToEven) {
  EXPECT_EQ((converted<std::uint16_t, float>(DType::float32, DType::bfloat16,
                                             {1.F, 0x1.01p0F, 0x1.03p0F, std::numeric_limits<float>::infinity()})),
            (std::vector<std::uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x7f80}));
  EXPECT_TRUE(std::isnan(converted<float, std::uint16_t>(
      DType::bfloat16, DType::float32,
      converted<std::uint16_t, float>(DType::float32, DType::bfloat16, {std::nanf("")}))[0]));
}

}  // namespace
}  // namespace forebay::columns
