// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of this process and measures its memory. Sanitizers change both, so it is built without them.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/index/index_store.h"
#include "engine/memory/catch_all.h"
#include "tests/engine/order/stream_files.h"
#include "tests/support/resident.h"

namespace {

std::atomic<long> allocations{0};

// While `starving`, allocations from number `starved_from` on, as many as `starved_for`, find no memory.
std::atomic<bool> starving{false};
std::atomic<long> seen{0};
long starved_from = 0, starved_for = 0;

bool starved() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (!starving.load(std::memory_order_acquire)) return false;
  const long number = seen.fetch_add(1, std::memory_order_relaxed);
  return number >= starved_from && number - starved_from < starved_for;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) { return starved() ? nullptr : __libc_malloc(size); }
void* realloc(void* memory, std::size_t size) { return starved() ? nullptr : __libc_realloc(memory, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return starved() ? nullptr : __libc_memalign(alignment, size);
}
}

namespace forebay {
namespace {

/// Allocations per record of a run after its first quarter, when everything that is recycled exists.
double per_record(const std::string& steps, std::int64_t threads) {
  const testing::Folder folder;
  constexpr std::int64_t records = 20'000;
  for (int part = 0; part < 2; ++part)
    testing::write_examples(folder.file("part-" + std::to_string(part)), part * records / 2, records / 2);
  auto pipeline = load(testing::document(folder.file("part-*"), steps, R"(, "epochs": 8)"), {.threads = threads});
  if (!pipeline.ok()) return -1;
  std::int64_t rows = 0;
  std::int64_t counted_rows = 0;
  long before = 0;
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok() || !*batch) break;
    rows += (*batch)->rows();
    if (before == 0 && rows >= 2 * records) before = allocations.load(), counted_rows = rows;
  }
  return static_cast<double>(allocations.load() - before) / static_cast<double>(rows - counted_rows);
}

TEST(Allocations, NoneIsMadePerRecordInSteadyState) {
  for (const std::int64_t threads : {1, 2}) {
    EXPECT_LT(per_record(R"({"batch": {"size": 2000}})", threads), 0.05);
    EXPECT_LT(per_record(R"({"shuffle": {"buffer": 3000}}, {"batch": {"size": 2000, "pad": true}})", threads), 0.05);
  }
}

// What carries a batch from the thread that makes it to the one that drops it is recycled, as its arrays are.
TEST(Allocations, ABatchMakesTheSameFewWhateverItsRows) {
  for (const std::int64_t threads : {1, 2}) {
    for (const int size : {10, 1000}) {
      const std::string steps = R"({"select": ["x"]}, {"batch": {"size": )" + std::to_string(size) + "}}";
      EXPECT_LT(per_record(steps, threads) * size, 5) << size << " rows, " << threads << " threads";
    }
  }
}

TEST(Allocations, TheHookCounts) {
  const long before = allocations.load();
  const std::string text(1000, 'x');
  EXPECT_GT(allocations.load() + static_cast<long>(text.size()), before + 1000);
}

/// What a run delivered until it failed or ended, when some of its allocations failed.
struct Starved {
  std::vector<Batch> batches;
  std::optional<Error> error;
  bool reached = false;  ///< It came to those allocations.
};

Starved starve(const Plan& plan, std::int64_t threads, long from, long count) {
  Starved out;
  out.batches.reserve(1000);
  auto pipeline = Loader::start(plan, {.threads = threads, .memory = 64 << 20});
  seen = 0;
  starved_from = from;
  starved_for = count;
  starving.store(true, std::memory_order_release);
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok()) out.error = batch.error();
    if (!batch.ok() || !*batch) break;
    out.batches.push_back(**std::move(batch));
  }
  pipeline->close();
  starving = false;
  out.reached = seen > from;
  return out;
}

std::vector<std::string> texts_of(const std::vector<Batch>& batches) {
  std::vector<std::string> out;
  for (const Batch& batch : batches) out.push_back(testing::text_of(batch));
  return out;
}

