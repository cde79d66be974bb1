// SPDX-License-Identifier: Apache-2.0
// The fast path of sequence examples: whole values, and the same results as the path by the rules of protobuf.
#include <cstring>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decoders/lists/sequence_decoder.h"
#include "tests/decoders/decode.h"

namespace forebay::testing {
namespace {

using decoders::Path;
using decoders::SequenceDecoder;
using decoders::SequenceMemory;

Bound<Decoder> sequence_decoder(const std::string& context, const std::string& lists, Path path) {
  std::vector<Error> faults;
  Bound<Decoder> out;
  const auto plan = [&](const std::string& text, decoders::Role role) {
    const auto json = parse_json(text);
    const auto map = JsonCodec<FeatureMap>::read(*json, faults);
    return decoders::plan_features(*map, role, {}, out.out, faults);
  };
  auto first = plan(context, decoders::Role::context);
  auto second = plan(lists, decoders::Role::lists);
  for (const Error& fault : faults) ADD_FAILURE() << fault.text();
  out.op = std::make_unique<SequenceDecoder>(std::move(first), std::move(second), path);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string part(char tag, const std::string& body) { return tag + varint(body.size()) + body; }

std::string floats(const std::vector<float>& values) {
  std::string run(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(run.data(), values.data(), run.size());
  return part('\x12', values.empty() ? "" : part('\x0a', run));
}

std::string ints(const std::vector<std::int64_t>& values) {
  std::string run;
  for (const std::int64_t value : values) run += varint(static_cast<std::uint64_t>(value));
  return part('\x1a', part('\x0a', run));
}

std::string texts(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += part('\x0a', value);
  return part('\x0a', list);
}

std::string entry(const std::string& key, const std::string& value) {
  return part('\x0a', part('\x0a', key) + part('\x12', value));
}

std::string list_of(const std::string& key, const std::vector<std::string>& steps) {
  std::string value;
  for (const std::string& step : steps) value += part('\x0a', step);
  return entry(key, value);
}

std::string sequence(const std::string& context, const std::string& lists) {
  return part('\x0a', context) + part('\x12', lists);
}

/// The columns after the fast path alone has decoded the messages.
std::string fast_values(const std::string& lists, const std::vector<std::string>& messages) {
  const auto decoder = sequence_decoder("{}", lists, Path::fast);
  const Records records{messages};
  const auto memory = decoder.op->memory();
  const std::string out = decode_with(decoder, records.all(), *memory);
  const auto& own = static_cast<const SequenceMemory&>(*memory);
  EXPECT_FALSE(own.rest.has_failed());
  EXPECT_EQ(own.parsed.steps.capacity(), 0U) << "steps have entries of their own";
  return out;
}

TEST(SequenceLists, FloatsOfAnyTypeAndShapeAreReadAtOnce) {
  const std::vector<std::string> one{sequence("", list_of("x", {floats({0.5, 1}), floats({2, -3})})),
                                     sequence("", list_of("x", {})), sequence("", list_of("x", {floats({4, 5})}))};
  EXPECT_EQ(fast_values(R"({"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2]}})", one),
            R"({"x":[[0.5,1.0,2.0,-3.0,4.0,5.0],[0,4,4,6]]})");
  EXPECT_EQ(fast_values(R"({"x": {"kind": "fixed_len_sequence", "dtype": "float64", "shape": [2]}})", one),
            R"({"x":[[0.5,1.0,2.0,-3.0,4.0,5.0],[0,4,4,6]]})");
  EXPECT_EQ(fast_values(
                R"({"x": {"kind": "fixed_len_sequence", "dtype": "int32", "shape": [1, 2], "stored": "float"}})", one),
            R"({"x":[[0,1,2,-3,4,5],[0,4,4,6]]})");
  EXPECT_EQ(fast_values(R"({"x": {"kind": "fixed_len_sequence", "dtype": "float32"}})",
                        {sequence("", list_of("x", {floats({1}), floats({2})}))}),
            R"({"x":[[1.0,2.0],[0,2]]})");
}

TEST(SequenceLists, LongStepsHaveLongHeads) {
  for (const std::size_t values : {29, 30, 31, 32, 33, 4090, 4093, 4096}) {
    std::vector<float> step(values);
    for (std::size_t i = 0; i < values; ++i) step[i] = static_cast<float>(i % 1000);
    const std::string options =
        R"({"x": {"kind": "fixed_len_sequence", "dtype": "uint16", "stored": "float", "shape": [)" +
        std::to_string(values) + "]}}";
    const std::string got = fast_values(options, {sequence("", list_of("x", {floats(step), floats(step)}))});
    std::string row;
    for (std::size_t i = 0; i < 2 * values; ++i) row += (i > 0 ? "," : "") + std::to_string(i % values % 1000);
    EXPECT_EQ(got, R"({"x":[[)" + row + "],[0," + std::to_string(2 * values) + "]]}") << values;
  }
}

TEST(SequenceLists, TheHeadOfAStepIsThatOfTheWriterForEveryNumberOfBytes) {
  for (const std::size_t bytes : {1U, 123U, 124U, 125U, 126U, 127U, 128U, 16'380U, 16'384U, 2'097'140U, 2'097'152U}) {
    const std::string step = part('\x0a', part('\x12', part('\x0a', std::string(bytes, '\x55'))));
    const auto head = decoders::StepHead::of(0x12, bytes);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->size(), step.size() - bytes);
    const auto matches = [&head](const std::string& text) {
      const std::string padded = text + std::string(16, '\x55');
      return head->matches(reinterpret_cast<const std::uint8_t*>(padded.data()));
    };
    EXPECT_TRUE(matches(step)) << bytes;
    for (std::size_t i = 0; i < head->size(); ++i) {
      std::string other = step;
      other[i] = static_cast<char>(other[i] ^ 1);
      EXPECT_FALSE(matches(other)) << bytes << ", byte " << i;
    }
  }
  EXPECT_FALSE(decoders::StepHead::of(0x12, 0));
  EXPECT_FALSE(decoders::StepHead::of(0x12, std::uint64_t{1} << 27));
}

