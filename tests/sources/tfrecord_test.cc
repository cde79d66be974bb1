// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/tfrecord.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/detect.h"
#include "sources/frame.h"
#include "sources/framing.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/sources/frames.h"

namespace forebay::sources {
SourceType tfrecord();

namespace {

using testing::HasSubstr;
using tests::bytes_of;
using tests::framed;
using tests::header;

/// What a scan found and how it ended.
struct Found {
  std::vector<std::string> records;
  std::size_t consumed = 0;
  std::size_t wanted = 0;
  std::string fault = {};
  std::int64_t fault_at = -1;
  bool operator==(const Found&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Found& found) {
  return out << testing::PrintToString(found.records) << " consumed " << found.consumed << " wanted " << found.wanted
             << " fault '" << found.fault << "' at " << found.fault_at;
}

struct How {
  bool partial = false;
  bool zeros = false;
  bool last = true;
  std::size_t limit = SIZE_MAX;
  std::int64_t offset = 0;
  std::int64_t max = usual_record_bytes;
};

Found scan(const std::string& bytes, How how = {}) {
  const auto format = tfrecord_format(
      {.max_record_bytes = how.max, .tolerate_partial_header = how.partial, .allow_trailing_zeros = how.zeros});
  std::vector<Extent> extents;
  const auto scanned = format->scan(bytes_of(bytes), how.offset, how.last, how.limit, extents);
  Found found;
  for (const Extent& extent : extents) {
    const Record record = bytes_of(bytes).subspan(extent.offset, extent.length);
    const auto verified = format->verify({&record, 1});
    if (!verified.ok()) {
      found.fault = verified.error().message();
      found.fault_at = how.offset + extent.offset;
      return found;
    }
    found.records.push_back(bytes.substr(extent.offset, extent.length));
  }
  if (scanned.ok()) {
    found.consumed = scanned->consumed;
    found.wanted = scanned->wanted;
  } else {
    EXPECT_EQ(scanned.error().code(), Code::data);
    found.fault = scanned.error().message();
    const bool other_kind = found.fault.starts_with("not a TFRecord file");
    EXPECT_EQ(scanned.error().detail(), other_kind ? Detail::invalid_argument : Detail::data_loss);
    found.fault_at = scanned.error().place().offset;
  }
  return found;
}

const std::vector<std::string> three = {"abc", "", std::string(300, 'x')};

TEST(TfRecord, AllRecordsOfAFileAreFound) {
  EXPECT_EQ(scan(framed(three)), (Found{three, 19 + 16 + 316}));
  EXPECT_EQ(scan(""), (Found{}));
  EXPECT_EQ(scan(framed("")), (Found{{""}, 16}));
}

TEST(TfRecord, AMillionEmptyRecordsAreAMillionRecords) {
  std::string bytes;
  const std::string one = framed("");
  for (int i = 0; i < 1'000'000; ++i) bytes += one;
  EXPECT_EQ(scan(bytes).records.size(), 1'000'000U);
}

TEST(TfRecord, ScanningStopsBehindTheRecordThatReachesTheLimit) {
  const std::string bytes = framed(three);
  EXPECT_EQ(scan(bytes, {.limit = 1}), (Found{{"abc"}, 19}));
  EXPECT_EQ(scan(bytes, {.limit = 19}), (Found{{"abc"}, 19}));
  EXPECT_EQ(scan(bytes, {.limit = 20}), (Found{{"abc", ""}, 35}));
  EXPECT_EQ(scan(bytes, {.limit = 0}), (Found{}));
}

TEST(TfRecord, InTheMiddleOfAFileAPartOfAFrameAsksForTheRest) {
  const std::string bytes = framed(three);
  EXPECT_EQ(scan("", {.last = false}), (Found{{}, 0, 12}));
  EXPECT_EQ(scan(bytes.substr(0, 5), {.last = false}), (Found{{}, 0, 12}));
  EXPECT_EQ(scan(bytes.substr(0, 12), {.last = false}), (Found{{}, 0, 19}));
  EXPECT_EQ(scan(bytes.substr(0, 19), {.last = false}), (Found{{"abc"}, 19, 12}));
  EXPECT_EQ(scan(bytes.substr(0, 60), {.last = false}), (Found{{"abc", ""}, 35, 316}));
}

TEST(TfRecord, EveryPrefixIsWholeRecordsAndThenATruncatedOne) {
  const std::string bytes = framed(three);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Found found = scan(bytes.substr(0, size), {.offset = 1000});
    const std::size_t whole = size < 19 ? 0 : size < 35 ? 1 : 2;
    const std::size_t begin = whole == 0 ? 0 : whole == 1 ? 19 : 35;
    EXPECT_EQ(found.records, std::vector<std::string>(three.begin(), three.begin() + static_cast<int>(whole)));
    if (size == begin) {
      EXPECT_EQ(found.fault, "");
    } else {
      EXPECT_THAT(found.fault, HasSubstr("truncated record"));
      EXPECT_EQ(found.fault_at, 1000 + static_cast<std::int64_t>(begin));
    }
  }
}

TEST(TfRecord, NoFlippedBitGivesAWrongRecord) {
  const std::vector<std::string> records = {tests::some_text(700), "", tests::some_text(900, 2),
                                            tests::some_text(376, 3)};
  const std::string bytes = framed(records);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const Found found = scan(broken);
    ASSERT_NE(found.fault, "") << bit;
    ASSERT_LT(found.records.size(), records.size());
    for (std::size_t i = 0; i < found.records.size(); ++i) ASSERT_EQ(found.records[i], records[i]) << bit;
  }
}

TEST(TfRecord, AWrongLengthChecksumIsAFaultAtTheRecord) {
  std::string bytes = framed(three);
  bytes[19] = 1;
  EXPECT_EQ(scan(bytes, {.offset = 100}), (Found{{"abc"}, 0, 0, "corrupted record: length checksum is wrong", 119}));
}

TEST(TfRecord, AWrongPayloadChecksumIsAFaultAtThePayload) {
  std::string bytes = framed({"abc", "abc"});
  bytes[19 + 12] = 'x';
  const Found found = scan(bytes);
  EXPECT_EQ(found.records, (std::vector<std::string>{"abc"}));
  EXPECT_THAT(found.fault, HasSubstr("payload checksum is 0x21f1576e"));
  EXPECT_EQ(found.fault_at, 31);
}

TEST(TfRecord, AtTheBeginningOfAFileAWrongHeaderAsksWhatTheFileIs) {
  EXPECT_THAT(scan("this is a text file").fault, HasSubstr("is this a TFRecord file?"));
  EXPECT_THAT(scan(tests::compress(framed(three), tests::gzip_window)).fault,
              HasSubstr("looks like gzip data (1f 8b): is its compression right?"));
  EXPECT_THAT(scan(tests::compress(framed(three), tests::zlib_window)).fault, HasSubstr("looks like zlib data"));
  EXPECT_THAT(scan("\x28\xb5\x2f\xfd and so on").fault, HasSubstr("looks like zstd data: is its compression right?"));
  EXPECT_THAT(scan("\x04\x22\x4d\x18 and so on").fault,
              HasSubstr("not a TFRecord file, but lz4 data, which is not read: decompress it, or compress it as gzip"));
}

TEST(TfRecord, LengthsThatCannotBeAreFaultsWithoutWrapping) {
  for (const std::uint64_t length :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 3, ~std::uint64_t{0} - 15, std::uint64_t{1} << 63,
        std::uint64_t{1} << 40, std::uint64_t{1} << 32, (std::uint64_t{1} << 30) + 1}) {
    const std::string bytes = framed("ok") + header(length) + std::string(1000, 'x');
    for (const bool last : {false, true}) {
      const Found found = scan(bytes, {.last = last});
      EXPECT_EQ(found.records, (std::vector<std::string>{"ok"}));
      EXPECT_THAT(found.fault, HasSubstr("record too large: its length says " + std::to_string(length)));
      EXPECT_EQ(found.fault_at, 18);
    }
  }
}

