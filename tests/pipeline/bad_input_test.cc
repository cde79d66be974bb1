// SPDX-License-Identifier: Apache-2.0
// Whole runs over bad records and files: each fails with its code, in time, and without allocating the memory that the
// input claims to need. docs/bad-inputs.md names the rows that are shown here.
#include <chrono>
#include <fstream>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"
#include "tests/io/compressed.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using tests::compress;
using tests::framed;
using tests::gzip_window;
using tests::header;
using tests::zlib_window;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

constexpr std::int64_t budget = 32 << 20;

/// One bad input of a row of the list, and what a run over it must end with.
struct Bad {
  int row;
  std::string what;
  std::string bytes;
  Code code;
  Detail detail;
  std::string says;
  std::string decode = R"({"record": {"name": "v"}})";
  std::string source = "";  // options of the source
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << "row " << bad.row << ": " << bad.what; }

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return out;
}

std::string features(const std::string& feature, const std::string& decoder = "example") {
  const std::string key = decoder == "example" ? "features" : "lists";
  return R"({")" + decoder + R"(": {")" + key + R"(": {"v": )" + feature + "}}}";
}
std::string message(const std::string& hex) { return framed(unhex(hex)); }
std::string record(const ExampleMap& example) { return framed(encode_example(example)); }

const std::string one_int = R"({"dtype": "int64", "shape": []})";
const std::string two_raw = R"({"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "little"})";
const std::string sparse = R"({"kind": "sparse", "dtype": "int64", "index_key": "i", "value_key": "v", "size": 5})";
const std::string ragged =
    R"({"kind": "ragged", "dtype": "int64", "value_key": "v", "partitions": [["row_splits", "p"]]})";

std::vector<Bad> framing_cases() {
  const std::string good = framed("good");
  std::string length = good + good, payload = good + good;
  length[good.size() + 9] ^= 1;
  payload[good.size() + 13] ^= 1;
  std::vector<Bad> out{
      {1, "length checksum", length, Code::data, Detail::data_loss, "byte 20"},
      {2, "payload checksum", payload, Code::data, Detail::data_loss, "record 1, byte 32"},
      {7, "NUL pages behind", good + std::string(4096, '\0'), Code::data, Detail::data_loss, "byte 20"}};
  for (const std::uint64_t claim : {std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 3,
                                    std::uint64_t{1} << 63, std::uint64_t{1} << 32})
    out.push_back({claim == std::uint64_t{1} << 40 ? 3 : 4, "length " + std::to_string(claim),
                   good + header(claim) + std::string(1000, 'x'), Code::data, Detail::data_loss, "record too large"});
  for (std::size_t size = 1; size < 16; ++size)
    out.push_back({7, std::to_string(size) + " bytes behind", good + std::string(size, 'x'), Code::data,
                   Detail::data_loss, "byte 20"});
  return out;
}