TEST(SequenceLists, IntegersOfAnySizeAreReadAtOnce) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::string> one{sequence("", list_of("i", {ints({7}), ints({-1}), ints({300}), ints({least})}))};
  EXPECT_EQ(fast_values(R"({"i": {"kind": "fixed_len_sequence", "dtype": "int64"}})", one),
            R"({"i":[[7,-1,300,-9223372036854775808],[0,4]]})");
  EXPECT_EQ(fast_values(R"({"i": {"kind": "fixed_len_sequence", "dtype": "int32", "shape": [1]}})", one),
            R"({"i":[[7,-1,300,0],[0,4]]})");
  const std::vector<std::string> three{sequence("", list_of("i", {ints({1, 2, 3}), ints({1 << 20, 5, 6})})),
                                       sequence("", list_of("i", {ints({7, 8, 9})}))};
  EXPECT_EQ(fast_values(R"({"i": {"kind": "fixed_len_sequence", "dtype": "int64", "shape": [3]}})", three),
            R"({"i":[[1,2,3,1048576,5,6,7,8,9],[0,6,9]]})");
  EXPECT_EQ(fast_values(R"({"i": {"kind": "fixed_len_sequence", "dtype": "uint16", "shape": [3]}})", three),
            R"({"i":[[1,2,3,0,5,6,7,8,9],[0,6,9]]})");
}

