// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <thread>

#include "tests/queues/saver_examples.h"
#include "tests/support/how_much.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::insert_frames;
using tests::keys_of;
using tests::one_sequence;
using tests::save_more;
using tests::saver_of;
using tests::take_now;
using tests::tensor_of;
using tests::values_of;
using Got = TakenSegments::Got;
using Numbers = std::vector<std::int32_t>;
using Keys = std::vector<std::string>;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds no_wait{0};
constexpr std::int64_t first_index = std::numeric_limits<std::int64_t>::min();

std::string_view text_at(const Tensor& tensor, std::size_t element) {
  const std::int64_t* const splits = tensor.byte_splits + element;
  return {reinterpret_cast<const char*>(tensor.bytes) + splits[0], static_cast<std::size_t>(splits[1] - splits[0])};
}

/// What `take` finds without a wait.
Got found(StateSaver& saver, std::optional<std::int64_t> size = {}) {
  auto taken = saver.take(size, no_wait);
  EXPECT_TRUE(taken.ok()) << taken.error().text();
  return taken.ok() ? taken->got : Got::end;
}

/// Takes and saves batches to the end; their keys.
std::vector<Keys> run_to_end(StateSaver& saver) {
  std::vector<Keys> out;
  while (const auto batch = take_now(saver)) {
    out.push_back(keys_of(*batch));
    EXPECT_TRUE(save_more(*batch).ok());
  }
  return out;
}

TEST(StateSaver, PadsSegmentsAndClampsTheirLengths) {
  StateSaverOptions options = one_sequence(2, 3);
  options.pad = options.allow_small_batch = true;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 5, 1).ok());
  ASSERT_TRUE(insert_frames(saver, "x:y", 2, 11).ok());
  const auto first = take_now(saver);
  ASSERT_TRUE(first);
  EXPECT_EQ(keys_of(*first), (Keys{"00000_of_00002:a", "00000_of_00001:x:y"}));
  EXPECT_EQ(first->next_key(0), "00001_of_00002:a");
  EXPECT_EQ(first->next_key(1), "STOP:x:y");
  EXPECT_EQ(first->sequences("x")->shape, (Shape{2, 3}));
  EXPECT_EQ(values_of(*first->sequences("x")), (Numbers{1, 2, 3, 11, 12, 0}));
  EXPECT_EQ(values_of(first->length()), (Numbers{3, 2}));
  EXPECT_EQ(values_of(first->total_length()), (Numbers{5, 2}));
  EXPECT_EQ(values_of(first->sequence_count()), (Numbers{2, 1}));
  EXPECT_THAT(first->insertion_index().as<std::int64_t>(), ElementsAre(first_index, first_index + 1));
  EXPECT_THAT(first->reset().as<bool>(), ElementsAre(true, true));
  ASSERT_TRUE(save_more(*first, 7).ok());
  const auto second = take_now(saver, 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(values_of(*second->sequences("x")), (Numbers{4, 5, 0}));
  EXPECT_EQ(values_of(second->length()), (Numbers{2}));
  EXPECT_EQ(values_of(*second->state("h")), (Numbers{7}));
  EXPECT_EQ(values_of(second->sequence()), (Numbers{1}));
  EXPECT_THAT(second->reset().as<bool>(), ElementsAre(false));
}

TEST(StateSaver, StartedExamplesComeBeforeNewOnesAndEachOnceInABatch) {
  StateSaverOptions options = one_sequence(2, 1);
  options.allow_small_batch = true;
  StateSaver saver = saver_of(options);
  for (const auto& [key, frames] : {std::pair{"a", 3}, {"b", 1}, {"c", 2}})
    ASSERT_TRUE(insert_frames(saver, key, frames).ok());
  ASSERT_TRUE(saver.close().ok());
  EXPECT_THAT(run_to_end(saver),
              ElementsAre(Keys{"00000_of_00003:a", "00000_of_00001:b"}, Keys{"00001_of_00003:a", "00000_of_00002:c"},
                          Keys{"00002_of_00003:a", "00001_of_00002:c"}));
  EXPECT_EQ(found(saver), Got::end);
  EXPECT_EQ(saver.sizes().undelivered_segments, 0);
}

