// SPDX-License-Identifier: Apache-2.0
// Runs whose batches lie in page-locked memory, over a CUDA runtime without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <forebay/forebay.h>

#include "tests/engine/order/stream_files.h"
#include "tests/engine/run/fake_gpu.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using testing::FakeGpu;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
constexpr std::int64_t width = 10'000;  // numbers in a row: a batch is larger than small classes of buffers

/// Row i of the batches is `width` times i.
Loader rows_by_two(std::int64_t rows, RunOptions options, const std::string& steps = "") {
  auto values = std::make_shared<Floats>(static_cast<std::size_t>(rows * width));
  for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] = static_cast<float>(i / width);
  const auto source =
      array_rows({{.name = "x", .dtype = DType::float32, .shape = {rows, width}, .data = values->data()}}, values);
  const Json document =
      testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 2}})" + steps + "]}");
  return *load(document, std::move(options), ".", {{"in", *source}});
}

Floats first_of_each_row(const Tensor& tensor) {
  Floats out;
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row)
    out.push_back(tensor.as<float>()[static_cast<std::size_t>(row * width)]);
  return out;
}

TEST(PinnedRun, LocksAsManyBuffersAsItHasBatchesAtOnceAndUnlocksAll) {
  const FakeGpu gpu;
  {
    Loader loader = rows_by_two(400, {.threads = 2, .prefetch = 3, .pin_memory = *FakeGpu::pins()});
    for (Batch& batch : loader.batches()) {
      EXPECT_TRUE(page_locked(batch.tensor("x")));
      EXPECT_GE(loader.stats().memory_pinned, 2 * width * 4);
    }
    EXPECT_TRUE(loader.status().ok());
    EXPECT_THAT(loader.stats().text(), HasSubstr(", page-locked 0."));
    loader.close();
    EXPECT_EQ(loader.stats().memory_pinned, 0);
  }
  EXPECT_LE(gpu.cuda->registrations, 10) << "of 200 batches";
  EXPECT_EQ(std::pair(gpu.cuda->registered, gpu.cuda->events), std::pair(0L, 0));
  EXPECT_EQ(gpu.cuda->last_error, 0);
}

TEST(PinnedRun, BatchesOutliveTheLoaderAndUnlockTheirMemoryLast) {
  const FakeGpu gpu;
  std::optional<Batch> kept;
  {
    Loader loader = rows_by_two(20, {.threads = 2, .pin_memory = *FakeGpu::pins()});
    for (Batch& batch : loader.batches()) {
      if (batch.number() == 3) kept = std::move(batch);
    }
  }
  EXPECT_GT(gpu.cuda->registered, 0);
  EXPECT_THAT(first_of_each_row(kept->tensor("x")), ElementsAre(6, 7));
  kept.reset();
  EXPECT_EQ(gpu.cuda->registered, 0);
}

