// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/sequence_order.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::orders {
OrderType sequence_order();
}  // namespace forebay::orders

namespace forebay {
namespace {

using testing::drain;
using testing::make_order;
using testing::NumberFiles;
using List = std::vector<std::uint32_t>;
using Attributes = std::vector<std::vector<std::int64_t>>;  // by attribute and sequence

/// Two files with the numbers of the sequences from 0 on, and any attributes. Every other call is interrupted.
class SequenceFiles final : public NumberFiles {
 public:
  SequenceFiles(std::uint32_t count, Attributes attributes)
      : NumberFiles{halves(count)}, first_{count / 3}, attributes_{std::move(attributes)} {}

  Result<void> attributes_of(std::size_t attribute, std::span<const RecordName> names,
                             std::span<std::int64_t> out) override {
    if (++calls_ % 2 == 1) return Error{Code::cancelled, "interrupted"};
    for (std::size_t i = 0; i < names.size(); ++i)
      out[i] = attributes_.at(attribute)[static_cast<std::size_t>(names[i].record) + (names[i].file == 0 ? 0 : first_)];
    return {};
  }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override {
    charges.push_back(bytes);
    if (bytes > max) return Error{Code::data, Detail::resource_exhausted, "too much"};
    return std::make_shared<int>(0);
  }
  void note(std::string line) override { notes.push_back(std::move(line)); }

  std::int64_t max = INT64_MAX;
  std::vector<std::int64_t> charges;
  std::vector<std::string> notes;

 private:
  static std::vector<List> halves(std::uint32_t count) {
    std::vector<List> out(2);
    for (std::uint32_t i = 0; i < count; ++i) out[i < count / 3 ? 0 : 1].push_back(i);
    return out;
  }

