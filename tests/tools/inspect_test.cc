// SPDX-License-Identifier: Apache-2.0
#include <forebay/inspect.h>

#include <array>
#include <fstream>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <forebay/printable.h>
#include <forebay/record.h>
#include <forebay/records.h>

#include "tests/io/files.h"
#include "tools/inspect/message_look.h"
#include "tools/inspect/top_values.h"

namespace forebay::tools {
namespace {

using Found = MessageLook::Found;

/// A message with the bytes that may be read after it.
Found look_at(const std::string& message, FeatureTable& features, FeatureTable& lists) {
  const std::string padded = message + std::string(record_slack, '\0');
  return MessageLook{}.add(std::string_view{padded}.substr(0, message.size()), features, lists);
}

TEST(TopValues, OfFewValuesAreExactInWhateverPartsTheyCome) {
  TopValues<std::int64_t> all, first, second;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    all.add(i % 97);
    (i % 3 == 0 ? first : second).add(i % 97);
  }
  first.merge(second);
  EXPECT_EQ(first.top(97), all.top(97));
  EXPECT_EQ(all.top(1), (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 104}}));
  EXPECT_EQ(first.missed(), 0);
}

TEST(TopValues, OfManyValuesAreNeverTooLargeAndTooSmallByAtMostWhatWasMissed) {
  std::mt19937 random{7};
  std::map<std::string, std::int64_t> exact;
  std::array<TopValues<std::string>, 3> parts;
  for (int i = 0; i < 60'000; ++i) {
    const std::string value = std::to_string(random() % 4 == 0 ? random() % 5 : 5 + random() % 20'000);
    ++exact[value];
    parts[static_cast<std::size_t>(i) % 3].add(value);
  }
  parts[0].merge(parts[1]);
  parts[0].merge(parts[2]);
  ASSERT_LE(parts[0].size(), TopValues<std::string>::capacity);
  ASSERT_GT(parts[0].missed(), 0);
  const auto top = parts[0].top(5);
  for (const auto& [value, count] : top) {
    EXPECT_LT(std::stoi(value), 5);
    EXPECT_LE(count, exact[value]);
    EXPECT_GE(count, exact[value] - parts[0].missed());
  }
}

TEST(MessageLook, CountsKindsLengthsAndValues) {
  FeatureTable features, lists;
  const std::string first = encode_example({{"i", std::vector<std::int64_t>{5, -7}}, {"f", std::vector<float>{}}});
  const std::string second = encode_example({{"i", std::vector<std::int64_t>{5}}, {"none", std::monostate{}}});
  EXPECT_EQ(look_at(first, features, lists), Found::example);
  EXPECT_EQ(look_at(second, features, lists), Found::example);
  const auto found = features.sorted();
  ASSERT_EQ(found.size(), 3U);
  const FeatureStats& floats = *found[0].second;
  const FeatureStats& integers = *found[1].second;
  EXPECT_EQ(found[2].first, "none");
  EXPECT_EQ(found[2].second->records, 0);
  EXPECT_EQ(floats.records, 1);
  EXPECT_EQ(floats.empty, 1);
  EXPECT_EQ(integers.records, 2);
  EXPECT_EQ(integers.lengths.min, 1);
  EXPECT_EQ(integers.lengths.max, 2);
  EXPECT_EQ(integers.integers.min, -7);
  EXPECT_EQ(integers.integers.sum, 3);
  EXPECT_EQ(integers.integers.top.top(1)[0], (std::pair<std::int64_t, std::int64_t>{5, 2}));
  EXPECT_TRUE(lists.empty());
}

TEST(MessageLook, TakesRepeatedNamesAndMergedMessagesAsTheFullParserDoes) {
  const std::string one = encode_example({{"x", std::vector<std::int64_t>{1}}});
  const std::string two = encode_example({{"x", std::vector<std::int64_t>{2, 3}}, {"y", std::vector<float>{4}}});
  FeatureTable features, lists, wanted;
  EXPECT_EQ(look_at(one + two, features, lists), Found::example);
  EXPECT_EQ(look_at(encode_example(*decode_example(one + two)), wanted, lists), Found::example);
  const auto found = features.sorted(), plain = wanted.sorted();
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i].first, plain[i].first);
    EXPECT_EQ(found[i].second->lengths.sum, plain[i].second->lengths.sum);
    EXPECT_EQ(found[i].second->integers.sum, plain[i].second->integers.sum);
  }
}

TEST(MessageLook, AMalformedFeatureThatALaterOneReplacesIsNoFault) {
  const std::string bad{"\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x12\x03\x0a\x01\x01", 14};  // a float of one byte
  FeatureTable features, lists;
  EXPECT_EQ(look_at(bad, features, lists), Found::malformed);
  EXPECT_EQ(look_at(bad + encode_example({{"x", std::vector<std::int64_t>{1}}}), features, lists), Found::example);
  EXPECT_EQ(features.sorted()[0].second->integers.sum, 1);
}

