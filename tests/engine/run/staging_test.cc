// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>

#include <forebay/forebay.h>
#include <forebay/staging.h>

#include "tests/engine/order/stream_files.h"
#include "tests/engine/run/fake_gpu.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using testing::FakeGpu;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

Loader numbers_in_threes(std::int64_t rows) {
  auto values = std::make_shared<Floats>(static_cast<std::size_t>(rows));
  std::iota(values->begin(), values->end(), 0.0F);
  const auto source =
      array_rows({{.name = "x", .dtype = DType::float32, .shape = {rows}, .data = values->data()}}, values);
  const Json document = testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 3}}]})");
  return *load(document, {.threads = 1}, ".", {{"in", *source}});
}

Floats floats(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

std::vector<Floats> staged_left(StagedBatches& batches) {
  std::vector<Floats> out;
  while (true) {
    auto batch = batches.next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) return out;
    EXPECT_EQ((*batch)->find("y"), nullptr);
    EXPECT_EQ((*batch)->batch.rows(), (*batch)->find("x")->shape[0]);
    out.push_back(floats(*(*batch)->find("x")));
  }
}

TEST(StagedBatches, AreTheBatchesOfTheLoaderForAnyNumberAhead) {
  for (const std::int64_t ahead : {0, 1, 5}) {
    Loader loader = numbers_in_threes(8);
    StagedBatches batches{loader, cpu_staging(), ahead};
    EXPECT_THAT(staged_left(batches), ElementsAre(Floats{0, 1, 2}, Floats{3, 4, 5}, Floats{6, 7}));
    EXPECT_EQ(batches.waiting(), 0);
  }
}

TEST(StagedBatches, OnTheHostAreTheMemoryOfTheBatch) {
  Loader loader = numbers_in_threes(3);
  StagedBatches batches{loader, cpu_staging()};
  const auto batch = batches.next();
  EXPECT_EQ((*batch)->find("x")->data, (*batch)->batch.tensor("x").data);
  EXPECT_TRUE((*batch)->staged->wait(nullptr).ok() && *(*batch)->staged->ready());
}

TEST(StagedBatches, HaveTheStateOfTheBatchThatWasGivenAndNotOfThoseAhead) {
  Loader plain = numbers_in_threes(8), loader = numbers_in_threes(8), other = numbers_in_threes(8);
  StagedBatches batches{loader, cpu_staging(), 2};
  StagedBatches again{other, cpu_staging(), 2};
  for (std::int64_t at = 0; at <= 3; ++at) {
    EXPECT_EQ(batches.state()->text(), plain.state()->text());
    ASSERT_TRUE(again.restore(*batches.state()).ok());
    EXPECT_EQ(std::ssize(staged_left(again)), 3 - at);
    ASSERT_TRUE(batches.next().ok() && plain.next().ok());
  }
}

TEST(StagedBatches, DoNotWaitForBatchesAfterTheOneThatIsAskedFor) {
  Schema schema;
  schema.put({.name = "x", .dtype = DType::float32, .shape = {}});
  Feed feed = *Feed::make(schema);
  const Json document = testing::parse(R"({"source": {"feed": {"bind": "in"}}, "steps": [{"batch": {"size": 1}}]})");
  Loader loader = *load(document, {.threads = 1}, ".", {{"in", feed.source()}});
  StagedBatches batches{loader, cpu_staging(), 4};
  for (float value = 0; value < 3; ++value) {
    const auto row = array_rows({{.name = "x", .dtype = DType::float32, .shape = {1}, .data = &value}}, nullptr);
    ASSERT_TRUE(*feed.put(**row, std::chrono::seconds{1}));
    EXPECT_THAT(floats(*(*batches.next())->find("x")), ElementsAre(value));
  }
  feed.fail(Error{Code::data, Detail::data_loss, "the sensor is gone"});
  for (int i = 0; i < 2; ++i) EXPECT_THAT(batches.next().error().text(), HasSubstr("the sensor is gone"));
}

Tensor tensor_over(Floats& values) {
  return {
      .dtype = DType::float32, .shape = Shape{std::ssize(values)}, .data = reinterpret_cast<std::byte*>(values.data())};
}

TEST(GpuStaging, CopiesLaterWhatTheTensorsWereWhenItBegan) {
  const FakeGpu gpu;
  const auto staging = *cuda_staging(FakeGpu::options(1));
  EXPECT_EQ(staging->device(), "cuda:1");
  Floats x{1, 2, 3}, y(1000, 7.0F), none;
  const std::vector<Tensor> host{tensor_over(x), tensor_over(none), tensor_over(y)};
  const auto staged = *staging->begin(host);
  x = {9, 9, 9};
  EXPECT_FALSE(*staged->ready());
  EXPECT_EQ(std::pair(gpu.cuda->begun, gpu.cuda->done), std::pair(1, 0)) << "one copy for all tensors, not waited for";
  gpu.advance(1);
  EXPECT_TRUE(*staged->ready());
  EXPECT_THAT(floats(staged->tensors[0]), ElementsAre(1, 2, 3));
  EXPECT_EQ(staged->tensors[1].shape, Shape{0});
  EXPECT_EQ(floats(staged->tensors[2]), y);
  EXPECT_EQ(gpu.cuda->synchronized, 0);
  EXPECT_EQ(gpu.cuda->current, 0) << "the device of the thread is the one that it was";
}