  const std::size_t first_;  // sequences of the first file
  const Attributes attributes_;
  int calls_ = 0;
};

std::unique_ptr<Handles> order_of(const std::string& options, SequenceFiles& reader, std::uint64_t seed = 1) {
  const auto json = parse_json(options);
  auto upstream = std::make_unique<testing::Numbers>(testing::first(2));
  return make_order(orders::sequence_order(), *json, std::move(upstream), &reader, seed);
}

/// The sequences of a pass, however often it is interrupted.
List pass_of(Handles& order, std::int64_t epoch) {
  order.begin(epoch);
  Handle first;
  for (int i = 0; i < 1000; ++i) {
    const auto count = order.pull({&first, 1});
    if (!count.ok() && count.error().code() == Code::cancelled) continue;
    EXPECT_TRUE(count.ok()) << count.error().text();
    if (!count.ok() || *count == 0) return {};
    List out{first.block};
    for (const std::uint32_t number : drain(order)) out.push_back(number);
    return out;
  }
  return {};
}

const std::vector<std::int64_t> ten{5, 1, 4, 2, 3, 6, 2, 7, 1, 3};

/// Passes of ten sequences with numpy's generator, by options without it.
std::vector<List> passes(const std::string& options, std::int64_t count = 1) {
  SequenceFiles reader{10, {ten}};
  const auto order = order_of("{\"by\": \"n\", \"rng\": \"numpy_legacy\", " + options + "}", reader);
  std::vector<List> out;
  for (std::int64_t epoch = 0; epoch < count; ++epoch) out.push_back(pass_of(*order, epoch));
  return out;
}

TEST(SequenceOrder, ModesWithoutDrawsGiveTheirOrders) {
  const std::map<std::string, List> wanted{{"default", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
                                           {"reverse", {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
                                           {"sorted", {1, 8, 3, 6, 4, 9, 2, 0, 5, 7}},
                                           {"sorted_reverse", {7, 5, 0, 2, 4, 9, 3, 6, 1, 8}},
                                           {"default_every_n:3", {0, 3, 6, 1, 4, 7, 2, 5, 8}},
                                           {"default_every_n:5", {0, 2, 4, 6, 8, 1, 3, 5, 7, 9}},
                                           {"default_every_n:11", {}}};
  for (const auto& [mode, order] : wanted)
    EXPECT_EQ(passes("\"mode\": \"" + mode + "\"", 2), (std::vector<List>{order, order})) << mode;
}

TEST(SequenceOrder, ModesThatDrawGiveTheOrdersOfTheOriginal) {
  EXPECT_EQ(passes(R"("mode": "random")", 3),
            (std::vector<List>{
                {2, 9, 6, 4, 0, 3, 1, 7, 8, 5}, {4, 1, 5, 0, 7, 2, 3, 6, 9, 8}, {5, 4, 1, 2, 9, 6, 7, 0, 3, 8}}));
  EXPECT_EQ(passes(R"("mode": "random", "fixed_random_seed": 42, "random_seed_offset": 7)", 2),
            (std::vector<List>(2, {8, 1, 5, 0, 7, 2, 9, 4, 3, 6})));
  EXPECT_EQ(passes(R"("mode": "random:2")", 2), (std::vector<List>(2, {2, 9, 6, 4, 0, 3, 1, 7, 8, 5})));
  EXPECT_EQ(passes(R"("mode": "random", "nth": 2)", 4)[2], (List{4, 1, 5, 0, 7, 2, 3, 6, 9, 8}));
  EXPECT_EQ(passes(R"("mode": "random", "random_seed_offset": 1)")[0], (List{4, 1, 5, 0, 7, 2, 3, 6, 9, 8}));
  EXPECT_EQ(passes(R"("mode": "random_sample")")[0], (List{5, 8, 9, 5, 0, 0, 1, 7, 6, 9}));
  EXPECT_EQ(passes(R"("mode": "laplace:2")")[0], (List{6, 9, 4, 2, 0, 7, 5, 3, 1, 8}));
  EXPECT_EQ(passes(R"("mode": "laplace", "bin_size": 5)")[0], (List{6, 9, 4, 2, 0, 7, 5, 3, 1, 8}));
  EXPECT_EQ(passes(R"("mode": "laplace", "bins": 3)")[0], (List{6, 9, 2, 0, 4, 3, 1, 8, 5, 7}));
  EXPECT_EQ(passes(R"("mode": "laplace:.3:2")", 2)[1], (List{6, 9, 2, 0, 4, 3, 1, 8, 5, 7}));
  EXPECT_EQ(passes(R"("mode": "sort_bin_shuffle:3")")[0], (List{2, 0, 5, 7, 1, 8, 6, 3, 9, 4}));
  EXPECT_EQ(passes(R"("mode": "sort_bin_shuffle_x2:3")")[0], (List{7, 2, 0, 5, 8, 6, 1, 4, 3, 9}));
}

TEST(SequenceOrder, PartsOfAPassAndOfItsShardsAreTheFullOrder) {
  EXPECT_EQ(passes(R"("partition_epoch": 4)", 5), (std::vector<List>{{0, 1, 2}, {3, 4, 5}, {6, 7}, {8, 9}, {0, 1, 2}}));
  std::vector<List> shards;
  for (const std::string shard : {"0", "1", "2"}) {
    for (const List& pass : passes(R"("partition_epoch": 2, "num_shards": 3, "shard_index": )" + shard, 2))
      shards.push_back(pass);
  }
  EXPECT_EQ(shards, (std::vector<List>{{0, 1}, {6, 7}, {2, 3}, {8}, {4, 5}, {9}}));
  const std::vector<List> random = passes(R"("mode": "random", "partition_epoch": 3)", 6);
  List first, second;
  for (int i = 0; i < 3; ++i) first.insert(first.end(), random[i].begin(), random[i].end());
  for (int i = 3; i < 6; ++i) second.insert(second.end(), random[i].begin(), random[i].end());
  EXPECT_EQ(first, (List{2, 9, 6, 4, 0, 3, 1, 7, 8, 5}));
  EXPECT_EQ(second, (List{4, 1, 5, 0, 7, 2, 3, 6, 9, 8}));
  EXPECT_EQ(passes(R"("mode": "default_every_n:5", "repeat_epoch": 2)")[0],
            (List{0, 2, 4, 6, 8, 1, 3, 5, 7, 9, 0, 2, 4, 6, 8, 1, 3, 5, 7, 9}));
  EXPECT_EQ(passes(R"("mode": "random", "num_shards": 20, "shard_index": 10)")[0], List{})
      << "more parts than sequences";
}

TEST(SequenceOrder, TheFirstPassesMayHaveOtherModes) {
  EXPECT_EQ(passes(R"("mode": "random", "first_modes": ["sorted", "laplace:3"])", 4),
            (std::vector<List>{{1, 8, 3, 6, 4, 9, 2, 0, 5, 7},
                               {1, 4, 5, 7, 0, 2, 8, 3, 6, 9},
                               {5, 4, 1, 2, 9, 6, 7, 0, 3, 8},
                               {3, 8, 4, 9, 2, 6, 0, 1, 5, 7}}));
}

TEST(SequenceOrder, TheTailOfEveryNIsToldOnceOrComesLast) {
  SequenceFiles reader{10, {}};
  const auto order = order_of(R"({"mode": "default_every_n:4"})", reader);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(pass_of(*order, epoch), (List{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_THAT(reader.notes, ::testing::ElementsAre(::testing::HasSubstr("leaves out the last 2 of 10 sequences")));
  const auto whole = order_of(R"({"mode": "default_every_n:4", "keep_tail": true})", reader);
  EXPECT_EQ(pass_of(*whole, 0), (List{0, 2, 4, 6, 1, 3, 5, 7, 8, 9}));
  EXPECT_EQ(reader.notes.size(), 1U);
}

TEST(SequenceOrder, OurOwnDrawsDifferByEpochAndSeedAndAreFair) {
  SequenceFiles reader{10, {ten}};
  std::set<List> seen;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto order = order_of(R"({"mode": "random"})", reader, seed);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      List pass = pass_of(*order, epoch);
      seen.insert(pass);
      EXPECT_EQ(pass_of(*order, epoch), pass);
      std::ranges::sort(pass);
      EXPECT_EQ(pass, testing::first(10));
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  std::vector<int> times(10);
  for (std::uint64_t seed = 0; seed < 5000; ++seed)
    ++times[pass_of(*order_of(R"({"mode": "random"})", reader, seed), 0)[0]];
  double chi_square = 0;
  for (const int count : times) chi_square += (count - 500.0) * (count - 500.0) / 500.0;
  EXPECT_LT(chi_square, 27.9);  // 9 degrees of freedom, p = 0.001
}

TEST(SequenceOrder, BinsOfManySequencesGoUpAndDownForAnyLengths) {
  constexpr std::uint32_t n = 20'000;
  std::vector<std::int64_t> lengths(n);
  for (std::uint32_t i = 0; i < n; ++i) lengths[i] = static_cast<std::int64_t>(i * 0x9e3779b97f4a7c15U);
  for (const bool narrow : {true, false}) {
    for (std::int64_t& length : lengths) length = narrow ? ((length % 1000) + 1000) % 1000 : length;
    SequenceFiles reader{n, {lengths}};
    List order = pass_of(*order_of(R"({"mode": "laplace:7", "by": "n"})", reader), 0);
    ASSERT_EQ(order.size(), n);
    for (std::uint32_t bin = 0; bin < 7; ++bin) {
      const std::uint32_t begin = bin * n / 7, end = (bin + 1) * n / 7;
      for (std::uint32_t i = begin + 1; i < end; ++i) {
        const std::int64_t before = lengths[order[i - 1]], after = lengths[order[i]];
        ASSERT_TRUE(bin % 2 == 0 ? before <= after : before >= after) << i;
      }
    }
    std::ranges::sort(order);
    EXPECT_EQ(order, testing::first(n));
  }
}

TEST(SequenceOrder, HoldsFourBytesASequenceAndFailsWithoutMemory) {
  SequenceFiles reader{10, {ten}};
  const auto order = order_of(R"({"mode": "laplace", "by": "n"})", reader);
  EXPECT_EQ(pass_of(*order, 0).size(), 10U);
  EXPECT_EQ(reader.charges, (std::vector<std::int64_t>{10 * 44 + 2 * 4, 10 * 4}));
  reader.max = 100;
  order->begin(1);
  Handle out;
  EXPECT_THAT(order->pull({&out, 1}).error().text(), ::testing::HasSubstr("the order of 10 sequences: too much"));
}

TEST(SequenceOrder, UniqueTagsAreThoseThatComeFirstAndEqualHalvesDoNotMakeThemEqual) {
  // Tags a b a c d: the first halves of the hashes of c and d are equal.
  SequenceFiles reader{5, {{1, 2, 1, 7, 7}, {5, 6, 5, 8, 9}}};
  const std::string tags = R"("tag": "t", "unique_seq_tags": true})";
  EXPECT_EQ(pass_of(*order_of("{" + tags, reader), 0), (List{0, 1, 3, 4}));
  EXPECT_EQ(pass_of(*order_of(R"({"mode": "reverse", )" + tags, reader), 0), (List{4, 3, 2, 1}));
  EXPECT_EQ(pass_of(*order_of(R"({"partition_epoch": 2, )" + tags, reader), 0), (List{0, 1}));
}

TEST(SequenceOrder, AFilterThatLeavesNothingAndNoSequencesAtAllAreErrors) {
  SequenceFiles reader{4, {{1, 0, 0, 1}}};
  const auto order = order_of(R"({"tag": "t", "seq_list_filter_file": "f", "repeat_epoch": 2})", reader);
  EXPECT_EQ(pass_of(*order, 0), (List{0, 3, 0, 3}));
  SequenceFiles none{4, {{1, 0, 0, 0}}};
  const auto parts = order_of(R"({"tag": "t", "seq_list_filter_file": "f", "partition_epoch": 2})", none);
  EXPECT_EQ(pass_of(*parts, 0), (List{0}));
  parts->begin(1);
  Handle out;
  EXPECT_FALSE(parts->pull({&out, 1}).ok()) << "interrupted";
  EXPECT_THAT(parts->pull({&out, 1}).error().text(),
              ::testing::HasSubstr("seq_list_filter_file 'f' names none of the sequences of epoch 1"));
  SequenceFiles empty{0, {}};
  const auto nothing = order_of("{}", empty);
  nothing->begin(0);
  EXPECT_THAT(nothing->pull({&out, 1}).error().text(), ::testing::HasSubstr("there are no sequences to order"));
}

std::string fault_of(const std::string& options) {
  const auto bound = orders::sequence_order().bind(*parse_json(options));
  return bound.ok() ? "" : bound.error().text();
}

TEST(SequenceOrder, FaultsNameTheOptionAndWhatIsAllowed) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  EXPECT_THAT(fault_of(R"({"mode": "sortd"})"), AllOf(HasSubstr("/mode"), HasSubstr("did you mean 'sorted'?")));
  EXPECT_THAT(fault_of(R"({"mode": ""})"), HasSubstr("there is no ''"));
  EXPECT_THAT(fault_of(R"({"mode": "laplace:x", "by": "n"})"),
              AllOf(HasSubstr("'x' is no number from 1 to 1000000"), HasSubstr("laplace[:BINS or :.SIZE[:NTH]]")));
  EXPECT_THAT(fault_of(R"({"mode": "random:0"})"), HasSubstr("'0' is no number from 1 to 1000000; write random[:NTH]"));
  EXPECT_THAT(fault_of(R"({"mode": "sorted:2", "by": "n"})"), HasSubstr("too many numbers; write sorted"));
  EXPECT_THAT(fault_of(R"({"mode": "default_every_n"})"), HasSubstr("write \"default_every_n:K\""));
  EXPECT_THAT(fault_of(R"({"mode": "laplace:3", "bins": 4, "by": "n"})"), HasSubstr("give it once"));
  EXPECT_THAT(fault_of(R"({"mode": "laplace:3", "bin_size": 4, "by": "n"})"),
              HasSubstr("one of `bins` and `bin_size`"));
  EXPECT_THAT(fault_of(R"({"mode": "sorted", "nth": 4, "by": "n"})"),
              AllOf(HasSubstr("/nth"), HasSubstr("leave it out")));
  EXPECT_THAT(fault_of(R"({"first_modes": ["sorted", "x"], "by": "n"})"), HasSubstr("/first_modes/1"));
  EXPECT_THAT(fault_of(R"({"partition_epoch": 2, "repeat_epoch": 3})"),
              AllOf(HasSubstr("partition_epoch 2"), HasSubstr("repeat_epoch 3")));
  EXPECT_THAT(fault_of(R"({"num_shards": 2, "shard_index": 2})"), HasSubstr("numbered from 0 to 1"));
  EXPECT_THAT(fault_of(R"({"mode": "sorted"})"), HasSubstr("the mode sorts by lengths, and there are none"));
  EXPECT_THAT(fault_of(R"({"by": "n", "seq_order_seq_lens_file": "f", "tag": "t"})"), HasSubstr("give one"));
  EXPECT_THAT(fault_of(R"({"unique_seq_tags": true})"), AllOf(HasSubstr("/unique_seq_tags"), HasSubstr("`tag`")));
  EXPECT_THAT(fault_of(R"({"by": "n +", "mode": "x"})"), HasSubstr("2 faults"));
}

TEST(SequenceOrder, KnowsItsLengthWhenAllPassesHaveTheSame) {
  const auto count = [](const std::string& options, std::int64_t n) {
    return orders::sequence_order().bind(*parse_json(options))->count(n);
  };
  EXPECT_EQ(count("{}", 10), 10);
  EXPECT_EQ(count(R"({"mode": "default_every_n:4"})", 10), 8);
  EXPECT_EQ(count(R"({"mode": "default_every_n:4", "keep_tail": true})", 10), 10);
  EXPECT_EQ(count(R"({"repeat_epoch": 3})", 10), 30);
  EXPECT_EQ(count(R"({"num_shards": 3, "shard_index": 0})", 10), 4);
  EXPECT_EQ(count(R"({"num_shards": 3, "shard_index": 2})", 10), 3);
  EXPECT_EQ(count(R"({"partition_epoch": 5})", 10), 2);
  EXPECT_EQ(count(R"({"partition_epoch": 4})", 10), std::nullopt);
  EXPECT_EQ(count(R"({"unique_seq_tags": true, "tag": "t"})", 10), std::nullopt);
  EXPECT_EQ(count(R"({"repeat_epoch": 1000000})", INT64_MAX / 2), std::nullopt);
}

}  // namespace
}  // namespace forebay
