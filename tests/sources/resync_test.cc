// SPDX-License-Identifier: Apache-2.0
#include "sources/resync.h"

#include <gtest/gtest.h>

#include "sources/framing.h"
#include "tests/sources/frames.h"

namespace forebay {

static bool operator==(const Resync& a, const Resync& b) {
  return a.at == b.at && a.found == b.found && a.wanted == b.wanted;
}
static std::ostream& operator<<(std::ostream& out, const Resync& resync) {
  return out << "at " << resync.at << (resync.found ? " found" : "") << " wanted " << resync.wanted;
}

namespace sources {
namespace {

using tests::bytes_of;
using tests::framed;
using tests::header;

struct Asked {
  std::size_t from = 0;
  bool last = true;
  std::int64_t max = 1000;
};

Resync resync(const std::string& bytes, Asked asked = {}) {
  std::shared_ptr<void> kept;
  return tfrecord_format({.max_record_bytes = asked.max})->resync(bytes_of(bytes), 0, asked.from, asked.last, kept);
}

Resync found(std::size_t at) { return {.at = at, .found = true}; }

TEST(Resync, IsTheFirstPlaceWhereBothChecksumsHold) {
  const std::string bytes = "some corrupt bytes" + framed("one") + framed("two");
  EXPECT_EQ(resync(bytes), found(18));
  EXPECT_EQ(resync(bytes, {.from = 18}), found(18));
  EXPECT_EQ(resync(bytes, {.from = 19}), found(37));
  EXPECT_EQ(resync(bytes, {.from = 38}), (Resync{.at = bytes.size()}));
}

TEST(Resync, AWrongPayloadIsNoPlaceToGoOn) {
  std::string bytes = framed("one") + framed("two");
  bytes[13] = 'x';
  EXPECT_EQ(resync(bytes), found(19));
}

TEST(Resync, ALengthAboveTheLimitIsNoPlaceToGoOn) {
  const std::string bytes = framed(std::string(500, 'x')) + framed("two");
  EXPECT_EQ(resync(bytes, {.max = 500}), found(0));
  EXPECT_EQ(resync(bytes, {.max = 499}), found(516));
  EXPECT_EQ(resync(header(std::uint64_t{1} << 63) + framed("two")), found(12));
}

TEST(Resync, WhatIsNotAllThereIsWaitedForUnlessTheFileEnds) {
  const std::string bytes = "??" + framed("one");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    EXPECT_EQ(resync(part), (Resync{.at = size})) << size;
    const std::size_t at = size < 12 ? 0 : std::min<std::size_t>(2, size - 11);
    const std::size_t wanted = size < 14 ? at + 12 : 2 + 19;
    EXPECT_EQ(resync(part, {.last = false}), (Resync{.at = at, .wanted = wanted})) << size;
  }
  EXPECT_EQ(resync(bytes, {.last = false}), found(2));
}

TEST(Resync, AHeaderWithoutItsPayloadHidesNothingBehindIt) {
  EXPECT_EQ(resync(header(900) + framed("one")), found(12));
}

TEST(Resync, BothKernelsFindTheSameHeaders) {
  std::string bytes;
  for (std::uint64_t length : {3, 70, 2000, 0, 40}) bytes += std::string(length % 11, 'x') + header(length);
  for (std::size_t from = 0; from <= bytes.size(); ++from) {
    for (const std::uint64_t max : {std::uint64_t{0}, std::uint64_t{50}, std::uint64_t{1} << 40}) {
      ASSERT_EQ(next_header(bytes_of(bytes), from, max), next_header_scalar(bytes_of(bytes), from, max)) << from;
    }
  }
}

TEST(Resync, OverlappingCandidatesCostOnePassOverTheBytes) {
  // A header every 12 bytes, each with a payload to the end of the file: quadratic when each is looked at by itself.
  std::string bytes(12 * std::size_t{100'000}, '\0');
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 12) bytes.replace(at, 12, header(bytes.size() - at - 16));
  columns::RangeChecksums sums;
  EXPECT_EQ(next_frame(bytes_of(bytes), 0, 0, true, usual_record_bytes, sums), (Resync{.at = bytes.size()}));
  EXPECT_LE(sums.passed(), static_cast<std::int64_t>(bytes.size() * (1 + 2 * columns::RangeChecksums::step / 12)));
}

TEST(Resync, CandidatesOfOneFileShareWhatWasComputed) {
  // The same with a good record after every header: a call of its own finds each.
  std::string bytes;
  constexpr std::size_t pieces = 20'000;
  const std::string good = framed("good");
  for (std::size_t i = 0; i < pieces; ++i) bytes += header((pieces - i) * 32 - 16) + good;
  columns::RangeChecksums sums;
  std::size_t at = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    const Resync next = next_frame(bytes_of(bytes), 0, at, true, usual_record_bytes, sums);
    ASSERT_EQ(next, found(i * 32 + 12));
    at = next.at + good.size();
  }
  EXPECT_LE(sums.passed(), static_cast<std::int64_t>(bytes.size() + pieces * 3 * columns::RangeChecksums::step));
}

}  // namespace
}  // namespace sources
}  // namespace forebay