TEST(TfRecord, MaxRecordBytesIsTheLargestRecord) {
  EXPECT_EQ(scan(framed("abc"), {.max = 3}), (Found{{"abc"}, 19}));
  EXPECT_THAT(scan(framed("abc"), {.max = 2}).fault, HasSubstr("max_record_bytes is 2"));
}

TEST(TfRecord, ALengthBeyondTheEndIsATruncatedRecord) {
  EXPECT_THAT(scan(header(5000) + "abc").fault,
              HasSubstr("truncated record: the file ends after 15 of its 5016 bytes"));
}

TEST(TfRecord, AFileInsideARecordStaysInside) {
  const std::string inner = framed(three);
  EXPECT_EQ(scan(framed({inner, inner})).records, (std::vector<std::string>{inner, inner}));
}

TEST(TfRecord, BytesBehindTheLastRecordAreAFault) {
  for (std::size_t size = 1; size < 64; ++size)
    EXPECT_NE(scan(framed(three) + std::string(size, '\0')).fault, "") << size;
}

TEST(TfRecord, APartOfAHeaderAtTheEndIsTheEndOnlyWhereItIsTolerated) {
  for (std::size_t size = 1; size < 12; ++size) {
    const std::string bytes = framed("abc") + header(5).substr(0, size);
    EXPECT_NE(scan(bytes).fault, "") << size;
    EXPECT_EQ(scan(bytes, {.partial = true}), (Found{{"abc"}, bytes.size()})) << size;
    EXPECT_EQ(scan(bytes, {.partial = true, .last = false}), (Found{{"abc"}, 19, 12})) << size;
  }
  EXPECT_THAT(scan(framed("abc") + header(5), {.partial = true}).fault, HasSubstr("truncated record"));
}