std::vector<Bad> packing_cases() {
  const std::string good = framed("good");
  const std::string gzip = compress(good, gzip_window), zlib = compress(good, zlib_window);
  std::string crc = gzip, size = gzip;
  crc[crc.size() - 8] ^= 1;
  size[size.size() - 1] ^= 1;
  const std::string zstd = tests::compress_zstd(good);
  std::string sum = zstd;
  sum.back() ^= 1;
  const std::string claim = header((std::uint64_t{1} << 30) - 1) + std::string(100'000'000, '\0');
  std::string many;
  for (int i = 0; i < 2000; ++i) many += framed(std::string(1000, 'x'));
  const std::string none = R"(, "compression": "none")", as_gzip = R"(, "compression": "gzip")";
  return {
      {11, "gzip read as plain", gzip, Code::data, Detail::none, "gzip", R"({"record": {"name": "v"}})", none},
      {11, "zlib read as plain", zlib, Code::data, Detail::none, "zlib", R"({"record": {"name": "v"}})", none},
      {11, "plain read as gzip", good, Code::data, Detail::none, "not gzip", R"({"record": {"name": "v"}})", as_gzip},
      {12, "junk behind gzip", gzip + "junk", Code::data, Detail::data_loss, ""},
      {12, "wrong CRC", crc, Code::data, Detail::data_loss, "checksum"},
      {12, "wrong size", size, Code::data, Detail::data_loss, "size"},
      {12, "cut gzip", gzip.substr(0, gzip.size() - 3), Code::data, Detail::data_loss, "truncated"},
      {13, "bomb of zeros", compress(std::string(100'000'000, '\0'), gzip_window), Code::data, Detail::data_loss, ""},
      {13, "bomb of one record", compress(claim, gzip_window), Code::data, Detail::resource_exhausted, "memory"},
      {13, "bomb of good records", compress(many, gzip_window), Code::data, Detail::resource_exhausted,
       "more than 1000000 bytes of content, which is max_decompressed_bytes", R"({"record": {"name": "v"}})",
       R"(, "max_decompressed_bytes": 1000000)"},
      {13, "bomb of good records in zlib", compress(many, zlib_window), Code::data, Detail::resource_exhausted,
       "max_decompressed_bytes", R"({"record": {"name": "v"}})", R"(, "max_decompressed_bytes": 20000)"},
      {14, "preset dictionary", compress(good, zlib_window, 6, "good"), Code::data, Detail::none, "dictionary"},
      {15, "zstd", unhex("28b52ffd") + std::string(100, 'x'), Code::data, Detail::none, "zstd"},
      {15, "cut zstd", zstd.substr(0, zstd.size() - 3), Code::data, Detail::data_loss, "truncated zstd data"},
      {15, "wrong checksum of zstd", sum, Code::data, Detail::data_loss, "wrong checksum"},
      {15, "junk behind zstd", zstd + "junk", Code::data, Detail::data_loss, "trailing bytes"},
      {15, "window of 256 MiB", unhex("28b52ffd0090") + std::string(100, 'x'), Code::data, Detail::resource_exhausted,
       "a window of more than 134217728 bytes"},
      {15, "zstd that needs a dictionary", unhex("28b52ffd21050421000078787878"), Code::data, Detail::none,
       "dictionary"},
      {16, "gzip in gzip", compress(gzip, gzip_window), Code::data, Detail::none, ""}};
}

std::vector<Bad> message_cases() {
  const auto loss = [](int row, std::string what, std::string bytes, std::string decode) {
    return Bad{row, std::move(what), std::move(bytes), Code::data, Detail::data_loss, "record 0", std::move(decode)};
  };
  const std::string deep(1'000'000, '\x7b');
  return {
      loss(17, "varint of 11 bytes", message("0a1e0a1c0a017612171a150a13ffffffffffffffffffffffffffffffffffff01"),
           features(one_int)),
      loss(17, "varint without end", message("0a0c0a0a0a017612051a030a0180"), features(one_int)),
      loss(18, "length past the end", message("0a0d0a0a0a017612051a030a0101"), features(one_int)),
      loss(18, "length -1", message("0affffffffffffffffff01"), features(one_int)),
      loss(19, "a million groups", framed(deep), features(one_int)),
      loss(20, "field 0", message("0000"), features(one_int)),
      loss(20, "wire type 6", message("0e00"), features(one_int)),
      loss(20, "wire type 7", message("0f00"), features(one_int)),
      loss(23, "floats of 3 bytes",
           message("0a0e0a0c0a017612071205"
                   "0a03010203"),
           features(R"({"kind": "var_len", "dtype": "float32"})")),
      loss(24, "2^31 values in a byte", message("0a100a0e0a017612091a070a808080800801"),
           features(R"({"kind": "var_len", "dtype": "int64"})")),
  };
}

