// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/shard_passes.h"

#include <chrono>

#include "engine/memory/catch_all.h"
#include "engine/order/order_plane.h"
#include "engine/order/shards/pass_counts.h"

namespace forebay::engine {

namespace {

/// A program and its open parts, which `stop` may hold a little longer than the walk.
struct Walked {
  Program program;
  std::unique_ptr<OpenParts> parts;
};

}  // namespace

ShardPasses::ShardPasses(std::vector<std::shared_ptr<const Program>> shards, std::int64_t memory, RunMeans means)
    : shards_{std::move(shards)}, memory_{memory}, means_{std::move(means)}, up_to_(shards_.size(), {-1, 0}) {}

ShardPasses::~ShardPasses() { stop(); }

Error ShardPasses::failure() const {
  const Lock lock{mutex_};
  return failure_.value_or(was_closed);
}

void ShardPasses::start() {
  const Lock lock{mutex_};
  if (!stopped_ && !thread_.joinable()) thread_ = std::thread{[this] { answer(); }};
}

void ShardPasses::stop() {
  std::thread thread;
  std::shared_ptr<OpenParts> open;
  {
    const Lock lock{mutex_};
    stopped_ = true;
    changed_.notify_all();
    thread = std::move(thread_);
    open = open_;
  }
  if (open) open->stop();  // without the mutex: it waits for `wake`
  function_.close();
  if (thread.joinable()) thread.join();
}

void ShardPasses::answer() {
  while (true) {
    const auto question = function_.next(std::chrono::hours{1});
    if (!question.ok()) return;
    if (!*question) continue;
    Result<std::vector<std::int64_t>> counted = was_closed;
    const auto thrown = catch_all([&] { counted = count((*question)->front()); }, no_memory_for_run);
    if (thrown) counted = *thrown;
    if (!counted.ok()) {
      const Lock lock{mutex_};
      failure_ = counted.error();
    }
    function_.answer(**question, counted.ok() ? *counted : std::vector<std::int64_t>{});
  }
}

Result<std::vector<std::int64_t>> ShardPasses::count(std::int64_t pass) {
  std::vector<std::int64_t> out;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    FOREBAY_TRY(const std::int64_t batches, batches(shard, pass));
    out.push_back(batches);
  }
  return out;
}

Result<std::int64_t> ShardPasses::batches(std::size_t shard, std::int64_t pass) {
  const Program& program = *shards_[shard];
  if (passes_are_alike(program) && !repeats_branches(program)) return walk(program, pass, pass);
  auto& [last, before] = up_to_[shard];
  if (pass == 0) before = 0;
  if (pass > 0 && last != pass - 1) {
    FOREBAY_TRY(before, walk(program, 0, pass - 1));
  }
  FOREBAY_TRY(const std::int64_t all, walk(program, 0, pass));
  last = pass;
  return all - std::exchange(before, all);
}

/// The batches of passes `first` to `pass`.
Result<std::int64_t> ShardPasses::walk(const Program& shard, std::int64_t first, std::int64_t pass) {
  const auto walked = std::make_shared<Walked>(Walked{.program = shard, .parts = {}});
  const Program& program = walked->program;
  walked->program.epochs = pass + 1;
  walked->parts = open_parts(program, std::make_shared<BufferPool>(memory_), means_, [this] { wake(); });
  OpenParts& parts = *walked->parts;
  Position start{.epoch = first, .from = pass + 1};
  start.branches.assign(program.branches.size(), BranchCursor{.epoch = first});
  {
    const Lock lock{mutex_};
    if (stopped_) return was_closed;
    open_ = std::shared_ptr<OpenParts>{walked, &parts};
  }
  Result<std::int64_t> out = was_closed;
  {
    OrderPlane order{program, parts, start};
    BatchLayout layout;
    while (true) {
      parts.set_deadline({});
      const auto more = order.next(layout);  // no batch is wanted, so it goes to the end
      if (more.ok()) {
        out = order.batches_cut();
        break;
      }
      if (parts.interrupted(more.error()) && wait()) continue;
      out = more.error();
      break;
    }
  }
  {
    const Lock lock{mutex_};
    open_.reset();
  }
  parts.stop();
  parts.close_readers();
  return out;
}

void ShardPasses::wake() {
  const Lock lock{mutex_};
  awake_ = true;
  changed_.notify_all();
}

/// Waits until rows or bytes have come. Returns false after `stop`.
bool ShardPasses::wait() {
  const Lock lock{mutex_};
  while (!awake_ && !stopped_) changed_.wait(mutex_);
  awake_ = false;
  return !stopped_;
}

}  // namespace forebay::engine