TEST(GpuStaging, HoldsTheStreamOfTheConsumerBackAndFreesAfterItsWork) {
  const FakeGpu gpu;
  Floats x{1, 2, 3};
  int stream = 0;
  {
    const auto staging = *cuda_staging(FakeGpu::options());
    auto staged = *staging->begin(std::vector{tensor_over(x)});
    ASSERT_TRUE(staged->wait(&stream).ok());
    EXPECT_EQ(gpu.cuda->held_back, &stream);
    const Tensor kept = staged->tensors[0];
    staged.reset();
    EXPECT_EQ(gpu.cuda->memory, 1) << "a tensor outlives what staged it";
  }
  EXPECT_EQ(gpu.cuda->freed_after, &stream);
  EXPECT_EQ(gpu.cuda->synchronized, 1) << "the last buffer is freed after its copy";
  EXPECT_THAT((std::vector{gpu.cuda->memory, gpu.cuda->pinned, gpu.cuda->streams, gpu.cuda->events}),
              ::testing::Each(0));
}

TEST(GpuStaging, UsesPageLockedBuffersAgainAndHasFourAtMost) {
  const FakeGpu gpu;
  const auto staging = *cuda_staging(FakeGpu::options());
  Floats x{0, 0};
  std::vector<std::shared_ptr<StagedTensors>> all;
  for (int i = 0; i < 20; ++i) {
    x[0] = static_cast<float>(i);
    all.push_back(*staging->begin(std::vector{tensor_over(x)}));
    gpu.advance(1);
  }
  EXPECT_EQ(std::pair(gpu.cuda->pinned, gpu.cuda->synchronized), std::pair(1, 0));
  for (int i = 20; i < 30; ++i) {
    x[0] = static_cast<float>(i);
    all.push_back(*staging->begin(std::vector{tensor_over(x)}));
  }
  EXPECT_EQ(std::pair(gpu.cuda->pinned, gpu.cuda->synchronized), std::pair(4, 6));
  EXPECT_EQ(gpu.cuda->last_error, 0) << "a copy that is not done is no error of the program's next call";
  EXPECT_EQ(gpu.cuda->strict_captures, 0);
  gpu.advance(100);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(floats(all[i]->tensors[0])[0], static_cast<float>(i));
  Floats large(1 << 20);
  all.push_back(*staging->begin(std::vector{tensor_over(large)}));
  EXPECT_LE(gpu.cuda->pinned, 4);
}

TEST(GpuStaging, GivesTheBatchesOfALoader) {
  const FakeGpu gpu;
  Loader loader = numbers_in_threes(8);
  StagedBatches batches{loader, *cuda_staging(FakeGpu::options()), 2};
  std::vector<Floats> got;
  while (true) {
    const auto batch = batches.next();
    if (!*batch) break;
    gpu.advance(1);
    got.push_back(floats(*(*batch)->find("x")));
    EXPECT_NE((*batch)->find("x")->data, (*batch)->batch.tensor("x").data);
  }
  EXPECT_THAT(got, ElementsAre(Floats{0, 1, 2}, Floats{3, 4, 5}, Floats{6, 7}));
}

TEST(GpuStaging, TellsWhatIsMissingOrFails) {
  const FakeGpu gpu;
  EXPECT_THAT(cuda_staging({.library = "/nowhere/libcudart.so"}).error().text(), HasSubstr("/nowhere/libcudart.so"));
  EXPECT_THAT(cuda_staging({.library = "libm.so.6"}).error().text(), HasSubstr("it has no cudaGetDeviceCount"));
  EXPECT_THAT(cuda_staging(FakeGpu::options(2)).error().text(), HasSubstr("there is no GPU 2; this machine has 2"));
  EXPECT_EQ(cuda_staging(FakeGpu::options(-1)).error().code(), Code::config);
  gpu.cuda->devices = 0;
  EXPECT_THAT(cuda_staging(FakeGpu::options()).error().text(), HasSubstr("no GPU can be used: something else"));
  gpu.cuda->devices = 2;
  const auto staging = *cuda_staging(FakeGpu::options());
  Floats x{1};
  gpu.cuda->fails = 2;
  const auto failed = staging->begin(std::vector{tensor_over(x)});
  EXPECT_EQ(failed.error().code(), Code::io);
  EXPECT_THAT(failed.error().text(), HasSubstr("copying a batch on the GPU failed: out of memory (CUDA error 2)"));
  EXPECT_EQ(gpu.cuda->memory, 0);
  const Tensor text{.dtype = DType::string};
  for (const auto& any : {cpu_staging(), staging})
    EXPECT_THAT(any->begin(std::vector{text}).error().text(), HasSubstr("strings cannot be staged"));
}

}  // namespace
}  // namespace forebay