std::vector<Bad> value_cases() {
  const auto of = [](int row, std::string what, std::string bytes, Detail detail, std::string says,
                     std::string decode) {
    return Bad{row, std::move(what), std::move(bytes), Code::data, detail, std::move(says), std::move(decode)};
  };
  constexpr Detail invalid = Detail::invalid_argument, loss = Detail::data_loss;
  std::vector<Bad> out{
      of(25, "float for int", record({{"v", Floats{1}}}), invalid, "expected a list of int64, found a list of float",
         features(one_int)),
      of(25, "bytes for int", record({{"v", Strings{"1"}}}), invalid, "expected a list of int64", features(one_int)),
      of(26, "too few values", record({{"v", Ints{}}}), loss, "'v'", features(one_int)),
      of(26, "too many values", record({{"v", Ints{1, 2}}}), loss, "'v'", features(one_int)),
      of(30, "raw bytes that do not fit", record({{"v", Strings{"abc"}}}), loss, "expected 4 bytes for 2 uint16",
         features(two_raw)),
      of(30, "no raw bytes", record({{"v", Strings{""}}}), loss, "expected 4 bytes for 2 uint16", features(two_raw)),
      of(30, "two byte strings for one", record({{"v", Strings{"abcd", "abcd"}}}), loss, "expected 1 byte string",
         features(two_raw)),
      of(32, "more indices", record({{"i", Ints{1, 2}}, {"v", Ints{1}}}), invalid, "2 indices for 1 values",
         features(sparse))};
  for (const std::int64_t index : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 62})
    out.push_back(of(32, "index " + std::to_string(index), record({{"i", Ints{index}}, {"v", Ints{1}}}), invalid,
                     "is outside of axis 0, whose size is 5", features(sparse)));
  for (const Ints& splits : {Ints{}, Ints{1, 2}, Ints{0, 2, 1, 2}, Ints{0, 1}, Ints{0, 3}})
    out.push_back(of(33, std::to_string(splits.size()) + " splits", record({{"v", Ints{3, 1}}, {"p", splits}}), invalid,
                     "does not fit the 2 values", features(ragged)));
  return out;
}

std::vector<Bad> all_cases() {
  std::vector<Bad> out;
  for (const auto& cases : {framing_cases(), packing_cases(), message_cases(), value_cases()})
    out.insert(out.end(), cases.begin(), cases.end());
  return out;
}

/// The most memory that this process ever had, in bytes.
std::int64_t peak_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) << 10;
  return 0;
}

Json reading(const Bad& bad, const std::string& path) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path + "\"]" + bad.source + R"(}}, "decode": )" +
                        bad.decode + R"(, "steps": [{"batch": {"size": 1}}]})");
}

TEST(BadInput, OfEveryRowGetsItsCodeInTimeAndWithoutMemoryForWhatItClaims) {
  const Folder folder;
  const std::vector<Bad> cases = all_cases();
  for (const Bad& bad : cases) {
    SCOPED_TRACE(::testing::PrintToString(bad));
    const std::string path = folder.file("bad");
    std::filesystem::remove(path);
    std::ofstream{path, std::ios::binary} << bad.bytes;
    std::ofstream{"/proc/self/clear_refs"} << 5;  // the peak is counted from here on
    const std::int64_t before = peak_bytes();
    const auto since = std::chrono::steady_clock::now();
    auto pipeline = load(reading(bad, path), {.threads = 2, .memory = budget});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    auto batch = pipeline->next();
    while (batch.ok() && *batch) batch = pipeline->next();
    ASSERT_FALSE(batch.ok()) << "a clean end";
    const Error error = batch.error();
    EXPECT_EQ(to_string(error.code()), to_string(bad.code)) << error.text();
    EXPECT_TRUE(bad.detail == Detail::none || error.detail() == bad.detail)
        << to_string(error.detail()) << error.text();
    EXPECT_THAT(error.text(), HasSubstr(path));
    EXPECT_THAT(error.text(), HasSubstr(bad.says));
    EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds{tests::sanitized ? 20 : 2});
    const std::int64_t allowed = budget + (std::int64_t{tests::sanitized ? 1024 : 64} << 20);
    ASSERT_LT(peak_bytes() - before, allowed) << "unbounded";
  }
}