TEST(MessageLook, NoCutAndNoChangedByteAddsAnythingToAnotherFeatureOrCrashes) {
  const std::string message = encode_sequence_example(
      {.context = {{"c", std::vector<std::string>{"abc"}}},
       .lists = {{"l", {std::vector<std::int64_t>{1, 2}, std::vector<std::int64_t>{}, std::monostate{}}}}});
  FeatureTable whole, whole_lists;
  EXPECT_EQ(look_at(message, whole, whole_lists), Found::sequence);
  EXPECT_EQ(whole_lists.sorted()[0].second->steps.max, 3);
  EXPECT_EQ(whole_lists.sorted()[0].second->kindless_steps, 1);
  for (std::size_t i = 0; i < message.size(); ++i) {
    FeatureTable features, lists;
    const Found cut = look_at(message.substr(0, i), features, lists);
    // What is malformed adds nothing.
    EXPECT_TRUE(cut != Found::malformed || (features.empty() && lists.empty()));
    EXPECT_EQ(cut == Found::malformed, !decode_sequence_example(message.substr(0, i)).ok());
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = message;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      FeatureTable other, other_lists;
      const bool good = look_at(changed, other, other_lists) != Found::malformed;
      EXPECT_EQ(good, decode_sequence_example(changed).ok()) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(FeatureTable, HasRoomForSoManyNamesAndCountsTheOthers) {
  FeatureTable table;
  for (std::size_t i = 0; i < FeatureTable::max_features + 10; ++i) table.find_or_add(std::to_string(i));
  EXPECT_EQ(table.find_or_add(std::string(FeatureTable::max_name + 1, 'x')), nullptr);
  EXPECT_EQ(table.sorted().size(), FeatureTable::max_features);
  EXPECT_EQ(table.left_out(), 11);
}

TEST(Printable, ShowsNothingThatATerminalActsOn) {
  EXPECT_EQ(printable("a\x1b[31m\n\x7f\xff"), "a\\x1b[31m\\x0a\\x7f\\xff");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xe2\x80\xae"
                      "b ü"),
            "\\u{009b}31m \\u{202e}b ü");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(visible_json("\"\xc2\x9b\xe2\x80\xae ü\""), "\"\\u009b\\u202e ü\"");
}

/// Files of Examples in which every other record lacks a feature.
class InspectFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int file = 0; file < 5; ++file) {
      std::vector<std::string> records;
      for (std::int64_t i = 0; i < 40; ++i) {
        ExampleMap example{{"id", std::vector<std::int64_t>{file * 40 + i}},
                           {"x", std::vector<float>(static_cast<std::size_t>(i % 4), 0.5F)}};
        if (i % 2 == 0) example["half"] = std::vector<std::string>{"yes"};
        records.push_back(encode_example(example));
      }
      ASSERT_TRUE(write_records(path(file), records).ok());
    }
  }
  [[nodiscard]] std::string path(int file) const { return dir_ / ("part-" + std::to_string(file) + ".tfrecord"); }
  const tests::Folder dir_;
};

TEST_F(InspectFiles, GiveTheSameReportForAnyNumberOfThreads) {
  const std::vector<std::string> files{dir_ / "*.tfrecord"};
  for (const std::optional<std::int64_t> records : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{50}}) {
    const auto one = inspect(files, {.records = records, .threads = 1});
    ASSERT_TRUE(one.ok());
    for (const int threads : {2, 8}) {
      const auto many = inspect(files, {.records = records, .threads = threads});
      ASSERT_TRUE(many.ok());
      EXPECT_EQ(many->report.text(), one->report.text());
      EXPECT_EQ(many->document.text(), one->document.text());
    }
    EXPECT_EQ(one->report.find("records")->integer(), records ? 50 : 200);
  }
}

TEST_F(InspectFiles, ProposeADefaultForWhatIsMissingAndVarLenForWhatVaries) {
  const auto found = inspect({path(0)}, {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->document.find("decode")->text(),
            R"({"example":{"features":{"half":{"dtype":"string","default":""},"id":{"dtype":"int64"},)"
            R"("x":{"kind":"var_len","dtype":"float32"}}}})");
}

TEST_F(InspectFiles, ACorruptRecordIsAnErrorWithItsPlaceTheFirstOneOfAllFiles) {
  for (const int file : {4, 1}) {
    std::fstream bytes{path(file), std::ios::in | std::ios::out | std::ios::binary};
    bytes.seekp(-3, std::ios::end);
    bytes.put('!');
  }
  const auto found = inspect({dir_ / "*.tfrecord"}, {.records = std::nullopt});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), Code::data);
  EXPECT_EQ(found.error().place().file, path(1));
  EXPECT_EQ(found.error().place().record, 39);
}

TEST_F(InspectFiles, AStopEndsTheWork) {
  const auto found = inspect({dir_ / "*.tfrecord"}, {.go_on = [] { return false; }});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), Code::cancelled);
}

}  // namespace
}  // namespace forebay::tools
