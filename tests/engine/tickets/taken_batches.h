// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "engine/tickets/executor.h"
#include "tests/engine/order/stream_files.h"
#include "tests/pipeline/tensors_json.h"

/// Batches of spans, with layouts that the test writes in place of the order plane.
namespace forebay::engine {

inline constexpr std::int64_t to_the_end = RowSpans::to_the_end;

/// The spans of one row along one axis; their `row` is set later.
using Row = std::vector<columns::PlacedSpan>;

[[nodiscard]] inline columns::PlacedSpan span_of(std::uint32_t element, std::int64_t start, std::int64_t length,
                                                 std::int64_t at = 0) {
  return {.element = element, .start = start, .length = length, .at = at};
}

/// How one tensor of the elements becomes one of the rows.
struct TakenTensor {
  std::string name;
  std::size_t axis = 0;
  std::optional<Shape> shape = {};  ///< Of a row; left out: that of the elements.
  Delivery delivery = Delivery::padded;
  std::optional<Padding> padding = {};
  bool delivered = true;
  std::optional<ColumnId> from = {};  ///< Column of the elements; left out: the one of that name.
};

class TakenBatches : public ::testing::Test {
 protected:
  /// Plans a document whose batches have all elements of the test.
  void plan(const Json& document, const Bindings& bindings = {}) {
    order_.reset();
    open_files_.reset();
    elements_.clear();
    auto plan = Plan::make(document, ".", bindings);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    plan_.emplace(*std::move(plan));
    program_ = program_of(*plan_);
    program_.taking.emplace();
    all_ = std::exchange(program_.batched, {});
    pool_ = std::make_shared<BufferPool>(limit_);
    open_files_ = std::make_unique<OpenFiles>(program_of(*plan_), pool_);
    order_ = std::make_unique<OrderPlane>(program_of(*plan_), *open_files_);
    const auto more = order_->next(elements_);
    ASSERT_TRUE(more.ok()) << more.error().text();
  }

  ColumnId id_of(const std::string& name) {
    const auto found = program_.schema.find(name);
    return found.ok() ? *found : -1;
  }
  Output output_of(ColumnId id) {
    for (const Output& output : all_) {
      if (output.id == id) return output;
    }
    return {.id = id, .spec = program_.schema[id]};
  }
  void deliver(Output output) {
    program_.batched.push_back(output);
    program_.outputs = program_.batched;
  }

  ColumnId cut(const TakenTensor& tensor) {
    const ColumnId from = tensor.from.value_or(id_of(tensor.name));
    Output output = output_of(from);
    output.spec.delivery = tensor.delivery;
    output.padding = tensor.padding;
    if (tensor.shape) output.spec.shape = *tensor.shape;
    Schema schema = program_.schema;
    output.id = schema.put(output.spec);
    program_.schema = schema;
    program_.taking->cut.push_back({from, output.id, tensor.axis});
    program_.taking->axes = std::max(program_.taking->axes, tensor.axis + 1);
    if (tensor.delivered) deliver(output);
    return output.id;
  }
  void whole(const std::string& name) {
    program_.taking->whole.push_back(id_of(name));
    deliver(output_of(id_of(name)));
  }
  void generate(const std::string& name, Generated kind, DType dtype, const Shape& shape, std::size_t axis = 0) {
    const ColumnSpec spec{.name = name, .dtype = dtype, .shape = shape, .delivery = Delivery::padded};
    const ColumnId id = program_.schema.put(spec);
    program_.taking->generated.push_back({kind, id, axis});
    deliver({.id = id, .spec = spec});
  }
  /// Places a step of the registry; returns the column that it makes.
  ColumnId place(std::vector<PlacedStep>& steps, const std::string& type, const std::string& options) {
    for (const StepType& each : Registry::global().steps()) {
      if (each.description.name != type) continue;
      auto bound = each.bind(testing::parse(options), program_.schema);
      EXPECT_TRUE(bound.ok()) << bound.error().text();
      const auto made = static_cast<ColumnId>(program_.schema.size());
      program_.schema = bound->out;
      steps.push_back(
          {.step = std::move(bound->op), .name = type, .pointer = "", .reads = bound->reads, .makes = {made}});
      return made;
    }
    return -1;
  }

  /// The spans of a batch; `axes` has the rows of each axis. The whole element of a row is that of its first span.
  [[nodiscard]] static RowSpans spans_of(const std::vector<std::vector<Row>>& axes) {
    RowSpans out;
    out.spans.resize(axes.size());
    out.whole.assign(axes[0].size(), RowSpans::no_element);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      for (std::size_t row = 0; row < axes[axis].size(); ++row) {
        for (columns::PlacedSpan span : axes[axis][row]) {
          span.row = static_cast<std::int64_t>(row);
          if (out.whole[row] == RowSpans::no_element) out.whole[row] = span.element;
          out.spans[axis].push_back(span);
        }
      }
    }
    return out;
  }

  void begin(const RowSpans& spans, std::int64_t threads) {
    shared_ = {&program_, [](const Program*) {}};
    executor_ = std::make_unique<Executor>(shared_, pool_, threads);
    job_ = std::make_unique<Job>();
    job_->layout = elements_;
    job_->layout.taken = spans;
    job_->layout.rows = std::ssize(spans.whole);
  }

  /// Makes a batch; its tickets run in the order in which they were cut, or in the other one. Empty: see error_.
  std::optional<Batch> make(const RowSpans& spans, std::int64_t threads = 1, bool backwards = false) {
    begin(spans, threads);
    error_.clear();
    error_row_ = -1;
    if (const auto cut = executor_->cut(*job_); !cut.ok()) return error_ = cut.error().text(), std::nullopt;
    Worker workers[] = {executor_->worker(0), executor_->worker(1)};
    std::optional<RowError> failed;
    for (std::size_t i = 0; i < job_->cut; ++i) {
      const std::size_t at = backwards ? job_->cut - 1 - i : i;
      auto error = executor_->run(*job_->tickets[at], workers[at % 2]);
      if (error && (!failed || error->row < failed->row)) failed = std::move(error);
    }
    if (failed) return error_ = failed->error.text(), error_row_ = failed->row, std::nullopt;
    if (auto error = executor_->finish(*job_)) return error_ = error->text(), std::nullopt;
    return Batch{job_->content};
  }

  /// Each tensor as JSON, with its lengths; or the error.
  std::string text(const std::optional<Batch>& batch) {
    if (!batch) return error_;
    std::string out;
    for (const std::string& name : batch->names()) {
      out += (out.empty() ? "" : " ") + name + ": " + testing::to_json(*batch->find(name)).text();
      if (const Tensor* lengths = batch->lengths(name)) out += " of " + testing::to_json(*lengths).text();
    }
    return out;
  }
  std::string made(const std::vector<Row>& rows, std::int64_t threads = 1) {
    return text(make(spans_of({rows}), threads));
  }

  std::int64_t limit_ = std::int64_t{1} << 30;
  testing::Folder folder_;
  std::optional<Plan> plan_;
  Program program_;
  std::vector<Output> all_;  // outputs of the plan, of which the test delivers some
  std::shared_ptr<const Program> shared_;
  std::shared_ptr<BufferPool> pool_;
  std::unique_ptr<OpenFiles> open_files_;
  std::unique_ptr<OrderPlane> order_;
  BatchLayout elements_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Job> job_;
  std::string error_;
  std::int64_t error_row_ = -1;
};

}  // namespace forebay::engine