TEST(SequenceLists, StringsAreAppendedOneStepAfterTheOther) {
  const std::string large(200, 'z');
  EXPECT_EQ(fast_values(R"({"s": {"kind": "fixed_len_sequence", "dtype": "string"}})",
                        {sequence("", list_of("s", {texts({"a"}), texts({""}), texts({large})})),
                         sequence("", list_of("s", {texts({"bc"})}))}),
            R"({"s":[["a","",")" + large + R"(","bc"],[0,3,4]]})");
  EXPECT_EQ(fast_values(R"({"s": {"kind": "fixed_len_sequence", "dtype": "string", "shape": [2]}})",
                        {sequence("", list_of("s", {texts({"a", "b"}), texts({"", large})}))}),
            R"({"s":[["a","b","",")" + large + R"("],[0,4]]})");
}

TEST(SequenceLists, RawStepsComeInEitherByteOrder) {
  const std::vector<std::string> one{
      sequence("", list_of("r", {texts({"\x01\x02\x03\x04"}), texts({"\x05\x06\x07\x08"})}))};
  EXPECT_EQ(fast_values(R"({"r": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "little"}})", one),
            R"({"r":[[513,1027,1541,2055],[0,4]]})");
  EXPECT_EQ(fast_values(R"({"r": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "big"}})", one),
            R"({"r":[[258,772,1286,1800],[0,4]]})");
}

TEST(SequenceLists, StepsOfAnyLengthKeepTheirSplits) {
  const std::vector<std::string> one{sequence("", list_of("f", {floats({1, 2}), floats({}), "", floats({3})}) +
                                                      list_of("i", {ints({}), ints({4, -5})}) +
                                                      list_of("s", {texts({}), texts({"a", ""}), texts({"b"})})),
                                     sequence("", list_of("f", {}) + list_of("i", {ints({6})}) + list_of("s", {""}))};
  EXPECT_EQ(fast_values(R"({"f": {"kind": "var_len", "dtype": "float32"}, "i": {"kind": "ragged", "dtype": "int64"},
                            "s": {"kind": "var_len", "dtype": "string", "as": "sparse"}})",
                        one),
            R"({"f":[[1.0,2.0,3.0],[0,3,3],[[0,2,2,2,3,0],[0,5,6]]],"i":[[4,-5,6],[0,2,3],[[0,0,2,0,1],[0,3,5]]],)"
            R"("s":[["a","","b"],[0,3,3],[[0,0,2,3,0,0],[0,4,6]]]})");
}

TEST(SequenceLists, ListsComeInAnyOrderAndMayBeMissingWhereThatIsAllowed) {
  const std::string options = R"({"a": {"kind": "fixed_len_sequence", "dtype": "int64", "allow_missing": true},
                                  "b": {"kind": "var_len", "dtype": "int64"}})";
  const std::string a = list_of("a", {ints({1})}), b = list_of("b", {ints({2, 3})}), other = list_of("c", {"\x01"});
  EXPECT_EQ(
      fast_values(options, {sequence("", a + other + b), sequence("", b), part('\x12', b + a), "", sequence("", "")}),
      R"({"a":[[1,1],[0,1,1,2,2,2]],"b":[[2,3,2,3,2,3],[0,2,4,6,6,6],[[0,2,0,2,0,2,0,0],[0,2,4,6,7,8]]]})");
}

TEST(SequenceLists, AnyOrderOfKeysFindsTheSameSources) {
  const std::vector<std::string> names{"", "a", "b", "eight888", "nine99999", "sixteen_bytes_ok", "seventeen_bytes_x"};
  std::vector<std::optional<std::string>> wanted;
  for (const std::size_t i : {1U, 3U, 5U, 6U, 0U}) wanted.emplace_back(names[i]);
  const decoders::KeyTable keys{wanted};
  std::mt19937_64 random{3};
  std::vector<std::string> others = names;
  for (const std::string& name : names) others.push_back(name + "z");
  for (const std::string& name : names) others.push_back(name.empty() ? "z" : "z" + name.substr(1));
  decoders::KeyOrder order;
  for (int round = 0; round < 9000; ++round) {
    if (round % 9 == 0) order = {};
    const std::size_t place = random() % 5;
    const std::string padded = others[random() % others.size()];
    const std::string bytes = padded + std::string(64, static_cast<char>(random()));
    const auto* const at = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const columns::Wire key{at, at + padded.size()};
    ASSERT_EQ(order.find(place, key, keys), keys.find(key)) << padded;
    ASSERT_EQ(order.find(place, key, keys), keys.find(key)) << padded << ", again";
  }
}

