// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/finish/batch_recycler.h"

#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t max_free = 64;
constexpr std::size_t max_free_rows = std::size_t{64} << 10;  // of handles: 1 MiB

/// The memory that the layout of a recycled batch has, in handles.
std::size_t room_of(const BatchLayout& layout) {
  return layout.handles.capacity() + layout.taken.bytes() / sizeof(Handle);
}

/// Keeps the capacity of the shape only.
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
}

std::shared_ptr<Batch::Content> BatchRecycler::take() {
  std::unique_ptr<Batch::Content> content = free_.take();
  if (content) {
    free_rows_ -= room_of(content->layout);
  } else {
    content = std::make_unique<Batch::Content>();
    content->program = program_;
    content->names = names_;
  }
  return {content.release(),
          [home = shared_from_this()](Batch::Content* done) { home->give(std::unique_ptr<Batch::Content>{done}); }};
}

void BatchRecycler::give(std::unique_ptr<Batch::Content> content) {
  if (free_.orphaned()) {
    free_.give(std::move(content));
    return abandon(shared_from_this());
  }
  for (Value& value : content->values) forget(value);
  content->lengths.clear();
  content->layout.clear();
  content->skipped.clear();
  const std::size_t rows = room_of(content->layout);
  if (free_rows_.fetch_add(rows) + rows > max_free_rows || !free_.give(std::move(content), max_free))
    free_rows_ -= rows;
}

}  // namespace forebay::engine
