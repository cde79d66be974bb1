// SPDX-License-Identifier: Apache-2.0
#include <forebay/records.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/frame.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::compress;
using tests::gzip_window;
using tests::zlib_window;
using Records = std::vector<std::string>;

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return out;
}

std::string written(const Records& records, Compression compression = Compression::none) {
  const tests::Folder folder;
  EXPECT_TRUE(write_records(folder / "a", records, compression).ok());
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  return tests::read_text(folder / "a");
}

Result<Records> read(const std::string& bytes, Compression compression = Compression::automatic) {
  const tests::Folder folder;
  return read_records(folder.write("a", bytes), compression);
}

Error fault(const std::string& bytes, Compression compression = Compression::automatic) {
  const auto result = read(bytes, compression);
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{Code::internal, "no fault"} : result.error();
}

TEST(WriteRecords, BytesAreThoseOfTheContainer) {
  EXPECT_EQ(written({}), "");
  EXPECT_EQ(written({""}), unhex("000000000000000029039807d8ea82a2"));
  EXPECT_EQ(written({"abc", "123"}),
            unhex("0300000000000000b099490e6162636e57f1210300000000000000b099490e313233ce0be701"));
}

TEST(WriteRecords, EveryCompressionComesBack) {
  Records records = {"", tests::some_text(100'000), std::string(3'000'000, '\0')};
  for (std::size_t i = 0; i < 1000; ++i) records.push_back(tests::some_text(i, i));
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const std::string bytes = written(records, compression);
    EXPECT_EQ(*read(bytes), records);
    EXPECT_EQ(*read(bytes, compression), records);
    EXPECT_EQ(*read(written({}, compression), compression), Records{});
  }
}

TEST(WriteRecords, AFailureLeavesTheOldFile) {
  const tests::Folder folder;
  folder.write("a", "old");
  EXPECT_EQ(write_records(folder / "a", {"x"}, Compression::automatic).error().code(), Code::config);
  EXPECT_EQ(write_records(folder / "no/a", {"x"}).error().detail(), Detail::not_found);
  EXPECT_EQ(tests::read_text(folder / "a"), "old");
}

TEST(ReadRecords, FaultsSayFileRecordAndOffset) {
  const tests::Folder folder;
  std::string bytes = written({"abc", "123", "xyz"});
  bytes[19 + 12] = '!';
  const std::string path = folder.write("a", bytes);
  const Error error = read_records(path).error();
  EXPECT_EQ(error.code(), Code::data);
  EXPECT_EQ(error.detail(), Detail::data_loss);
  EXPECT_THAT(error.text(), HasSubstr(path + ", record 1, byte 31: corrupted record: payload checksum"));
  EXPECT_EQ(read_records(folder / "no").error().detail(), Detail::not_found);
}

TEST(ReadRecords, AFileCutInsideAHeaderIsTruncated) {
  EXPECT_THAT(fault(written({"abc"}).substr(0, 14)).message(), HasSubstr("truncated record"));
  const Error error = fault(written({"abc"}).substr(0, 5));
  EXPECT_THAT(error.message(), HasSubstr("truncated record"));
  EXPECT_EQ(error.place().offset, 0);
  EXPECT_EQ(*read(""), Records{});
}

TEST(ReadRecords, AHugeLengthWithAGoodChecksumTakesNoMemory) {
  const std::uint64_t length = std::uint64_t{1} << 40;
  std::string header(12, '\0');
  const std::uint32_t checksum = sources::length_checksum(length);
  std::memcpy(header.data(), &length, 8);
  std::memcpy(header.data() + 8, &checksum, 4);
  EXPECT_THAT(fault(header + std::string(1000, 'x')).message(), HasSubstr("record too large"));
}

TEST(ReadRecords, MembersMaySplitARecord) {
  const std::string bytes = written({"abc", "123"});
  for (const int window : {gzip_window, zlib_window}) {
    const std::string compressed =
        compress(bytes.substr(0, 17), window) + compress("", window) + compress(bytes.substr(17), window);
    EXPECT_EQ(*read(compressed), (Records{"abc", "123"}));
  }
}

TEST(ReadRecords, ACutCompressedFileIsAFaultAtTheRecordItReached) {
  const std::string bytes = written({"abc", "123"});
  for (const int window : {gzip_window, zlib_window}) {
    const std::string compressed = compress(bytes, window);
    const Error error = fault(compressed.substr(0, compressed.size() - 2));
    EXPECT_THAT(error.message(), HasSubstr("truncated"));
    EXPECT_EQ(error.place().offset, 38);
  }
}

TEST(ReadRecords, TheWrongCompressionIsNamed) {
  const std::string plain = written({"abc"});
  EXPECT_THAT(fault(compress(plain, gzip_window), Compression::none).message(), HasSubstr("looks like gzip data"));
  EXPECT_THAT(fault(compress(plain, zlib_window), Compression::none).message(), HasSubstr("looks like zlib data"));
  EXPECT_THAT(fault(plain, Compression::gzip).message(), HasSubstr("not gzip data"));
  EXPECT_THAT(fault(compress(plain, gzip_window), Compression::zlib).message(), HasSubstr("look like gzip"));
}

TEST(ReadRecords, OnlyOneLayerIsTakenOff) {
  EXPECT_EQ(fault(compress(compress(written({"abc"}), gzip_window), gzip_window)).code(), Code::data);
}

}  // namespace
}  // namespace forebay
