// SPDX-License-Identifier: Apache-2.0
// Tests of restart points: inflating from any of them gives the same bytes as reading from the beginning.
#include <array>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/inflate.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/io/inflated.h"
#include "tests/support/noise.h"

namespace forebay::io {
namespace {

using testing::HasSubstr;
using tests::compress;
using tests::noise;
using tests::some_text;

constexpr std::int64_t interval = 50'000;

Inflated resumed(const File& file, Compression compression, const RestartPoint& point, std::size_t piece = 1 << 18) {
  auto inflater = Inflater::resume(compression, point);
  if (!inflater.ok()) return {"", inflater.error().message()};
  return rest_of(*inflater, file, piece);
}

class Restart : public testing::TestWithParam<Packing> {
 protected:
  [[nodiscard]] std::string compressed(const std::string& text, int level = 6) const {
    return compress(text, GetParam().window, level);
  }
  File file_of(const std::string& bytes) { return *File::open(folder_.write("compressed", bytes)); }
  [[nodiscard]] std::vector<RestartPoint> points_of(const File& file, const Inflated& expected,
                                                    std::size_t piece = 1 << 18, std::int64_t every = interval) const {
    Inflater inflater = *Inflater::make(GetParam().compression);
    inflater.collect(every);
    EXPECT_EQ(rest_of(inflater, file, piece), expected);
    return inflater.take_points();
  }
  /// Resumes everywhere; gives back how many points there were.
  std::size_t check(const std::string& bytes, const std::string& text, std::size_t piece = 1 << 18) {
    const File file = file_of(bytes);
    const auto points = points_of(file, {text, ""}, piece);
    for (const RestartPoint& point : points) {
      EXPECT_EQ(resumed(file, GetParam().compression, point, piece),
                (Inflated{text.substr(static_cast<std::size_t>(point.uncompressed)), ""}))
          << point.compressed << " bit " << int{point.bit} << " content " << point.uncompressed;
    }
    return points.size();
  }

