// SPDX-License-Identifier: Apache-2.0
#include <forebay/column.h>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "columns/gather.h"

namespace forebay {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Counts how often it is asked, and wants no more after so many times.
struct Counting final : StopCheck {
  struct Enough {};
  explicit Counting(int times) : most{times} {}
  void look() const override {
    if (asked == most) throw Enough{};
    ++asked;
  }
  const int most;
  mutable int asked = 0;
};

TEST(Storage, AsksBeforeEachStepThatALargeOneGrowsBy) {
  const Counting check{100};
  Storage storage;
  storage.ask(&check);
  storage.resize(20 * mib);
  EXPECT_EQ(check.asked, 0) << "not large";
  storage.resize(100 * mib);
  EXPECT_EQ(check.asked, 5) << "80 MiB more, in steps of 16";
  storage.clear();
  storage.resize(100 * mib);
  EXPECT_EQ(check.asked, 5) << "it is there already";
}

TEST(Storage, KeepsWhatItHasWhenItIsToldToStop) {
  const Counting check{2};
  Storage storage;
  storage.ask(&check);
  const std::string text = "what is there";
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(storage.extend(text.size())));
  EXPECT_THROW(storage.extend(100 * mib), Counting::Enough);
  EXPECT_EQ(storage.size(), text.size());
  EXPECT_EQ(std::string(storage.as<char>(), storage.size()), text);
  storage.ask(nullptr);
  storage.extend(100 * mib);
  EXPECT_EQ(storage.size(), text.size() + 100 * mib);
  EXPECT_EQ(std::string(storage.as<char>(), text.size()), text);
}

TEST(Storage, DoublesWithoutUsingWhatItReserves) {
  Storage storage;
  storage.resize(64 * mib);
  storage.resize(65 * mib);
  EXPECT_GE(storage.capacity(), 65 * mib);
  EXPECT_LE(storage.capacity(), 81 * mib) << "bytes of a budget: pages that were touched";
}

TEST(Storage, ItsCheckStaysWhenTheBytesMove) {
  const Counting check{0};
  Storage asks, other;
  asks.ask(&check);
  other.resize(10);
  asks = std::move(other);
  EXPECT_EQ(asks.size(), 10U);
  EXPECT_THROW(asks.resize(100 * mib), Counting::Enough);
}

TEST(Column, AllOfItsStoragesAsk) {
  const Counting check{0};
  ColumnSpec part{.name = "p", .dtype = DType::int64, .shape = {unknown_dim}};
  Column column{ColumnSpec{.name = "x", .dtype = DType::string, .shape = {unknown_dim}, .parts = {part}}};
  column.ask(&check);
  for (Storage* storage :
       {&column.bytes, &column.byte_splits, &column.row_splits, &column.dims, &column.values, &column.parts[0].values})
    EXPECT_THROW(storage->resize(100 * mib), Counting::Enough);
}

TEST(CopyBytes, CopiesAllAndAsksOnTheWay) {
  std::string in(40 * mib, ' ');
  for (std::size_t i = 0; i < in.size(); i += 4097) in[i] = static_cast<char>('a' + i % 26);
  std::string out(in.size(), '?');
  const Counting check{100};
  columns::copy_bytes(std::as_bytes(std::span{in}), reinterpret_cast<std::byte*>(out.data()), &check);
  EXPECT_TRUE(in == out);
  EXPECT_EQ(check.asked, 2);
  const Counting stops{1};
  EXPECT_THROW(columns::copy_bytes(std::as_bytes(std::span{in}), reinterpret_cast<std::byte*>(out.data()), &stops),
               Counting::Enough);
}

}  // namespace
}  // namespace forebay