TEST(StateSaver, SizesOfStepsMayDifferAndBeZero) {
  StateSaver saver = saver_of(one_sequence(1, 1));
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(insert_frames(saver, std::to_string(i), 2).ok());
  std::vector<std::vector<std::int64_t>> offsets;
  for (std::int64_t size = 0; size <= 7; ++size) {
    const auto batch = take_now(saver, size);
    ASSERT_TRUE(batch);
    auto& row = offsets.emplace_back();
    for (const std::int64_t index : batch->insertion_index().as<std::int64_t>()) row.push_back(index - first_index);
    ASSERT_TRUE(save_more(*batch).ok());
  }
  using Offsets = std::vector<std::int64_t>;
  EXPECT_THAT(offsets,
              ElementsAre(Offsets{}, Offsets{0}, Offsets{0, 1}, Offsets{1, 2, 3}, Offsets{2, 3, 4, 5},
                          Offsets{4, 5, 6, 7, 8}, Offsets{6, 7, 8, 9, 10, 11}, Offsets{9, 10, 11, 12, 13, 14, 15}));
  EXPECT_THAT(saver.take(-1, no_wait).error().text(), HasSubstr("size: -1 segments, allowed is 0 or more"));
}

TEST(StateSaver, ASegmentIsReadyAfterAllStatesOfTheOneBeforeWereSaved) {
  StateSaverOptions options = one_sequence(1, 1);
  options.states.push_back({.name = "c", .dtype = DType::int32, .shape = {}});
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 2).ok());
  const auto batch = take_now(saver);
  ASSERT_TRUE(batch);
  ASSERT_TRUE(save_more(*batch, 5).ok());
  EXPECT_EQ(found(saver), Got::nothing_yet);
  EXPECT_EQ(saver.sizes().waiting_segments, 1);
  Numbers c{9};
  ASSERT_TRUE(batch->save_state("c", tensor_of(c, {1})).ok());
  const auto next = take_now(saver);
  ASSERT_TRUE(next);
  EXPECT_EQ(values_of(*next->state("h")), (Numbers{5}));
  EXPECT_EQ(values_of(*next->state("c")), (Numbers{9}));
  EXPECT_EQ(values_of(*batch->state("h")), (Numbers{0})) << "the values of a batch do not change";
}

TEST(StateSaver, SavingTwiceTheWrongValuesAndUnknownNamesAreErrors) {
  StateSaver saver = saver_of(one_sequence(1, 1)), other = saver_of(one_sequence(1, 1));
  ASSERT_TRUE(insert_frames(saver, "a", 2).ok());
  const auto batch = take_now(saver);
  ASSERT_TRUE(batch);
  Numbers two{1, 2};
  EXPECT_EQ(batch->save_state("h", tensor_of(two, {1, 2})).error().text(),
            "state 'h': found int32[1,2], allowed is int32[1,1]; convert the values, or change the declaration");
  EXPECT_EQ(batch->save_state("g", tensor_of(two, {1, 1})).error().detail(), Detail::not_found);
  EXPECT_THAT(batch->sequences("y").error().text(), HasSubstr("sequences: none is named 'y'"));
  EXPECT_THAT(other.save(*batch, "h", tensor_of(two, {1, 1})).error().text(), HasSubstr("not one of this state saver"));
  ASSERT_TRUE(saver.save(*batch, "h", tensor_of(two, {1, 1})).ok());
  const auto twice = save_more(*batch);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code(), Code::state);
  EXPECT_THAT(twice.error().text(), HasSubstr("'h': it was saved for this batch before"));
}

TEST(StateSaver, StringsAreSequencesContextAndStates) {
  const auto text = [](const std::vector<std::string>& values, std::vector<std::int64_t> shape) {
    struct Texts {
      std::vector<std::int64_t> splits{0};
      std::string bytes;
    };
    auto texts = std::make_shared<Texts>();
    for (const std::string& value : values) {
      texts->bytes += value;
      texts->splits.push_back(std::ssize(texts->bytes));
    }
    Tensor out{.dtype = DType::string, .shape = Shape{std::move(shape)}};
    out.byte_splits = texts->splits.data();
    out.bytes = reinterpret_cast<const std::byte*>(texts->bytes.data());
    out.owner = texts;
    return out;
  };
  StateSaverOptions options{.num_unroll = 2,
                            .sequences = {{.name = "x", .dtype = DType::string}},
                            .context = {{.name = "c", .dtype = DType::string, .shape = {2}}},
                            .states = {{.name = "h", .dtype = DType::string, .initial = text({"begin"}, {})}},
                            .pad = true};
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(
      saver.insert({.key = "a", .sequences = {text({"p", "qq", "r"}, {3})}, .context = {text({"u", "v"}, {2})}}).ok());
  auto batch = take_now(saver);
  ASSERT_TRUE(batch);
  EXPECT_EQ(text_at(*batch->sequences("x"), 1), "qq");
  EXPECT_EQ(text_at(*batch->context("c"), 1), "v");
  EXPECT_EQ(text_at(*batch->state("h"), 0), "begin");
  ASSERT_TRUE(batch->save_state("h", text({"later"}, {1})).ok());
  batch = take_now(saver);
  ASSERT_TRUE(batch);
  EXPECT_EQ(text_at(*batch->sequences("x"), 0), "r");
  EXPECT_EQ(text_at(*batch->sequences("x"), 1), "");
  EXPECT_EQ(text_at(*batch->context("c"), 0), "u");
  EXPECT_EQ(text_at(*batch->state("h"), 0), "later");
}