TEST(SequenceLists, ListsMadeOfSeveralKeysAndRareFormsAreWrittenBesideTheOthers) {
  const auto decoder = sequence_decoder(
      "{}", R"({"r": {"kind": "ragged", "dtype": "int32", "value_key": "v", "partitions": [["row_lengths", "n"]]},
                "x": {"kind": "fixed_len_sequence", "dtype": "int64"}})",
      Path::fast);
  const Records records{{sequence("", list_of("n", {ints({1, 2}), ints({})}) + list_of("x", {ints({8})}) +
                                          list_of("v", {ints({4, 5, 6}), ints({})}))}};
  const auto memory = decoder.op->memory();
  EXPECT_EQ(decode_with(decoder, records.all(), *memory),
            R"({"r":[[4,5,6],[0,3],[[0,2,2],[0,3]],[[0,1,3],[0,3]]],"x":[[8],[0,1]]})");
  EXPECT_FALSE(static_cast<const SequenceMemory&>(*memory).rest.has_failed());
}

/// Random messages in all forms that are legal, and some that are not.
class Messages {
 public:
  explicit Messages(std::uint64_t seed) : random_{seed} {}

  std::string next() {
    std::string context, lists;
    for (const char* key : {"id", "w", "gone"}) {
      if (one_in(6)) continue;
      context += entry(key, feature(key == std::string{"w"} ? 's' : 'i', one_in(60) ? 2 : 1));
    }
    for (const auto& [key, kind, values] : keys) {
      const bool paired = key == std::string{"v"} || key == std::string{"n"};  // as many steps in both
      for (int copies = one_in(paired ? 90 : 5) ? 0 : one_in(90) ? 2 : 1; copies > 0; --copies) {
        std::vector<std::string> steps;
        for (std::uint64_t i = paired ? 2 : random_() % 5; i > 0; --i)
          steps.push_back(feature(one_in(900) ? 'f' : kind, one_in(900) ? values + 1 : values));
        lists += one_in(90) ? part('\x0a', part('\x12', steps.empty() ? "" : steps[0]) + part('\x0a', key))
                            : list_of(key, steps);
      }
    }
    std::string out = sequence(context, lists);
    if (one_in(20)) out += part('\x0a', entry("id", ints({5})));
    if (one_in(20)) out += "\x18\x05";
    if (one_in(8) && !out.empty()) out[random_() % out.size()] = static_cast<char>(random_());
    if (one_in(30)) out.resize(random_() % (out.size() + 1));
    return out;
  }

 private:
  struct Key {
    const char* name;
    char kind;
    std::size_t values;
  };
  static constexpr Key keys[]{{"x", 'f', 2},  {"i", 'i', 1}, {"j", 'i', 3},  {"s", 's', 1},
                              {"t", 's', 2},  {"r", 'r', 1}, {"vf", 'f', 1}, {"vi", 'i', 2},
                              {"vs", 's', 0}, {"v", 'i', 2}, {"n", 'i', 1},  {"no", 'f', 1}};

  bool one_in(std::uint64_t n) { return random_() % n == 0; }

  std::string feature(char kind, std::size_t values) {
    if (one_in(900)) return "";
    if (kind == 'f') {
      std::vector<float> out(values);
      for (float& value : out) value = static_cast<float>(random_() % 100) / 4;
      return one_in(200) ? part('\x12', part('\x0a', std::string(4, 'a')) + part('\x0a', std::string(4, 'b')))
                         : floats(out);
    }
    if (kind == 's' || kind == 'r') {
      std::vector<std::string> out(values);
      for (std::string& value : out)
        value.assign(kind == 's' && random_() % 7 == 0 ? 150 : 4, static_cast<char>('a' + random_() % 20));
      return texts(out);
    }
    std::vector<std::int64_t> out(values);
    for (std::int64_t& value : out)
      value = one_in(9) ? -static_cast<std::int64_t>(random_() % 9) : static_cast<std::int64_t>(random_() % 300);
    return one_in(300) ? part('\x1a', "\x08\x07" + part('\x0a', "\x03")) : ints(out);
  }

