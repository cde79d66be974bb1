// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/batch_recycler.h"

#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t max_kept = 64;
constexpr std::size_t max_kept_rows = std::size_t{64} << 10;  // 1 MiB of handles

/// Drops a value, but not the memory of its shape.
void forget(Value& value) {
  Shape shape = std::move(value.values.shape);
  value = {};
  value.values.shape = std::move(shape);
}

}  // namespace

BatchRecycler::BatchRecycler(std::shared_ptr<const Program> program) : program_{std::move(program)} {
  auto names = std::make_shared<std::vector<std::string>>();
  for (const Output& output : program_->outputs) names->push_back(output.spec.name);
  names_ = std::move(names);
  free_.reserve(max_kept);
}

std::shared_ptr<Batch::Content> BatchRecycler::take() {
  std::unique_ptr<Batch::Content> content;
  {
    const Lock lock{mutex_};
    if (!free_.empty()) {
      content = std::move(free_.back());
      free_.pop_back();
      kept_rows_ -= content->layout.handles.capacity();
    }
  }
  if (!content) {
    content = std::make_unique<Batch::Content>();
    content->program = program_;
    content->names = names_;
  }
  return {content.release(),
          [home = shared_from_this()](Batch::Content* done) { home->give(std::unique_ptr<Batch::Content>{done}); }};
}

void BatchRecycler::give(std::unique_ptr<Batch::Content> content) {
  if (forked_since(generation_)) {
    static_cast<void>(content.release());
    return abandon(shared_from_this());
  }
  for (Value& value : content->values) forget(value);
  content->lengths.clear();
  content->layout.clear();
  const std::size_t rows = content->layout.handles.capacity();
  const Lock lock{mutex_};
  if (free_.size() == max_kept || kept_rows_ + rows > max_kept_rows) return;
  kept_rows_ += rows;
  free_.push_back(std::move(content));
}

}  // namespace forebay::engine