TEST(StateSaver, CapacityCountsExamplesUntilTheirLastSegmentIsTaken) {
  StateSaverOptions options = one_sequence(1, 1);
  options.capacity = 2;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(*insert_frames(saver, "a", 2));
  ASSERT_TRUE(*insert_frames(saver, "b", 1));
  EXPECT_FALSE(*insert_frames(saver, "c", 1, 0, no_wait));
  ASSERT_TRUE(save_more(*take_now(saver)).ok());
  EXPECT_FALSE(*insert_frames(saver, "c", 1, 0, no_wait));
  const auto last = take_now(saver);
  EXPECT_EQ(keys_of(*last), Keys{"00001_of_00002:a"});
  EXPECT_TRUE(*insert_frames(saver, "a", 1, 0, no_wait)) << "before anything is saved, and the key is free again";
  EXPECT_EQ(saver.sizes().live_examples, 2);
  EXPECT_EQ(saver.sizes().ready_segments, 2);
  EXPECT_THAT(saver.take(3, no_wait).error().text(), HasSubstr("at most capacity, 2"));
}

TEST(StateSaver, ALiveKeyIsUniqueInItsEpochUnlessKeysAreMadeUnique) {
  StateSaverOptions options = one_sequence(1, 1);
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 2).ok());
  EXPECT_THAT(insert_frames(saver, "a", 1).error().text(),
              HasSubstr("example 'a': an example of epoch 0 with that key is live"));
  Numbers frame{3};
  ASSERT_TRUE(saver.insert({.key = "a", .length = 1, .sequences = {tensor_of(frame, {1})}, .epoch = 1}).ok());
  EXPECT_THAT(take_now(saver, 2)->epoch().as<std::int64_t>(), ElementsAre(0, 1));
  options.make_keys_unique = true;
  StateSaver unique = saver_of(options);
  ASSERT_TRUE(insert_frames(unique, "a", 1).ok());
  ASSERT_TRUE(insert_frames(unique, "a", 1).ok());
  EXPECT_EQ(keys_of(*take_now(unique, 2)), (Keys{"00000_of_00001:a000000000000", "00000_of_00001:a000000000001"}));
}

TEST(StateSaver, ExamplesThatDoNotFitAreRefusedWithTheirPlace) {
  StateSaverOptions options = one_sequence(1, 3);
  options.sequences.push_back({.name = "y", .dtype = DType::int32});
  StateSaver saver = saver_of(options);
  Numbers six(6);
  const auto refused = [&](std::vector<std::int64_t> x, std::vector<std::int64_t> y,
                           std::optional<std::int64_t> length) {
    const auto out = saver.insert({.key = "k", .length = length, .sequences = {tensor_of(six, x), tensor_of(six, y)}});
    return out.ok() ? "inserted" : out.error().text();
  };
  EXPECT_THAT(refused({6}, {3}, 6), HasSubstr("sequence 'y' has 3 frames, but sequence 'x' has a length of 6"));
  EXPECT_THAT(refused({4}, {4}, 4),
              HasSubstr("sequence 'x' has 4 frames, which should be a multiple of num_unroll, 3"));
  EXPECT_THAT(refused({0}, {0}, 0), HasSubstr("0 frames"));
  EXPECT_THAT(refused({6}, {6}, 7), HasSubstr("length 7, allowed is 0 … 6"));
  EXPECT_THAT(refused({6}, {6}, -1), HasSubstr("length -1, allowed is 0 … 6"));
  EXPECT_THAT(refused({6}, {6}, {}), HasSubstr("it has no length"));
  EXPECT_THAT(refused({6, 1}, {6}, 6), HasSubstr("example 'k': sequence 'x': found int32[6,1], allowed is int32[6]"));
  EXPECT_THAT(refused({}, {6}, 6), HasSubstr("found int32[], allowed is int32[?]"));
  EXPECT_THAT(saver.insert({.key = "k", .length = 6}).error().text(), HasSubstr("0 sequence tensors"));
  EXPECT_EQ(refused({6}, {6}, 0), "inserted");
}