TEST(TfRecord, ZerosAreAFaultThatMayBePaddingOnlyWhereTheyAreAllowed) {
  for (const std::size_t size : {1, 11, 12, 15, 16, 63, 4096}) {
    const std::string zeros(size, '\0');
    const Found found = scan(framed("abc") + zeros);
    EXPECT_EQ(found.records, (std::vector<std::string>{"abc"}));
    EXPECT_NE(found.fault, "") << size;
    EXPECT_EQ(found.fault_at, 19);
    EXPECT_EQ(scan(framed("abc") + zeros, {.zeros = true}), found);
    for (const std::string& behind : {std::string{}, std::string{"x"}, std::string{"x\0", 2}}) {
      EXPECT_EQ(tfrecord_format({.allow_trailing_zeros = true})->padding(bytes_of(zeros + behind)), size);
      EXPECT_EQ(tfrecord_format()->padding(bytes_of(zeros + behind)), 0U);
    }
  }
}

TEST(Detect, TellsCompressedFilesByTheirFirstBytes) {
  const auto detected = [](const std::string& bytes) {
    return detect_tfrecord(bytes_of(bytes).first(std::min<std::size_t>(bytes.size(), 16)));
  };
  EXPECT_EQ(detected(tests::compress(framed(three), tests::gzip_window)), Compression::gzip);
  for (int level = 0; level <= 9; ++level) {
    EXPECT_EQ(detected(tests::compress(framed(three), tests::zlib_window, level)), Compression::zlib);
  }
  EXPECT_EQ(detected(""), Compression::none);
  EXPECT_EQ(detected("x"), Compression::none);
  EXPECT_EQ(detected("text of some length"), Compression::none);
}

TEST(Detect, AGoodRecordHeaderWins) {
  // Lengths whose first two bytes are the magic of gzip and of zlib.
  EXPECT_EQ(detect_tfrecord(bytes_of(header(0x8b1f))), Compression::none);
  EXPECT_EQ(detect_tfrecord(bytes_of(header(0x0178))), Compression::none);
  EXPECT_EQ(detect_tfrecord(bytes_of(header(0x9c78).substr(0, 11))), Compression::zlib);
}

TEST(TfrecordSource, OptionsBecomeASource) {
  const tests::Folder folder;
  folder.write("b-1.tfrecord");
  folder.write("b-0.tfrecord");
  const Json options = *parse_json(R"({"files": ["b-*", "a"], "compression": "gzip"})");
  const Source source = *tfrecord().bind(options, {.folder = folder.path()});
  EXPECT_EQ(source.files, (std::vector<std::string>{folder / "b-0.tfrecord", folder / "b-1.tfrecord", folder / "a"}));
  EXPECT_EQ(source.compression, Compression::gzip);
}

TEST(TfrecordSource, WrongOptionsAreRefused) {
  const auto refused = [](const char* options) {
    const auto result = tfrecord().bind(*parse_json(options), {.folder = "/nowhere"});
    return result.ok() ? std::string{"accepted"} : result.error().text();
  };
  EXPECT_THAT(refused(R"({"files": []})"), HasSubstr("names no file"));
  EXPECT_THAT(refused(R"({"files": ["*.x"]})"), HasSubstr("no file matches '/nowhere/*.x'"));
  EXPECT_THAT(refused(R"({"files": ["x"], "max_record_bytes": 0})"), HasSubstr("max_record_bytes"));
  EXPECT_THAT(refused(R"({"files": ["x"], "max_record_bytes": 4294967296})"), HasSubstr("max_record_bytes"));
  EXPECT_THAT(refused(R"({"files": ["x"], "compression": "zip"})"), HasSubstr("zip"));
}

}  // namespace
}  // namespace forebay::sources
