// SPDX-License-Identifier: Apache-2.0
#include "queues/queue_elements.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "queues/live_example.h"
#include "queues/saver_plan.h"

namespace forebay::queues {

namespace {

constexpr std::int64_t max_joined = std::int64_t{1} << 40;  // elements of a batch

Error queue_fault(const QueueOptions& options, std::string_view what) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("queue {}: {}", quote(options.name), what)};
}

void check_components(const QueueOptions& options, std::vector<Error>& faults) {
  if (options.components.empty()) faults.push_back(queue_fault(options, "it has no component; declare one or more"));
  for (const QueueComponent& component : options.components) {
    if (options.kind != QueueKind::padding_fifo && component.shape && !component.shape->known())
      faults.push_back(queue_fault(
          options, fmt::format("component {} has the shape {}; only a padding_fifo queue has unknown sizes, others "
                               "have all sizes, or no shape at all",
                               quote(component.name), component.shape->text())));
    if (options.kind == QueueKind::padding_fifo && !component.shape)
      faults.push_back(queue_fault(
          options, fmt::format("component {} has no shape; a padding_fifo queue needs the number of axes of each",
                               quote(component.name))));
  }
  if (options.kind != QueueKind::priority || options.components.empty()) return;
  const QueueComponent& first = options.components.front();
  if (first.dtype != DType::int64 || first.shape != Shape{})
    faults.push_back(queue_fault(
        options, fmt::format("its first component is the priority and must be int64[], found {}{}",
                             to_string(first.dtype), first.shape ? first.shape->text() : " without a shape")));
}

/// The tensors without an owner become copies.
void own(QueueElement& tensors) {
  for (Tensor& tensor : tensors) {
    if (!tensor.owner) tensor = copy_of(tensor);
  }
}

/// Fails unless each tensor has the type and the shape of its component; `rows`: behind an axis of so many rows.
Result<void> check_fit(const QueueOptions& options, const QueueElement& tensors, std::optional<std::int64_t> rows) {
  if (tensors.size() != options.components.size())
    return queue_fault(options, fmt::format("found {} tensors, allowed is one for each of its {} components",
                                            tensors.size(), options.components.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const QueueComponent& component = options.components[i];
    const std::vector<std::int64_t>& found = tensors[i].shape.dims();
    std::vector<std::int64_t> allowed;
    if (rows) allowed.push_back(*rows);
    if (component.shape) {
      allowed.insert(allowed.end(), component.shape->dims().begin(), component.shape->dims().end());
    } else {
      const std::size_t known = std::min(allowed.size(), found.size());
      allowed.insert(allowed.end(), found.begin() + static_cast<std::ptrdiff_t>(known), found.end());
    }
    for (std::size_t axis = 0; axis < allowed.size() && axis < found.size(); ++axis) {
      if (allowed[axis] == unknown_dim && found.size() == allowed.size()) allowed[axis] = found[axis];
    }
    FOREBAY_DO(check_tensor(tensors[i], component.dtype, Shape{std::move(allowed)},
                            fmt::format("queue {}: component {}", quote(options.name), quote(component.name))));
  }
  return {};
}

Tensor row_of(const Tensor& rows, std::int64_t row) {
  Tensor out = rows;
  out.shape = Shape{std::vector(rows.shape.dims().begin() + 1, rows.shape.dims().end())};
  const std::int64_t first = row * out.shape.count();
  if (rows.dtype == DType::string) {
    out.byte_splits = rows.byte_splits + first;
  } else {
    out.data = rows.data + static_cast<std::size_t>(first) * size_of(rows.dtype);
  }
  return out;
}

/// The largest size of each axis.
Shape joined_shape(const std::vector<QueueElement>& elements, std::size_t component, const Shape& declared) {
  std::vector<std::int64_t> sizes = declared.dims();
  if (elements.empty()) std::ranges::replace(sizes, unknown_dim, std::int64_t{0});
  for (const QueueElement& element : elements) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      sizes[axis] = std::max(sizes[axis], element[component].shape[axis]);
  }
  sizes.insert(sizes.begin(), std::ssize(elements));
  Shape shape{std::move(sizes)};
  if (shape.count() > max_joined) throw std::length_error{"more elements than memory has bytes"};
  return shape;
}

/// Calls `run(from, to)` for each innermost row of `part`, where `whole` has more space: `from` counts elements of the
/// part, `to` those of the whole. The first call has axis, from and to 0.
template <class Run>
void each_run(const Shape& part, const Shape& whole, std::size_t axis, std::int64_t from, std::int64_t to,
              const Run& run) {
  if (part.rank() == 0) return run(0, 0);
  if (axis + 1 == part.rank()) return run(from * part[axis], to * whole[axis]);
  for (std::int64_t i = 0; i < part[axis]; ++i)
    each_run(part, whole, axis + 1, from * part[axis] + i, to * whole[axis] + i, run);
}