TEST(StateSaver, FaultsOfTheOptionsAreAllNamed) {
  StateSaverOptions options{.batch_size = 2,
                            .num_unroll = 0,
                            .sequences = {{.name = "a:b"}, {.name = "x", .shape = {0}}},
                            .context = {{.name = "c", .shape = {unknown_dim}}},
                            .states = {},
                            .capacity = 1};
  const std::string text = StateSaver::make(options).error().text();
  for (const char* fault :
       {"num_unroll: must be 1", "capacity: 1 live examples", "sequences['a:b']: the name has a ':'",
        "sequences['x']: shape [0]", "context['c']: shape [?]", "initial_states: there is no state"})
    EXPECT_THAT(text, HasSubstr(fault));
  options = one_sequence(1 << 20, 1 << 30);
  EXPECT_THAT(StateSaver::make(options).error().text(), HasSubstr("a batch takes 64 GiB or more"));
}

TEST(StateSaver, TheEndComesWhenLiveExamplesDoNotFillABatch) {
  StateSaver saver = saver_of(one_sequence(2, 1));
  ASSERT_TRUE(insert_frames(saver, "a", 1).ok());
  ASSERT_TRUE(insert_frames(saver, "b", 3).ok());
  EXPECT_EQ(found(saver, 3), Got::nothing_yet);
  ASSERT_TRUE(saver.close().ok());
  const auto batch = take_now(saver);
  ASSERT_TRUE(batch);
  EXPECT_EQ(found(saver), Got::end);
  EXPECT_EQ(saver.sizes().undelivered_segments, 2);
  ASSERT_TRUE(save_more(*batch).ok());
  EXPECT_EQ(keys_of(*take_now(saver, 1)), Keys{"00001_of_00003:b"}) << "one row can still be taken";
  EXPECT_EQ(saver.sizes().undelivered_segments, 1);
}

TEST(StateSaver, SmallBatchesWaitWhileABatchMayStillBeSaved) {
  StateSaverOptions options = one_sequence(2, 1);
  options.allow_small_batch = true;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 3).ok());
  ASSERT_TRUE(saver.close().ok());
  auto batch = take_now(saver);
  ASSERT_TRUE(batch);
  EXPECT_EQ(found(saver), Got::nothing_yet);
  ASSERT_TRUE(save_more(*batch).ok());
  batch = take_now(saver);
  EXPECT_EQ(keys_of(*batch), Keys{"00001_of_00003:a"});
  batch.reset();
  EXPECT_EQ(found(saver), Got::end) << "nobody can save the batch that is gone";
  EXPECT_EQ(saver.sizes().undelivered_segments, 1);
}

TEST(StateSaver, CancelDropsWhatIsNotReadyAndSavesNothingMore) {
  StateSaver saver = saver_of(one_sequence(1, 1));
  ASSERT_TRUE(insert_frames(saver, "a", 3).ok());
  ASSERT_TRUE(insert_frames(saver, "b", 2).ok());
  const auto batch = take_now(saver);
  ASSERT_TRUE(saver.close(true).ok());
  EXPECT_EQ(saver.sizes().undelivered_segments, 3);
  EXPECT_EQ(saver.sizes().live_examples, 1);
  EXPECT_EQ(save_more(*batch).error().code(), Code::cancelled);
  EXPECT_EQ(keys_of(*take_now(saver)), Keys{"00000_of_00002:b"});
  EXPECT_EQ(found(saver), Got::end);
  EXPECT_EQ(saver.sizes().live_examples, 0);
  EXPECT_EQ(insert_frames(saver, "c", 1).error().code(), Code::cancelled);
}

TEST(StateSaver, ClosesOnceAndMayCancelAfterThat) {
  StateSaver saver = saver_of(one_sequence(1, 1));
  ASSERT_TRUE(saver.close().ok());
  EXPECT_EQ(saver.close().error().code(), Code::cancelled);
  ASSERT_TRUE(saver.close(true).ok());
  EXPECT_EQ(saver.close(true).error().code(), Code::cancelled);
  EXPECT_TRUE(saver.closed());
}