// One allocation that fails, and all from one on: each place at which there can be no memory left.
TEST(Starvation, OfAnyAllocationIsTheRightStreamOrAnErrorAndNeverAHang) {
  alarm(600);  // ends a run that hangs
  int runs = 0;
  int failed = 0;
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 40);
  testing::write_examples(folder.file("b"), 40, 40, Compression::gzip);
  for (const char* const order : {R"({"shuffle": {"buffer": 16}})", R"({"shuffle": {"global": true}})"}) {
    const auto plan = Plan::make(testing::document(
        folder.file("[ab]"), std::string{order} + R"(, {"batch": {"size": 8, "pad": true}})", R"(, "epochs": 2)"));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const std::vector<std::string> all = texts_of(starve(*plan, 1, 0, 0).batches);
    ASSERT_EQ(all.size(), 20U);
    for (const std::int64_t threads : {1, 2}) {
      for (const long count : {1L, 1'000'000'000L}) {
        bool reached = true;
        for (long from = 0; reached; from += from < 100 ? 1 : 5) {
          const Starved run = starve(*plan, threads, from, count);
          reached = run.reached;
          std::vector<std::string> expected = all;
          ++runs;
          if (run.error) {
            ++failed;
            expected.resize(std::min(all.size(), run.batches.size()));
            ASSERT_EQ(run.error->code(), Code::io) << run.error->text();
            ASSERT_EQ(run.error->detail(), Detail::resource_exhausted) << run.error->text();
          }
          ASSERT_EQ(texts_of(run.batches), expected) << "allocation " << from;
        }
      }
    }
  }
  alarm(0);
  EXPECT_GT(runs, 400);
  EXPECT_GT(failed, runs / 2);
}

/// Appends an entry with that key; without memory it may fail.
bool append_entry(engine::IndexStores& stores, const std::string& file, std::uint64_t made_by,
                  const std::string& payload) {
  const engine::NewEntry entry{.key = {engine::StoredKind::attribute, made_by},
                               .identity = {.size = 1},
                               .payload = std::as_bytes(std::span{payload.data(), payload.size()})};
  bool done = false;
  const auto thrown = engine::catch_all([&] { done = stores.append(file, {&entry, 1}).ok(); });
  return done && !thrown;
}

// Without memory for one entry, later ones are appended and the store is replaced all the same.
TEST(Starvation, OfTheIndexStoreLosesNoEntryThatIsStored) {
  const std::string payload(80'000, 'p');  // the second one with a key is worth a new store
  bool reached = true;
  for (long from = 0; reached; ++from) {
    const testing::Folder folder;
    const std::string file = folder.file("data");
    ASSERT_TRUE(write_records(file, std::vector<std::string>{"x"}).ok());
    engine::IndexStores stores;
    ASSERT_TRUE(append_entry(stores, file, 1, payload));
    seen = 0;
    starved_from = from;
    starved_for = 1;
    starving.store(true, std::memory_order_release);
    static_cast<void>(append_entry(stores, file, 2, payload));
    starving = false;
    reached = seen > from;
    for (const std::uint64_t made_by : {3U, 1U, 1U}) ASSERT_TRUE(append_entry(stores, file, made_by, payload)) << from;
    for (const std::uint64_t made_by : {1U, 3U}) {
      std::string fault;
      const auto found =
          stores.find(stores.places(file)[0], file, {engine::StoredKind::attribute, made_by}, true, fault);
      ASSERT_FALSE(found.empty()) << "allocation " << from << ", entry " << made_by;
      ASSERT_EQ(found.front().payload.size(), payload.size());
    }
  }
}

TEST(Memory, RecordsThatOneDecisionPassesOverAreNotHeld) {
  const testing::Folder folder;
  std::vector<std::string> records(10'000, std::string(20'000, 'x'));
  constexpr std::int64_t budget = std::int64_t{32} << 20;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const std::string path = folder.file(compression == Compression::none ? "plain" : "compressed");
    ASSERT_TRUE(write_records(path, records, compression).ok());
    const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                     R"("], "compression": "auto"}}, "decode": {"record": {}},
                                     "steps": [{"skip": {"count": 9990}}, {"batch": {"size": 16}}]})");
    const std::int64_t before = tests::resident_bytes();
    auto pipeline = load(json, {.threads = 2, .memory = budget});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    const auto batch = pipeline->next();
    ASSERT_TRUE(batch.ok() && *batch);
    EXPECT_EQ((*batch)->rows(), 10);
    EXPECT_LT(tests::resident_bytes() - before, budget + (std::int64_t{64} << 20));
  }
}

