// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/queue.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "lent.h"
#include "waiting.h"

namespace forebay::python {
namespace {

class PyQueue {
 public:
  explicit PyQueue(Queue queue) : queue_{std::move(queue)} {}

  /// False: the time was over.
  bool enqueue(const nb::list& element, bool copy, std::int64_t timeout) {
    Lent lent{!copy};
    return waiting([&, tensors = tensors(element, lent)](const StopCheck* check) mutable {
      return queue_.enqueue(std::move(tensors), wait_of(timeout), check);
    });
  }
  std::int64_t enqueue_many(const nb::list& rows, bool copy, std::int64_t timeout) {
    Lent lent{!copy};
    return waiting([&, tensors = tensors(rows, lent)](const StopCheck* check) mutable {
      return queue_.enqueue_many(std::move(tensors), wait_of(timeout), check);
    });
  }

  nb::object dequeue(std::int64_t timeout) {
    return taken(waiting([&](const StopCheck* check) { return queue_.dequeue(wait_of(timeout), check); }));
  }
  nb::object dequeue_many(std::int64_t count, bool up_to, std::int64_t timeout) {
    return taken(waiting([&](const StopCheck* check) {
      return up_to ? queue_.dequeue_up_to(count, wait_of(timeout), check)
                   : queue_.dequeue_many(count, wait_of(timeout), check);
    }));
  }

  void close(bool cancel) { queue_.close(cancel); }
  [[nodiscard]] nb::tuple sizes() const {
    const Queue::Sizes all = queue_.sizes();
    return nb::make_tuple(all.elements, all.waiting_enqueues, all.waiting_dequeues, all.enqueued, all.dequeued,
                          all.closed, all.fill_ratio, all.fill_over_min);
  }

 private:
  std::vector<Tensor> tensors(const nb::list& values, Lent& lent) const {
    const std::vector<QueueComponent>& components = queue_.options().components;
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < std::min(nb::len(values), components.size()); ++i)
      out.push_back(lent.tensor(values[i], components[i].dtype, "component '" + components[i].name + "'"));
    return out;
  }

  /// A list of arrays; at the end the number of elements that are left; None: the time was over.
  static nb::object taken(const TakenElements& found) {
    if (found.got == TakenElements::Got::nothing_yet) return nb::none();
    if (found.got == TakenElements::Got::end) return nb::int_(found.left);
    nb::list out;
    for (const Tensor& tensor : found.tensors) out.append(array_of(tensor));
    return out;
  }

  Queue queue_;
};

QueueComponent component_of(nb::handle item) {
  const auto parts = nb::cast<nb::tuple>(item);
  const auto dtype = dtype_from(nb::cast<std::string>(parts[1]));
  if (!dtype) throw nb::value_error("an unknown element type");
  QueueComponent out{.name = from_str(parts[0]), .dtype = *dtype, .shape = {}};
  if (parts[2].is_none()) return out;
  std::vector<std::int64_t> sizes;
  for (const nb::handle size : nb::cast<nb::tuple>(parts[2]))
    sizes.push_back(size.is_none() ? unknown_dim : nb::cast<std::int64_t>(size));
  out.shape = Shape{std::move(sizes)};
  return out;
}

PyQueue make_queue(const std::string& kind, const nb::str& name, const nb::list& components, std::int64_t capacity,
                   std::int64_t min_after_dequeue, std::optional<std::uint64_t> seed) {
  QueueOptions options{.name = from_str(name),
                       .components = {},
                       .capacity = capacity,
                       .min_after_dequeue = min_after_dequeue,
                       .seed = seed};
  const auto& names = EnumNames<QueueKind>::names;
  const auto found = std::ranges::find(names, kind);
  if (found == names.end()) throw nb::value_error("an unknown kind of queue");
  options.kind = static_cast<QueueKind>(found - names.begin());
  for (const nb::handle component : components) options.components.push_back(component_of(component));
  return PyQueue{value_of(Queue::make(std::move(options)))};
}

}  // namespace

void bind_queue(nb::module_& module) {
  nb::class_<PyQueue>(module, "Queue", "The compiled part of forebay.Queue.")
      .def("enqueue", &PyQueue::enqueue, nb::arg("element"), nb::arg("copy"), nb::arg("timeout"),
           nb::sig("def enqueue(self, element: list[object], copy: bool, timeout: int) -> bool"),
           "Tensors are arrays of numbers, or (bytes, byte splits, shape) of strings. The timeout is in ms; -1: for "
           "ever. False: the time was over.")
      .def("enqueue_many", &PyQueue::enqueue_many, nb::arg("rows"), nb::arg("copy"), nb::arg("timeout"),
           nb::sig("def enqueue_many(self, rows: list[object], copy: bool, timeout: int) -> int"),
           "How many rows went in.")
      .def("dequeue", &PyQueue::dequeue, nb::arg("timeout"),
           nb::sig("def dequeue(self, timeout: int) -> list[typing.Any] | int | None"),
           "Arrays. A number: the end, with so many elements left. None: the time was over.")
      .def("dequeue_many", &PyQueue::dequeue_many, nb::arg("count"), nb::arg("up_to"), nb::arg("timeout"),
           nb::sig("def dequeue_many(self, count: int, up_to: bool, timeout: int) -> list[typing.Any] | int | None"))
      .def("close", &PyQueue::close, nb::arg("cancel"))
      .def_prop_ro("sizes", &PyQueue::sizes,
                   nb::sig("def sizes(self) -> tuple[int, int, int, int, int, bool, float, float]"));
  module.def("make_queue", &make_queue, nb::arg("kind"), nb::arg("name"), nb::arg("components"), nb::arg("capacity"),
             nb::arg("min_after_dequeue"), nb::arg("seed").none(),
             nb::sig("def make_queue(kind: str, name: str, components: list[tuple[str, str, tuple[int | None, ...] | "
                     "None]], capacity: int, min_after_dequeue: int, seed: int | None) -> Queue"),
             "Components are (name, dtype, shape or None).");
}

}  // namespace forebay::python