void join_numbers(const std::vector<QueueElement>& elements, std::size_t component, Tensor& out) {
  const std::size_t size = size_of(out.dtype);
  const Shape whole{std::vector(out.shape.dims().begin() + 1, out.shape.dims().end())};
  const std::size_t bytes = static_cast<std::size_t>(whole.count()) * size;
  std::byte* row = out.data;
  for (const QueueElement& element : elements) {
    const Tensor& part = element[component];
    if (part.shape == whole) {
      if (bytes > 0) std::memcpy(row, part.data, bytes);
    } else {
      std::memset(row, 0, bytes);
      if (part.count() > 0) {
        const std::size_t run = static_cast<std::size_t>(part.shape[part.shape.rank() - 1]) * size;
        each_run(part.shape, whole, 0, 0, 0, [&](std::int64_t from, std::int64_t to) {
          std::memcpy(row + static_cast<std::size_t>(to) * size, part.data + static_cast<std::size_t>(from) * size,
                      run);
        });
      }
    }
    row += bytes;
  }
}

/// Strings of a batch, and the memory of them.
struct JoinedTexts {
  std::vector<std::int64_t> splits;
  std::vector<std::byte> bytes;
};

void join_texts(const std::vector<QueueElement>& elements, std::size_t component, Tensor& out) {
  const Shape whole{std::vector(out.shape.dims().begin() + 1, out.shape.dims().end())};
  const auto texts = std::make_shared<JoinedTexts>();
  texts->splits.reserve(static_cast<std::size_t>(out.shape.count()) + 1);
  texts->splits.push_back(0);
  std::vector<std::int64_t> places(static_cast<std::size_t>(whole.count()));
  for (const QueueElement& element : elements) {
    const Tensor& part = element[component];
    std::ranges::fill(places, std::int64_t{-1});
    if (part.count() > 0) {
      const std::int64_t run = part.shape.rank() == 0 ? 1 : part.shape[part.shape.rank() - 1];
      each_run(part.shape, whole, 0, 0, 0, [&](std::int64_t from, std::int64_t to) {
        std::iota(places.begin() + to, places.begin() + to + run, from);
      });
    }
    for (const std::int64_t place : places) {
      if (place >= 0) {
        const std::int64_t* const splits = part.byte_splits + place;
        texts->bytes.insert(texts->bytes.end(), part.bytes + splits[0], part.bytes + splits[1]);
      }
      texts->splits.push_back(std::ssize(texts->bytes));
    }
  }
  out.byte_splits = texts->splits.data();
  out.bytes = texts->bytes.data();
  out.owner = texts;
}

}  // namespace

Result<void> check_options(const QueueOptions& options) {
  std::vector<Error> faults;
  check_components(options, faults);
  const bool shuffles = options.kind == QueueKind::random_shuffle;
  if (options.min_after_dequeue < 0 || (!shuffles && options.min_after_dequeue != 0))
    faults.push_back(queue_fault(options, fmt::format("min_after_dequeue: {}, allowed is {}", options.min_after_dequeue,
                                                      shuffles ? "0 or more" : "0 in a queue that does not shuffle")));
  if (shuffles && options.capacity >= 0 && options.min_after_dequeue >= options.capacity)
    faults.push_back(
        queue_fault(options, fmt::format("capacity {} must be bigger than min_after_dequeue {}, else no element "
                                         "ever comes out",
                                         options.capacity, options.min_after_dequeue)));
  if (!faults.empty()) return faults.size() == 1 ? faults.front() : Error::all(std::move(faults));
  return {};
}

Result<QueueElement> own_element(const QueueOptions& options, QueueElement element) {
  FOREBAY_DO(check_fit(options, element, {}));
  own(element);
  return element;
}

Result<std::vector<QueueElement>> own_rows(const QueueOptions& options, QueueElement rows) {
  std::int64_t count = 0;
  if (!rows.empty() && rows.front().shape.rank() > 0) count = rows.front().shape[0];
  FOREBAY_DO(check_fit(options, rows, count));
  own(rows);
  std::vector<QueueElement> out(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) {
    for (const Tensor& tensor : rows) out[static_cast<std::size_t>(row)].push_back(row_of(tensor, row));
  }
  return out;
}

Result<void> check_joined(const QueueOptions& options, std::int64_t count) {
  if (count < 0) return queue_fault(options, fmt::format("{} elements, allowed is 0 or more", count));
  for (const QueueComponent& component : options.components) {
    if (!component.shape)
      return queue_fault(options, fmt::format("component {} has no shape, so elements come out one at a time; declare "
                                              "its shape, or call dequeue",
                                              quote(component.name)));
  }
  return {};
}

std::vector<Tensor> join_rows(const QueueOptions& options, const std::vector<QueueElement>& elements,
                              SaverMemory& memory) {
  std::vector<Tensor> out(options.components.size());
  std::vector<Tensor*> numbers;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].dtype = options.components[i].dtype;
    out[i].shape = joined_shape(elements, i, *options.components[i].shape);
    if (out[i].dtype != DType::string) numbers.push_back(&out[i]);
  }
  if (!numbers.empty()) memory.place(numbers);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].dtype == DType::string ? join_texts(elements, i, out[i]) : join_numbers(elements, i, out[i]);
  return out;
}

}  // namespace forebay::queues