/// Copies each batch to the "device" in a stream and drops it; the device does nothing until all is read.
std::vector<Floats> copied_late(const FakeGpu& gpu, Loader& loader, void* stream, bool told) {
  std::vector<Floats> device;
  device.reserve(100);  // the copies have its addresses
  for (Batch& batch : loader.batches()) {
    const Tensor& x = batch.tensor("x");
    const std::size_t bytes = x.as<float>().size() * sizeof(float);
    gpu.copy(device.emplace_back(x.as<float>().size()).data(), x.data, bytes, 1, stream);
    EXPECT_TRUE(!told || record_stream(batch, 0, stream).ok());
  }
  gpu.advance(1'000);
  std::vector<Floats> out;
  for (const Floats& each : device) out.push_back({each.front(), each.back()});
  return out;
}

std::vector<Floats> pairs(std::int64_t rows) {
  std::vector<Floats> out;
  for (std::int64_t i = 0; i < rows; i += 2) out.push_back({static_cast<float>(i), static_cast<float>(i + 1)});
  return out;
}

TEST(PinnedRun, ABatchThatACopyInTheDefaultStreamReadsIsNotOverwritten) {
  const FakeGpu gpu;
  Loader loader = rows_by_two(40, {.threads = 2, .prefetch = 1, .pin_memory = *FakeGpu::pins()});
  EXPECT_EQ(copied_late(gpu, loader, nullptr, false), pairs(40));
  EXPECT_EQ(gpu.cuda->synchronized, 0) << "nothing waits for the device";
}

TEST(PinnedRun, ABatchThatACopyInAnotherStreamReadsIsNotOverwrittenAfterRecordStream) {
  const FakeGpu gpu;
  int stream = 0;
  Loader loader = rows_by_two(40, {.threads = 2, .prefetch = 1, .pin_memory = *FakeGpu::pins()});
  EXPECT_EQ(copied_late(gpu, loader, &stream, true), pairs(40));
}

TEST(PinnedRun, MemoryStaysWithinTheBudgetWhenTheDeviceIsBehind) {
  const FakeGpu gpu;
  const std::int64_t budget = 1 << 20;  // of 80,000 bytes a batch
  Loader loader = rows_by_two(160, {.threads = 1, .memory = budget, .pin_memory = *FakeGpu::pins()});
  std::int64_t max = 0;
  std::vector<Floats> device;
  device.reserve(100);
  for (Batch& batch : loader.batches()) {
    const Tensor& x = batch.tensor("x");
    gpu.copy(device.emplace_back(x.as<float>().size()).data(), x.data, 2 * width * sizeof(float), 1, nullptr);
    max = std::max(max, loader.stats().memory_pinned);
  }
  EXPECT_LE(max, budget + 100'000);
  EXPECT_GT(gpu.cuda->synchronized, 0);
  gpu.advance(1'000);
  for (std::size_t i = 0; i < device.size(); ++i) EXPECT_EQ(device[i].front(), static_cast<float>(2 * i));
}

TEST(PinnedRun, PaddedTensorsAndThoseOfStepsAfterTheBatchLieThereToo) {
  const FakeGpu gpu;
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 100);
  const Json document = testing::document(
      folder.file("a"), R"({"batch": {"size": 10, "pad": true}}, {"cast": {"tensor": "x", "dtype": "float64"}})");
  Loader loader = *load(document, {.threads = 2, .pin_memory = *FakeGpu::pins()});
  Loader plain = *load(document, {.threads = 2});
  for (Batch& batch : loader.batches()) {
    const auto other = *plain.next();
    for (const std::string& name : batch.names()) {
      const Value& value = *batch.find(name);
      const bool numbers = value.kind == Value::Kind::dense && value.values.dtype != DType::string;
      EXPECT_EQ(page_locked(value.values), numbers) << name;
      EXPECT_FALSE(page_locked(other->find(name)->values));
    }
    const auto x = batch.tensor("x").as<double>(), y = other->tensor("x").as<double>();
    EXPECT_EQ(std::vector(x.begin(), x.end()), std::vector(y.begin(), y.end()));
  }
  EXPECT_TRUE(loader.status().ok());
}

TEST(PinnedRun, UsesTheGpuOfTheThreadThatAskedForTheMemoryAndNoOther) {
  const FakeGpu gpu;
  const auto use = [&] {  // in a thread of its own, as the current GPU is one of the thread
    gpu.set_device(1);
    Loader loader = rows_by_two(40, {.threads = 3, .pin_memory = *FakeGpu::pins()});
    for (Batch& batch : loader.batches()) EXPECT_TRUE(page_locked(batch.tensor("x")));
  };
  std::thread{use}.join();
  EXPECT_EQ(gpu.cuda->contexts, 1 << 1);
  EXPECT_EQ(gpu.cuda->strict_captures, 0) << "a graph that another thread captures is not disturbed";
}

TEST(PinnedRun, AForkedChildLeavesThePagesOfTheParentAlone) {
  const FakeGpu gpu;
  Loader loader = rows_by_two(20, {.threads = 2, .pin_memory = *FakeGpu::pins()});
  std::optional<Batch> batch = *loader.next();
  const pid_t child = fork();
  if (child == 0) {
    const int before = gpu.cuda->registrations;
    const long locked = gpu.cuda->registered;
    batch.reset();
    const bool refused = !loader.next().ok();
    _exit(refused && gpu.cuda->registrations == before && gpu.cuda->registered == locked ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(first_of_each_row(batch->tensor("x")), ElementsAre(0, 1));
}

TEST(PinnedRun, ARestartLocksAndUnlocksItsOwnBuffers) {
  const FakeGpu gpu;
  {
    Loader loader = rows_by_two(40, {.threads = 2, .pin_memory = *FakeGpu::pins()});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(loader.next().ok());
    const Json state = *loader.state();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(loader.restore(state).ok());
      EXPECT_THAT(first_of_each_row((*loader.next())->tensor("x")), ElementsAre(6, 7));
    }
  }
  EXPECT_EQ(gpu.cuda->registered, 0);
}

TEST(PinnedRun, TellsWhatIsMissingBeforeItBegins) {
  const FakeGpu gpu;
  const auto failed = [](const CudaPinning& options) { return cuda_pinned_memory(options).error(); };
  const std::string here = FOREBAY_FAKE_CUDART;
  EXPECT_EQ(failed({.library = "/nowhere/libcudart.so"}).code(), Code::config);
  EXPECT_THAT(failed({.library = "/nowhere/libcudart.so"}).text(),
              ::testing::AllOf(HasSubstr("the CUDA runtime cannot be used: /nowhere/libcudart.so"),
                               HasSubstr("or load without pin_memory")));
  EXPECT_EQ(
      failed({.device = 2, .library = here}).text(),
      "memory cannot be page-locked, as no GPU can be used: there is no GPU 2; this machine has 2, counted from 0; "
      "load without pin_memory");
  gpu.cuda->max_registered = 100;
  EXPECT_EQ(
      failed({.library = here}).text(),
      "4096 bytes of the host cannot be page-locked: out of memory (CUDA error 2); the system limits such memory: "
      "lower `memory` or `prefetch`, or load without pin_memory");
  gpu.cuda->devices = 0;
  EXPECT_EQ(
      failed({.library = here}).text(),
      "memory cannot be page-locked, as no GPU can be used: something else (CUDA error 100); load without pin_memory");
  EXPECT_EQ(std::pair(gpu.cuda->registered, gpu.cuda->last_error), std::pair(0L, 0));
}

TEST(PinnedRun, ALimitThatABatchDoesNotFitIsItsError) {
  const FakeGpu gpu;
  const auto pins = *FakeGpu::pins();
  gpu.cuda->max_registered = 50'000;
  Loader loader = rows_by_two(20, {.threads = 1, .pin_memory = pins});
  EXPECT_THAT(loader.next().error().text(), HasSubstr("bytes of the host cannot be page-locked: out of memory"));
  EXPECT_THAT(loader.next().error().text(), HasSubstr("bytes of the host cannot be page-locked: out of memory"));
}

}  // namespace
}  // namespace forebay
