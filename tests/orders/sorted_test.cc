// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/sorted.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::orders {
OrderType sorted();
}  // namespace forebay::orders

namespace forebay {
namespace {

using testing::drain;
using testing::make_order;
using testing::NumberFiles;
using List = std::vector<std::uint32_t>;

/// A reader of files of numbers whose attribute is any function of the number. Some calls are interrupted.
class KeyedFiles final : public NumberFiles {
 public:
  using Key = std::int64_t (*)(std::uint32_t);
  KeyedFiles(std::vector<List> files, Key key) : NumberFiles{files}, files_{std::move(files)}, key_{key} {}

  Result<void> attributes_of(std::size_t attribute, std::span<const RecordName> names,
                             std::span<std::int64_t> out) override {
    EXPECT_EQ(attribute, 0U);
    if (++calls_ % 2 == 1 && interrupts) return Error{Code::cancelled, "interrupted"};
    for (std::size_t i = 0; i < names.size(); ++i)
      out[i] = key_(files_[names[i].file][static_cast<std::size_t>(names[i].record)]);
    return {};
  }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override {
    if (bytes > most) return Error{Code::data, Detail::resource_exhausted, "too much"};
    return std::make_shared<int>(0);
  }
  bool interrupts = false;
  std::int64_t most = INT64_MAX;

 private:
  const std::vector<List> files_;
  const Key key_;
  int calls_ = 0;
};

/// The handles of the files of a reader.
std::unique_ptr<Handles> files_of(std::uint32_t count) {
  return std::make_unique<testing::Numbers>(testing::first(count));
}

Json options_of(bool descending) {
  Json out = Json::object();
  out.set("by", std::string{"n"});
  out.set("descending", descending);
  return out;
}

/// The files' numbers in the order of their keys, equal ones in the order of the files.
List wanted(const std::vector<List>& files, KeyedFiles::Key key, bool descending) {
  List out;
  for (const List& file : files) out.insert(out.end(), file.begin(), file.end());
  std::stable_sort(out.begin(), out.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return descending ? key(a) > key(b) : key(a) < key(b); });
  return out;
}

TEST(Sorted, IsAStableSortOfAllFilesForAnyKeysInBothDirectionsAndEveryPass) {
  List many(10'000);
  std::iota(many.begin(), many.end(), 100U);
  const std::vector<std::vector<List>> all{{}, {{}}, {{7}}, {{3, 1, 2}, {}, {2, 0, 3}}, {many, {5, 5, 6}, many}};
  const std::vector<KeyedFiles::Key> keys{
      [](std::uint32_t n) { return std::int64_t{n}; },
      [](std::uint32_t n) { return -std::int64_t{n % 13}; },
      [](std::uint32_t) { return std::int64_t{0}; },
      [](std::uint32_t n) { return n % 2 == 0 ? INT64_MIN : INT64_MAX; },
      [](std::uint32_t n) { return static_cast<std::int64_t>(n * 0x9e3779b97f4a7c15U); },
  };
  for (const auto& files : all) {
    for (const KeyedFiles::Key key : keys) {
      for (const bool descending : {false, true}) {
        KeyedFiles reader{files, key};
        const auto order = make_order(orders::sorted(), options_of(descending),
                                      files_of(static_cast<std::uint32_t>(files.size())), &reader);
        for (int pass = 0; pass < 2; ++pass) {
          order->begin(pass);
          EXPECT_EQ(drain(*order), wanted(files, key, descending));
        }
      }
    }
  }
}

TEST(Sorted, GoesOnAfterAnInterruptionAndFailsWithoutMemory) {
  const std::vector<List> files{{3, 1, 2}, {2, 0, 3}};
  KeyedFiles reader{files, [](std::uint32_t n) { return std::int64_t{n}; }};
  reader.interrupts = true;
  const auto order = make_order(orders::sorted(), options_of(false), files_of(2), &reader);
  order->begin(0);
  Handle out;
  EXPECT_EQ(order->pull({&out, 1}).error().code(), Code::cancelled);
  EXPECT_EQ(drain(*order), (List{0, 1, 2, 2, 3, 3}));
  reader.most = 6 * 32 - 1;
  order->begin(1);
  EXPECT_THAT(order->pull({&out, 1}).error().text(), ::testing::HasSubstr("the keys of 6 records"));
}

}  // namespace
}  // namespace forebay