  std::mt19937_64 random_;
};

TEST(SequenceLists, BothPathsGiveTheSameColumnsAndTheSameFaults) {
  const std::string context =
      R"({"id": {"dtype": "int64", "default": -1}, "w": {"kind": "var_len", "dtype": "string"}})";
  const std::string lists = R"({
      "x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2], "allow_missing": true},
      "i": {"kind": "fixed_len_sequence", "dtype": "int64", "allow_missing": true},
      "j": {"kind": "fixed_len_sequence", "dtype": "int32", "shape": [3], "allow_missing": true},
      "s": {"kind": "fixed_len_sequence", "dtype": "string", "allow_missing": true},
      "t": {"kind": "fixed_len_sequence", "dtype": "string", "shape": [2], "allow_missing": true},
      "r": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "big", "allow_missing": true},
      "vf": {"kind": "var_len", "dtype": "float32"}, "vi": {"kind": "var_len", "dtype": "int64"},
      "vs": {"kind": "var_len", "dtype": "string"},
      "rag": {"kind": "ragged", "dtype": "int64", "value_key": "v", "partitions": [["row_lengths", "n"]], "validate": false}})";
  const auto fast = sequence_decoder(context, lists, Path::fast);
  const auto plain = sequence_decoder(context, lists, Path::plain);
  const auto warm = fast.op->memory();
  Messages messages{5};
  int good = 0, by_fast_path = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> group{messages.next()};
    while (group.size() < 3 && round % 4 == 0) group.push_back(messages.next());
    const Records records{group};
    const auto fresh = fast.op->memory();
    const std::string expected = decode_with(plain, records.all(), *plain.op->memory());
    ASSERT_EQ(decode_with(fast, records.all(), *fresh), expected) << round;
    ASSERT_EQ(decode_with(fast, records.all(), *warm), expected) << round << ", with a memory that knows other records";
    good += expected.starts_with("{") ? 1 : 0;
    by_fast_path += static_cast<const SequenceMemory&>(*fresh).rest.has_failed() ? 0 : 1;
  }
  EXPECT_GT(good, 1000);
  EXPECT_GT(by_fast_path, 700);
  EXPECT_LT(by_fast_path, good) << "some good records need the other path";
}

TEST(SequenceLists, EveryCutOfAMessageFailsOrIsAWholeMessage) {
  const std::string context = R"({"id": {"dtype": "int64", "default": -1}})";
  const std::string lists =
      R"({"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2], "allow_missing": true},
      "s": {"kind": "var_len", "dtype": "string"}, "i": {"kind": "fixed_len_sequence", "dtype": "int64", "allow_missing": true}})";
  const std::string whole = sequence(entry("id", ints({7})), list_of("x", {floats({1, 2}), floats({3, 4})}) +
                                                                 list_of("s", {texts({"ab", "c"}), texts({})}) +
                                                                 list_of("i", {ints({300}), ints({1})}));
  const auto fast = sequence_decoder(context, lists, Path::fast);
  const auto plain = sequence_decoder(context, lists, Path::plain);
  std::size_t good = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Records records{{whole.substr(0, size)}};
    const std::string expected = decode_with(plain, records.all(), *plain.op->memory());
    EXPECT_EQ(decode_with(fast, records.all(), *fast.op->memory()), expected) << size;
    good += expected.starts_with("{") ? 1 : 0;
  }
  EXPECT_EQ(good, 3U) << "nothing, the context alone, and all";
}

}  // namespace
}  // namespace forebay::testing
