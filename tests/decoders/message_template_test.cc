// SPDX-License-Identifier: Apache-2.0
// Tests that the fast and the plain path give the same values and the same errors.
#include "tests/decoders/decode.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace forebay::testing {
namespace {

constexpr auto sample = R"({"features": {
  "f": {"dtype": "float32", "shape": [64]}, "one": {"dtype": "int64", "default": -1}, "g": {"dtype": "float32", "default": 0.5},
  "ints": {"dtype": "int64", "shape": [3], "default": [1, 2, 3]}, "small": {"dtype": "int32", "default": 9}, "half": {"dtype": "float64", "shape": [2], "default": [0, 0]},
  "text": {"dtype": "string", "default": ""}, "texts": {"kind": "var_len", "dtype": "string"}, "vf": {"kind": "var_len", "dtype": "float32"},
  "vi": {"kind": "var_len", "dtype": "int64"}, "sq": {"dtype": "int64", "shape": [-1, 2]}, "raw": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "little"},
  "a key that is longer than sixteen bytes": {"dtype": "int64", "default": 0},
  "sp": {"kind": "sparse", "dtype": "float32", "index_key": "i", "value_key": "vf", "size": 400}}})";

/// Messages of the features above, now and then odd or broken.
class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_{seed} {}

  std::string record() {
    std::vector<std::string> entries;
    const std::size_t floats = random_() % 3 == 0 ? below(300) : 4;
    add(entries, "f", 2, std::string(odd() ? 250 : 256, '\x01'));
    add(entries, "one", 3, varint(below(100000)));
    add(entries, "g", 2, "abcd");
    add(entries, "ints", 3, varint(below(10)) + varint(below(1000)) + varint(~std::uint64_t{0}));
    add(entries, "small", 3, varint(below(1 << 20)));
    add(entries, "half", 2, "abcdefgh");
    add(entries, "text", 1, std::string(below(200), 'x'));
    add(entries, "texts", 1, "abc");
    add(entries, "vf", 2, std::string(4 * floats, '\x02'));
    std::string indices;
    for (std::size_t i = 0; i < floats; ++i) indices += varint((i * 7) % 400);
    add(entries, "i", 3, indices);
    add(entries, "vi", 3, ints());
    add(entries, "sq", 3, varint(1) + varint(2));
    add(entries, "raw", 1, "abcd");
    add(entries, "a key that is longer than sixteen bytes", 3, varint(below(300)));
    add(entries, "unwanted", 1, std::string(below(300), 'u'));
    if (odd()) std::shuffle(entries.begin(), entries.end(), random_);
    if (odd()) entries.push_back(entries[below(entries.size())]);
    std::string all;
    for (const std::string& entry : entries) all += entry;
    std::string message = bytes(1, all);
    if (odd()) message += bytes(1, entries[0]);
    if (odd() && odd()) message.resize(below(message.size()));
    if (odd() && odd()) message[below(message.size())] ^= static_cast<char>(1 << below(8));
    return message;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool odd() { return random_() % 8 == 0; }

  static std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    return out + static_cast<char>(value);
  }
  static std::string bytes(int field, const std::string& what) {
    return static_cast<char>(field * 8 + 2) + varint(what.size()) + what;
  }

  std::string ints() {
    std::string out;
    const std::size_t bits = 1 + below(64);
    for (std::size_t i = below(100); i > 0; --i)
      out += varint(std::uint64_t{random_()} << 32 >> (64 - bits) | random_() % 3);
    return out;
  }

  void add(std::vector<std::string>& entries, const std::string& key, int kind, const std::string& run) {
    if (odd() && key != "f" && key != "raw" && key != "i" && key != "vf") return;
    std::string feature = bytes(odd() && odd() ? 1 + static_cast<int>(below(3)) : kind, bytes(1, run));
    if (odd() && kind == 3) feature = bytes(3, std::string{"\x08", 1} + varint(below(1000)));
    if (odd() && odd()) feature += feature;
    if (odd() && odd()) feature.clear();
    const std::string first = bytes(1, key);
    const std::string second = bytes(2, feature);
    entries.push_back(bytes(1, odd() && odd() ? second + first : first + second));
  }

  std::mt19937 random_;
};

TEST(MessageTemplate, FastAndPlainReadingAgreeWhateverTheProcessorHas) {
  const auto json = parse_json(sample);
  const auto features = json->find("features");
  std::vector<Error> faults;
  const auto map = JsonCodec<FeatureMap>::read(*features, faults);
  ASSERT_TRUE(map.has_value());
  const auto bound = [&](decoders::Path path, decoders::StraightKernel kernel) {
    Bound<Decoder> made;
    auto plan = decoders::plan_features(*map, decoders::Role::example, {}, made.out, faults);
    made.op = std::make_unique<decoders::ExampleDecoder>(std::move(plan), path, kernel);
    return made;
  };
  std::vector<Bound<Decoder>> fast;
  std::vector<std::unique_ptr<DecoderMemory>> memories;
  for (const auto kernel : {decoders::StraightKernel{}, decoders::straight_kernel()})
    fast.push_back(bound(decoders::Path::fast, kernel));
  for (const auto& each : fast) memories.push_back(each.op->memory());
  const auto plain = bound(decoders::Path::plain, nullptr);
  const auto plain_memory = plain.op->memory();
  ASSERT_TRUE(faults.empty()) << faults[0].text();
  Writer writer{17};
  int good = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> messages;
    for (int k = 0; k < 1 + i % 4; ++k) messages.push_back(writer.record());
    const Records records{messages};
    const std::string expected = decode_with(plain, records.all(), *plain_memory);
    good += expected[0] == '{';
    for (std::size_t k = 0; k < fast.size(); ++k)
      ASSERT_EQ(decode_with(fast[k], records.all(), *memories[k]), expected) << i << ", kernel " << k;
  }
  EXPECT_GT(good, 300);
}

TEST(MessageTemplate, LayoutsThatAlternateAreAllRemembered) {
  const std::string ab = bytes_of("0a180a0a0a016112051a030a01010a0a0a016212051a030a0102");
  const std::string ba = bytes_of("0a180a0a0a016212051a030a01030a0a0a016112051a030a0104");
  EXPECT_EQ(decoded(decoders::example(), R"({"features": {"a": {"dtype": "int64"}, "b": {"dtype": "int64"}}})",
                    {ab, ba, ab, ba}),
            R"({"a":[[1,4,1,4]],"b":[[2,3,2,3]]})");
}

}  // namespace
}  // namespace forebay::testing