TEST(BadInput, ThatIsCompressedAThousandfoldIsReadUpToItsLimitAndThenAFaultHoweverItIsRead) {
  const Folder folder;
  std::string many;
  for (int i = 0; i < 2000; ++i) many += framed(std::string(1000, 'x'));  // of 1016 bytes each
  std::ofstream{folder.file("bomb"), std::ios::binary} << compress(many, gzip_window);
  const auto read = [&](const std::string& limit, const std::string& order, const std::string& more = "") {
    auto pipeline = load(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("bomb") +
                                        R"("], "max_decompressed_bytes": )" + limit +
                                        R"(}}, "decode": {"record": {"name": "v"}}, "steps": [)" + order +
                                        R"({"batch": {"size": 1}}])" + more + "}"),
                         {.memory = budget});
    std::int64_t rows = 0;
    while (true) {
      const auto batch = pipeline->next();
      if (!batch.ok()) return std::to_string(rows) + " " + std::string{to_string(batch.error().detail())};
      if (!*batch) return std::to_string(rows);
      ++rows;
    }
  };
  const std::string global = R"({"shuffle": {"global": true}}, )";
  EXPECT_EQ(read("2032000", ""), "2000") << "just as much";
  EXPECT_EQ(read("2032000", global), "2000");
  EXPECT_EQ(read("2031999", ""), "1999 resource_exhausted");
  EXPECT_EQ(read("1016", ""), "1 resource_exhausted");
  EXPECT_EQ(read("1", ""), "0 resource_exhausted");
  EXPECT_EQ(read("1000000", global), "0 resource_exhausted") << "when the index is read or made";
  EXPECT_EQ(read("1016000", "", R"(, "on_corrupt": "skip_record")"), "1000") << "what is behind it is left out";
}

// Context and features have the same field number, lists come behind: the one read as the other lacks what is asked
// for.
TEST(BadInput, AMessageOfTheOtherTypeHasNoneOfItsFeatures) {
  const Folder folder;
  const std::string example = encode_example({{"v", Ints{7}}});
  // feature_lists { "v": [ { int64_list { 7 } } ] }
  const std::string lists = unhex(
      "120e"
      "0a0c"
      "0a0176"
      "1207"
      "0a05"
      "1a03"
      "0a0107");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {example, features(R"({"kind": "fixed_len_sequence", "dtype": "int64", "shape": []})", "sequence_example")},
      {lists, features(one_int)}};
  for (const auto& [message, decode] : cases) {
    const std::string path = folder.file("a" + std::to_string(message.size()));
    std::ofstream{path, std::ios::binary} << framed(message);
    auto pipeline = load(reading({29, "", "", Code::data, Detail::none, "", decode}, path), {.memory = budget});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    const auto batch = pipeline->next();
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().code(), Code::data);
    EXPECT_EQ(batch.error().place().feature, "v");
  }
}

TEST(BadInput, FilesOfEmptyRecordsAndWithoutAnyAreValid) {
  const Folder folder;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1'000'000}}) {
    const std::string empty = unhex("000000000000000029039807d8ea82a2");
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += empty;
    const std::string path = folder.file(std::to_string(count));
    std::ofstream{path, std::ios::binary} << bytes;
    auto pipeline = load(testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                        R"("]}}, "decode": {"record": {}}, "steps": [{"batch": {"size": 5000}}]})"),
                         {.threads = 2, .memory = budget});
    std::int64_t rows = 0;
    auto batch = pipeline->next();
    for (; batch.ok() && *batch; batch = pipeline->next()) rows += (*batch)->rows();
    EXPECT_TRUE(batch.ok());
    EXPECT_EQ(rows, static_cast<std::int64_t>(count));
  }
}

TEST(BadInput, ShapesAndRawOptionsThatCannotBeAreFaultsOfTheDocument) {
  for (const char* const feature :
       {R"({"dtype": "int64", "shape": [8589934592, 8589934592]})", R"({"dtype": "int64", "shape": [-2]})",
        R"({"dtype": "int64", "shape": [-9223372036854775808]})", R"({"kind": "raw", "dtype": "uint16", "shape": [2]})",
        R"({"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "middle"})",
        R"({"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "big", "len": 0})",
        R"({"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "big", "len": -1})",
        R"({"kind": "raw", "dtype": "float64", "shape": [2], "endian": "big", "fixed_length": 3})"}) {
    const auto plan = Plan::make(reading({26, "", "", Code::config, Detail::none, "", features(feature)}, "/nowhere"));
    ASSERT_FALSE(plan.ok()) << feature;
    EXPECT_EQ(plan.error().code(), Code::config) << feature;
    EXPECT_THAT(plan.error().text(), HasSubstr("/decode/example/features/v")) << feature;
  }
}

}  // namespace
}  // namespace forebay
