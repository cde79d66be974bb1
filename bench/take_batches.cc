// SPDX-License-Identifier: Apache-2.0
// Compares batches of spans, from the cut of the tickets to the finished tensor, with memcpy of the same bytes.
//   ninja -C build/release bench_take_batches && build/release/bench_take_batches
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <forebay/forebay.h>

#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "engine/tickets/executor.h"
#include "processor_time.h"

namespace forebay::engine {
namespace {

using bench::seconds;

constexpr std::int64_t element_frames = 512;
constexpr std::int64_t features = 16;  // float32: frames of 64 bytes
constexpr std::int64_t rows_of_batch = 1024;

/// Batches of windows of an array in memory.
class Windows {
 public:
  Windows(std::int64_t elements, std::int64_t frames) : frames_{frames}, elements_{elements} {
    source_.assign(static_cast<std::size_t>(elements * element_frames * features), 1.0F);
    const std::vector<std::int64_t> shape{elements, element_frames, features};
    auto rows = array_rows({{.name = "x", .dtype = DType::float32, .shape = shape, .data = source_.data()}}, nullptr);
    const auto document = parse_json(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": )" +
                                     std::to_string(elements) + "}}]}");
    plan_.emplace(*Plan::make(*document, ".", {{"in", *rows}}));
    program_ = std::make_shared<Program>(program_of(*plan_));
    open_files_ = std::make_unique<OpenFiles>(*program_, pool_);
    order_ = std::make_unique<OrderPlane>(*program_, *open_files_);
    if (const auto more = order_->next(layout_); !more.ok()) std::puts(more.error().text().c_str());
    taking_ = std::make_shared<Program>(*program_);
    taking_->taking.emplace();
    Output& output = taking_->batched[0];
    output.spec.shape = Shape{unknown_dim, features};
    output.spec.delivery = Delivery::padded;
    const ColumnId from = output.id;
    output.id = taking_->schema.put(output.spec);
    taking_->taking->cut.push_back({from, output.id, 0});
    taking_->outputs = taking_->batched;
    executor_ = std::make_unique<Executor>(taking_, pool_, 1);
    worker_.emplace(executor_->worker(0));
    draw();
  }

  void take() {
    job_.layout.handles = layout_.handles;
    job_.layout.row_blocks = layout_.row_blocks;
    job_.layout.blocks = layout_.blocks;
    job_.layout.taken = spans_;
    job_.layout.rows = rows_of_batch;
    if (!executor_->cut(job_).ok()) std::puts("cut failed");
    for (std::size_t i = 0; i < job_.cut; ++i) {
      if (executor_->run(*job_.tickets[i], *worker_)) std::puts("a ticket failed");
    }
    if (executor_->finish(job_)) std::puts("finish failed");
    job_.content.reset();
  }
  void copy() {
    const std::size_t bytes = span_bytes();
    const auto memory = pool_->lend(bytes * static_cast<std::size_t>(rows_of_batch));
    std::byte* to = memory.get();
    for (const columns::PlacedSpan& span : spans_.spans[0]) {
      const std::int64_t frame = std::int64_t{used_[span.element]} * element_frames + span.start;
      std::memcpy(to, source_.data() + frame * features, bytes);
      to += bytes;
    }
  }
  [[nodiscard]] std::size_t span_bytes() const { return static_cast<std::size_t>(frames_ * features) * sizeof(float); }

 private:
  /// Each row is a window of another element, at a random place.
  void draw() {
    std::mt19937_64 random{7};
    const auto below = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    BatchLayout all;
    std::swap(all, layout_);
    layout_.blocks = all.blocks;
    spans_.spans.resize(1);
    for (std::int64_t row = 0; row < rows_of_batch; ++row) {
      const auto element = static_cast<std::uint32_t>(below(elements_));
      used_.push_back(element);
      layout_.handles.push_back(all.handles[element]);
      layout_.row_blocks.push_back(all.row_blocks[element]);
      spans_.spans[0].push_back({.element = static_cast<std::uint32_t>(row),
                                 .start = below(element_frames - frames_ + 1),
                                 .length = frames_,
                                 .row = row});
      spans_.whole.push_back(row);
    }
  }

  const std::int64_t frames_;
  const std::int64_t elements_;
  std::vector<float> source_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 32);
  std::optional<Plan> plan_;
  std::shared_ptr<Program> program_, taking_;
  std::unique_ptr<OpenFiles> open_files_;
  std::unique_ptr<OrderPlane> order_;
  BatchLayout layout_;
  RowSpans spans_;
  std::vector<std::uint32_t> used_;  // by element of the batch: its row of the array
  std::unique_ptr<Executor> executor_;
  std::optional<Worker> worker_;
  Job job_;
};

void compare(const char* name, std::int64_t elements, std::int64_t frames) {
  Windows work{elements, frames};
  double take = 1e9, copy = 1e9;
  for (int round = 0; round < 25; ++round) {
    take = std::min(take, seconds([&] { work.take(); }));
    copy = std::min(copy, seconds([&] { work.copy(); }));
  }
  const auto total = static_cast<double>(work.span_bytes()) * rows_of_batch;
  std::printf("%-8s %6zu-byte windows: batches %6.2f GB/s, memcpy %6.2f GB/s, ratio %.2f, %.1f ns a window more\n",
              name, work.span_bytes(), total / take / 1e9, total / copy / 1e9, copy / take,
              (take - copy) / static_cast<double>(rows_of_batch) * 1e9);
}

}  // namespace
}  // namespace forebay::engine

int main() {
  for (const std::int64_t frames : {2, 16, 128}) {
    forebay::engine::compare("cache", 16, frames);
    forebay::engine::compare("memory", 4096, frames);
  }
}