TEST(StateSaver, AStateThatNobodySavesIsAnErrorThatNamesTheExamples) {
  StateSaverOptions options = one_sequence(1, 1);
  options.save_timeout = Milliseconds{20};
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "held", 2).ok());
  ASSERT_TRUE(insert_frames(saver, "gone", 2).ok());
  const auto held = take_now(saver);
  ASSERT_TRUE(take_now(saver));  // and lost at once
  const auto taken = saver.take();
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code(), Code::state);
  EXPECT_EQ(
      taken.error().text(),
      "no batch in 20 ms: 0 segments are ready; a batch has the examples 'held', and its states 'h' are not saved; "
      "the batches of 'gone' are gone, and not all of their states were saved; call save_state for every state of "
      "every batch, or set a longer save_timeout");
  ASSERT_TRUE(save_more(*held).ok());
  EXPECT_EQ(keys_of(*take_now(saver)), Keys{"00001_of_00002:held"}) << "later calls go on";
}

TEST(StateSaver, StickyRowsKeepTheirExamplesAndSayWhereOnesBegin) {
  StateSaverOptions options = one_sequence(2, 1);
  options.sticky_rows = options.allow_small_batch = true;
  StateSaver saver = saver_of(options);
  for (const auto& [key, frames] : {std::pair{"a", 1}, {"b", 3}, {"c", 1}})
    ASSERT_TRUE(insert_frames(saver, key, frames, 5).ok());
  ASSERT_TRUE(saver.close().ok());
  std::vector<Keys> keys;
  std::vector<std::vector<bool>> resets;
  std::vector<Numbers> states, numbers;
  while (const auto batch = take_now(saver)) {
    keys.push_back(keys_of(*batch));
    resets.emplace_back(batch->reset().as<bool>().begin(), batch->reset().as<bool>().end());
    states.push_back(values_of(*batch->state("h")));
    numbers.push_back(values_of(batch->sequence()));
    if (keys.size() < 3) {
      EXPECT_EQ(found(saver), Got::nothing_yet) << "a batch is out";
    }
    ASSERT_TRUE(save_more(*batch, 4).ok());
  }
  EXPECT_THAT(keys, ElementsAre(Keys{"00000_of_00001:a", "00000_of_00003:b"},
                                Keys{"00000_of_00001:c", "00001_of_00003:b"}, Keys{"", "00002_of_00003:b"}));
  EXPECT_THAT(resets, ElementsAre(ElementsAre(true, true), ElementsAre(true, false), ElementsAre(true, false)));
  EXPECT_THAT(states, ElementsAre(Numbers{0, 0}, Numbers{0, 4}, Numbers{0, 8}));
  EXPECT_THAT(numbers, ElementsAre(Numbers{0, 0}, Numbers{0, 1}, Numbers{-1, 2}));
  EXPECT_THAT(saver.take(1, no_wait).error().text(), HasSubstr("allowed is batch_size, 2"));
}

TEST(StateSaver, ABatchThatMemoryDoesNotHoldTakesNothing) {
  if (tests::sanitized) return;  // a sanitizer ends the process when so much memory is asked for
  constexpr std::int64_t rows = 1 << 13;
  StateSaverOptions options = one_sequence(1, 1 << 30);
  options.sequences = {{.name = "x", .dtype = DType::int8, .shape = {32}}};
  options.pad = true;
  StateSaver saver = saver_of(options);
  std::array<std::byte, 32> frame{};
  const Tensor x{.dtype = DType::int8, .shape = {1, 32}, .data = frame.data()};
  for (std::int64_t i = 0; i < rows; ++i) ASSERT_TRUE(saver.insert({.key = std::to_string(i), .sequences = {x}}).ok());
  const auto taken = saver.take(rows);  // 2^48 bytes
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().detail(), Detail::resource_exhausted);
  EXPECT_EQ(saver.sizes().ready_segments, rows);
  EXPECT_EQ(saver.sizes().live_examples, rows);
}

TEST(StateSaver, BatchesOutliveTheSaver) {
  std::optional<SegmentBatch> batch;
  Tensor x;
  {
    StateSaver saver = saver_of(one_sequence(1, 2));
    ASSERT_TRUE(insert_frames(saver, "a", 2, 3).ok());
    batch = take_now(saver);
    x = *batch->sequences("x");
  }
  EXPECT_EQ(batch->key(0), "00000_of_00001:a");
  batch.reset();
  EXPECT_EQ(values_of(x), (Numbers{3, 4}));
}

}  // namespace
}  // namespace forebay