// A gibibyte comes out of 128 MiB of records, eight bytes of each.
TEST(Memory, OfABatchThatDecodesToMoreThanTheBudgetNoMoreIsHeld) {
  const testing::Folder folder;
  const std::string path = folder.file("data");
  {
    const std::string ids = encode_example({{"ids", std::vector<std::int64_t>(2 << 20, 1)}});
    ASSERT_TRUE(write_records(path, std::vector<std::string>(64, ids)).ok());
  }
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                   R"("]}}, "decode": {"example": {"features": {"ids": {"kind": "var_len", "dtype":
                                   "int64"}}}}, "steps": [{"batch": {"size": 64, "pad": true}}]})");
  constexpr std::int64_t budget = std::int64_t{64} << 20;
  for (const std::int64_t threads : {1, 2}) {
    const std::int64_t before = tests::resident_bytes();
    auto pipeline = load(json, {.threads = threads, .memory = budget});
    ASSERT_TRUE(pipeline.ok());
    std::atomic<bool> over{false};
    std::int64_t max = 0;
    std::thread looking{[&] {
      for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds{1}))
        max = std::max(max, tests::resident_bytes() - before);
    }};
    const auto batch = pipeline->next();
    over = true;
    looking.join();
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().message(),
              "batch 0 needs 1073742848 bytes for what its 64 rows decode to, more than the memory budget of 67108864 "
              "bytes; raise `memory`, make batches smaller, or drop the outlier");
    // Each thread has a ticket of 10 MiB, which decodes to 80, and as much of the file is mapped.
    EXPECT_LT(max, budget + threads * (std::int64_t{160} << 20));
  }
}

TEST(Memory, ResidentSetStaysWithinTheBudgetAndDoesNotGrow) {
  const testing::Folder folder;
  std::vector<std::string> records(2000, std::string(20'000, 'x'));  // 40 MB a file
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(
        write_records(folder.file("part-" + std::to_string(i)), records, i == 3 ? Compression::gzip : Compression::none)
            .ok());
  records.clear();
  records.shrink_to_fit();
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("part-*") +
                                   R"("]}}, "decode": {"record": {}},
    "steps": [{"shuffle": {"buffer": 500}}, {"batch": {"size": 16}}], "epochs": 5})");
  constexpr std::int64_t budget = std::int64_t{32} << 20;
  const std::int64_t before = tests::resident_bytes();
  std::int64_t max = 0;
  auto pipeline = load(json, {.threads = 2, .memory = budget});
  ASSERT_TRUE(pipeline.ok());
  std::int64_t rows = 0;
  while (true) {
    auto batch = pipeline->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    if (!*batch) break;
    rows += (*batch)->rows();
    max = std::max(max, tests::resident_bytes());
  }
  EXPECT_EQ(rows, 40'000);
  EXPECT_LT(max - before, budget + (std::int64_t{64} << 20));
}

/// Files of sequences: many records of a few frames, and some of tens of thousands.
void write_sequences(const testing::Folder& folder) {
  for (int file = 0; file < 3; ++file) {
    std::vector<std::string> records;
    for (int i = 0; i < 300; ++i) {
      const std::vector<float> frames(i % 20 == 7 ? 60'000 : static_cast<std::size_t>(i % 13) * 100);
      SequenceExampleMap message;
      for (std::size_t frame = 0; frame < frames.size(); frame += 100)
        message.lists["x"].emplace_back(std::vector<float>(frames.begin(), frames.begin() + 100));
      records.push_back(encode_sequence_example(message));
    }
    ASSERT_TRUE(write_records(folder.file("part-" + std::to_string(file)), records,
                              file == 2 ? Compression::gzip : Compression::none)
                    .ok());
  }
}

TEST(Memory, OfWindowsOverRecordsOfAnySizeStaysWithinTheBudgetAndDoesNotGrow) {
  const testing::Folder folder;
  write_sequences(folder);
  constexpr std::int64_t budget = std::int64_t{32} << 20;
  for (const std::string windows :
       {R"({"continuous": {"min_window": 20, "max_window": 300, "stride": 150, "tail": "keep"}})",
        R"({"continuous": {"min_window": 1000, "max_window": 1000, "stride": 900}})",
        R"({"discrete": {"min_window": 1, "max_window": 9, "tail": "keep"}})"}) {
    const Json json = testing::parse(
        R"({"source": {"tfrecord": {"files": [")" + folder.file("part-*") +
        R"("]}}, "decode": {"sequence_example": {"lists":
            {"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [100], "allow_missing": true}}}},
            "steps": [{"shuffle": {"buffer": 3}}, )" +
        windows + R"(, {"interleave": {"cycle": 2}}, {"shuffle": {"buffer": 40}}, {"batch": {"size": 4, "pad": true}}],
            "epochs": 20})");
    const std::int64_t before = tests::resident_bytes();
    auto pipeline = load(json, {.threads = 2, .memory = budget});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    std::int64_t max = 0, rows = 0;
    while (true) {
      auto batch = pipeline->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) break;
      rows += (*batch)->rows();
      max = std::max(max, tests::resident_bytes());
    }
    EXPECT_GT(rows, 600);
    EXPECT_LT(max - before, budget + (std::int64_t{64} << 20)) << windows;
  }
}

}  // namespace
}  // namespace forebay