 private:
  tests::Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Inflate, Restart, testing::ValuesIn(packings),
                         [](const auto& one) { return std::string{one.param.name}; });

TEST_P(Restart, EveryPointOfEveryLevelGivesTheRestOfTheContent) {
  const std::string text = some_text(600'000);
  for (int level = 0; level <= 9; ++level) EXPECT_GT(check(compressed(text, level), text), 4U) << level;
}

TEST_P(Restart, APointWithinTheFirstByteOfAFileThatIsEmptyByNowIsRefused) {
  const RestartPoint point{.at = RestartPoint::At::block, .bit = 3, .compressed = 0, .uncompressed = 0, .history = {}};
  const Inflated got = resumed(file_of(""), GetParam().compression, point);
  EXPECT_EQ(got.bytes, "");
  EXPECT_THAT(got.fault, HasSubstr("the restart point lies after the end of the file"));
}

TEST_P(Restart, TheSizeOfTheOutputPiecesDoesNotMatter) {
  const std::string text = some_text(600'000);
  for (const std::size_t piece : {1000, 4096, 32'768, 65'537, 600'001})
    EXPECT_GT(check(compressed(text), text, piece), 3U) << piece;
}

TEST_P(Restart, ContentThatDoesNotPackHasPoints) { EXPECT_GT(check(compressed(noise(600'000)), noise(600'000)), 4U); }

TEST_P(Restart, ContentThatPacksAThousandfoldHasPoints) {
  const std::string text(20'000'000, 'x');
  EXPECT_GT(check(compressed(text), text, 1 << 20), 2U);
}

TEST_P(Restart, MixedContentHasPoints) {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) text += noise(100'000) + some_text(200'000, i) + std::string(500'000, 'z');
  EXPECT_GT(check(compressed(text), text), 6U);
}

TEST_P(Restart, PointsLieInEveryOneOfSeveralStreams) {
  std::string text;
  std::string bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    text += some_text(200'000, i);
    bytes += compressed(some_text(200'000, i), 1 + static_cast<int>(i)) + compressed("");
  }
  EXPECT_GT(check(bytes, text), 5U);
}

TEST_P(Restart, ManySmallStreamsHaveAPointOnlyEveryInterval) {
  std::string text;
  std::string bytes;
  for (std::size_t i = 0; i < 5000; ++i) {
    text += some_text(100, i);
    bytes += compressed(some_text(100, i));
  }
  EXPECT_EQ(check(bytes, text), 10U);
}

TEST_P(Restart, TheFirstPointIsTheBeginning) {
  const File file = file_of(compressed("short"));
  EXPECT_EQ(points_of(file, {"short", ""}), (std::vector<RestartPoint>{RestartPoint{}}));
  EXPECT_EQ(points_of(file_of(""), {"", ""}), (std::vector<RestartPoint>{}));
}

TEST_P(Restart, AResumedReadFindsThePointsOfTheStreamsAfterTheOneThatItEnters) {
  const std::string text = some_text(1'000'000);
  const File file = file_of(compressed(text) + compressed(text));
  const auto points = points_of(file, {text + text, ""});
  ASSERT_EQ(points[4].at, RestartPoint::At::block);
  Inflater inflater = *Inflater::resume(GetParam().compression, points[4]);
  inflater.collect(interval);
  EXPECT_EQ(rest_of(inflater, file).fault, "");
  const auto found = inflater.take_points();
  EXPECT_GE(found.size(), 10U);
  for (const RestartPoint& point : found) {
    EXPECT_GE(point.uncompressed, std::ssize(text));
    EXPECT_EQ(resumed(file, GetParam().compression, point).bytes,
              (text + text).substr(static_cast<std::size_t>(point.uncompressed)));
  }
}

TEST_P(Restart, BlocksThatBeginAtEachBitOfAByteAreEntered) {
  std::array<int, 8> found{};
  const std::string text = some_text(4'000'000);
  const File file = file_of(compressed(text, 2));
  for (const RestartPoint& point : points_of(file, {text, ""}, 1 << 18, 10'000)) {
    ++found[point.bit];
    Inflater inflater = *Inflater::resume(GetParam().compression, point);
    std::vector<std::byte> some(static_cast<std::size_t>(std::ssize(text) - point.uncompressed));
    ASSERT_EQ(*inflater.read(file, some), some.size());
    EXPECT_EQ(std::memcmp(some.data(), text.data() + point.uncompressed, some.size()), 0) << int{point.bit};
  }
  EXPECT_THAT(found, testing::Each(testing::Gt(0)));
}

TEST_P(Restart, AStreamWithoutContentThatIsLongIsPassedInPauses) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += compressed("");
  const File file = file_of(bytes + compressed("end"));
  Inflater inflater = *Inflater::make(GetParam().compression);
  std::vector<std::byte> out(10);
  int pauses = 0;
  auto got = inflater.read(file, out);
  for (; got.ok() && *got == 0 && !inflater.ended(); got = inflater.read(file, out)) ++pauses;
  EXPECT_EQ(*got, 3U);
  EXPECT_GT(pauses, 5);
}

TEST_P(Restart, TheTrailerOfTheStreamEnteredInItsMiddleIsSkippedAndLaterOnesAreVerified) {
  const std::string text = some_text(200'000);
  const std::string one = compressed(text);
  const File whole = file_of(one + one);
  const RestartPoint middle = points_of(whole, {text + text, ""})[1];
  ASSERT_EQ(middle.at, RestartPoint::At::block);
  std::string broken = one + one;
  broken[one.size() - 1] = static_cast<char>(broken[one.size() - 1] ^ 1);
  const std::string rest = (text + text).substr(static_cast<std::size_t>(middle.uncompressed));
  EXPECT_EQ(resumed(file_of(broken), GetParam().compression, middle), (Inflated{rest, ""}));
  broken.back() = static_cast<char>(broken.back() ^ 1);
  const Inflated later = resumed(file_of(broken), GetParam().compression, middle);
  EXPECT_THAT(later.fault, HasSubstr("wrong checksum"));
}

TEST_P(Restart, EveryCutBehindAPointIsAFault) {
  const std::string text = some_text(120'000);
  const std::string bytes = compressed(text) + compressed("end");
  const RestartPoint point = points_of(file_of(bytes), {text + "end", ""})[1];
  const std::size_t border = compressed(text).size();
  for (std::size_t size = border - 40; size < bytes.size(); ++size) {
    EXPECT_EQ(resumed(file_of(bytes.substr(0, size)), GetParam().compression, point).fault.empty(), size == border)
        << size;
  }
  EXPECT_NE(resumed(file_of(bytes.substr(0, static_cast<std::size_t>(point.compressed))), GetParam().compression, point)
                .fault,
            "");
  EXPECT_NE(resumed(file_of(""), GetParam().compression, point).fault, "");
}

TEST_P(Restart, WhatNoPointCanBeIsRefused) {
  using At = RestartPoint::At;
  for (const RestartPoint& point :
       {RestartPoint{.at = At::block, .bit = 8}, RestartPoint{.compressed = -1}, RestartPoint{.uncompressed = -1},
        RestartPoint{.compressed = std::numeric_limits<std::int64_t>::max()},
        RestartPoint{.uncompressed = std::numeric_limits<std::int64_t>::max()},
        RestartPoint{.at = At::block, .history = std::vector<std::byte>(history_bytes + 1)},
        RestartPoint{.at = At::stream, .bit = 1},
        RestartPoint{.at = At::stream, .history = std::vector<std::byte>(1)}}) {
    const auto inflater = Inflater::resume(GetParam().compression, point);
    ASSERT_FALSE(inflater.ok());
    EXPECT_EQ(inflater.error().code(), Code::data);
  }
  EXPECT_FALSE(Inflater::resume(Compression::none, {}).ok());
}

TEST_P(Restart, ACorruptPointGivesWrongBytesOrAFaultAndEnds) {
  const std::string text = some_text(400'000);
  const std::string bytes = compressed(text) + compressed(noise(100'000), 0);
  const File file = file_of(bytes);
  const auto points = points_of(file, {text + noise(100'000), ""});
  std::uint64_t x = 99;
  const auto draw = [&](std::uint64_t below) {
    return ((x = x * 6364136223846793005U + 1442695040888963407U) >> 33) % below;
  };
  for (int round = 0; round < 600; ++round) {
    RestartPoint point = points[draw(1000) % points.size()];
    point.at = RestartPoint::At::block;
    switch (draw(1000) % 4) {
      case 0:
        point.history.resize(draw(100'000) % (history_bytes + 1));
        break;
      case 1:
        for (std::byte& byte : point.history) byte = static_cast<std::byte>(draw(256));
        break;
      case 2:
        point.compressed = static_cast<std::int64_t>(draw(1'000'000) % (bytes.size() + 100));
        break;
      default:
        point.bit = static_cast<std::uint8_t>(draw(1000) % 8);
    }
    const Inflated read = resumed(file, GetParam().compression, point);
    EXPECT_NE(read.fault, "it does not end");
  }
}

TEST_P(Restart, CollectingStopsAtAFaultLikeAStraightRead) {
  const std::string text = some_text(500'000);
  std::string bytes = compressed(text);
  for (std::size_t at = 1000; at < bytes.size(); at += 29'989) {
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 0x10);
    const File file = file_of(broken);
    Inflater straight = *Inflater::make(GetParam().compression);
    const Inflated expected = rest_of(straight, file);
    Inflater collecting = *Inflater::make(GetParam().compression);
    collecting.collect(interval);
    const Inflated found = rest_of(collecting, file);
    EXPECT_NE(found.fault, "");
    EXPECT_EQ(found.bytes, expected.bytes) << at;
  }
}

}  // namespace
}  // namespace forebay::io
