// SPDX-License-Identifier: Apache-2.0
#include "state_saver.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/state_saver.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "lent.h"
#include "waiting.h"

namespace forebay::python {
namespace {

using Declared = std::vector<SaverTensor>;

std::vector<Tensor> lent_tensors(Lent& lent, const nb::list& values, const Declared& declared, const char* kind) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < nb::len(values) && i < declared.size(); ++i)
    out.push_back(lent.tensor(values[i], declared[i].dtype, std::string{kind} + " '" + declared[i].name + "'"));
  return out;
}

/// The error of an unknown name as KeyError, and others as `raise` does.
template <class T>
T value_or_key_error(Result<T> result) {
  if (!result.ok() && result.error().detail() == Detail::not_found) {
    PyErr_SetObject(PyExc_KeyError, to_str(result.error().message()).ptr());
    throw nb::python_error();
  }
  return value_of(std::move(result));
}

/// A batch of segments that Python holds.
class PySegments {
 public:
  PySegments(SegmentBatch batch, std::shared_ptr<const StateSaverOptions> options)
      : batch_{std::move(batch)}, options_{std::move(options)} {}

  [[nodiscard]] std::int64_t rows() const { return batch_.rows(); }
  [[nodiscard]] nb::object sequences() {
    return named(sequences_, options_->sequences, "sequence", [&](const auto& name) { return batch_.sequences(name); });
  }
  [[nodiscard]] nb::object context() {
    return named(context_, options_->context, "context tensor", [&](const auto& name) { return batch_.context(name); });
  }
  [[nodiscard]] nb::object state(const nb::str& name) const {
    return array_of(value_or_key_error(batch_.state(from_str(name))));
  }
  void save_state(const nb::str& name, nb::handle values) const {
    const std::string known = from_str(name);
    const DType dtype = value_or_key_error(batch_.state(known)).dtype;
    Lent lent;
    nb::object given = nb::borrow(values);
    if (dtype == DType::string) given = nb::module_::import_("forebay.state_saver").attr("_texts")(name, values);
    const Tensor tensor = lent.tensor(given, dtype, "state '" + known + "'");
    value_of([&] {
      const Unlocked copying;
      return batch_.save_state(known, tensor);
    }());
  }
  [[nodiscard]] nb::list keys(bool next) const {
    nb::list out;
    for (std::int64_t row = 0; row < rows(); ++row) out.append(to_str(next ? batch_.next_key(row) : batch_.key(row)));
    return out;
  }
  [[nodiscard]] const SegmentBatch& batch() const { return batch_; }

 private:
  template <class Find>
  nb::object named(nb::object& cache, const Declared& declared, const char* kind, const Find& find) {
    if (!cache.is_valid()) {
      nb::dict out;
      for (const SaverTensor& tensor : declared) out[to_str(tensor.name)] = array_of(value_of(find(tensor.name)));
      cache = nb::module_::import_("forebay.state_saver").attr("Tensors")(kind, out);
    }
    return cache;
  }

  SegmentBatch batch_;
  std::shared_ptr<const StateSaverOptions> options_;
  nb::object sequences_, context_;
};

class PySaver {
 public:
  PySaver(StateSaverOptions options, const StateSaver& saver)
      : options_{std::make_shared<const StateSaverOptions>(std::move(options))}, saver_{saver} {}

  void insert(const nb::bytes& key, std::optional<std::int64_t> length, const nb::list& sequences,
              const nb::list& context, const nb::list& states, std::int64_t epoch, bool copy, std::int64_t timeout) {
    Lent lent{!copy};
    SaverExample example{.key = std::string{key.c_str(), key.size()},
                         .length = length,
                         .sequences = lent_tensors(lent, sequences, options_->sequences, "sequence"),
                         .context = lent_tensors(lent, context, options_->context, "context tensor"),
                         .states = lent_tensors(lent, states, options_->states, "state"),
                         .epoch = epoch};
    const bool added =
        waiting([&](const StopCheck* check) { return saver_.insert(std::move(example), wait_of(timeout), check); });
    if (!added)
      timed_out("no room for the example: as many examples as `capacity` are live; take last segments, or wait longer");
  }

  nb::object take(std::optional<std::int64_t> size, std::int64_t timeout) {
    TakenSegments taken = waiting([&](const StopCheck* check) { return saver_.take(size, wait_of(timeout), check); });
    if (taken.got == TakenSegments::Got::end) return nb::none();
    if (taken.got == TakenSegments::Got::nothing_yet)
      timed_out("no batch: too few segments are ready; insert examples, save the states of batches, or wait longer");
    return nb::cast(PySegments{std::move(taken.batch), options_});
  }

  void close(bool cancel) { value_of(saver_.close(cancel)); }
  [[nodiscard]] bool closed() const { return saver_.closed(); }
  [[nodiscard]] nb::tuple sizes() const {
    const StateSaver::Sizes all = saver_.sizes();
    return nb::make_tuple(all.ready_segments, all.ready_batches, all.waiting_segments, all.live_examples,
                          all.undelivered_segments);
  }

 private:
  std::shared_ptr<const StateSaverOptions> options_;
  StateSaver saver_;
};

/// Tuples (name, dtype, shape, initial value or None).
Declared declared_of(const nb::list& tensors, Lent& lent) {
  Declared out;
  for (const nb::handle item : tensors) {
    const auto parts = nb::cast<nb::tuple>(item);
    const auto dtype = dtype_from(nb::cast<std::string>(parts[1]));
    if (!dtype) throw nb::value_error("an unknown element type");
    std::vector<std::int64_t> sizes;
    for (const nb::handle size : nb::cast<nb::tuple>(parts[2])) sizes.push_back(nb::cast<std::int64_t>(size));
    SaverTensor tensor{.name = from_str(parts[0]), .dtype = *dtype, .shape = Shape{std::move(sizes)}};
    if (!parts[3].is_none()) tensor.initial = lent.tensor(parts[3], *dtype, "initial_states");
    out.push_back(std::move(tensor));
  }
  return out;
}

PySaver make_state_saver(std::int64_t batch_size, std::int64_t num_unroll, const nb::list& sequences,
                         const nb::list& context, const nb::list& states, std::optional<std::int64_t> capacity,
                         bool allow_small_batch, bool pad, bool make_keys_unique, bool sticky_rows,
                         std::int64_t save_timeout) {
  Lent lent;
  StateSaverOptions options{.batch_size = batch_size,
                            .num_unroll = num_unroll,
                            .sequences = declared_of(sequences, lent),
                            .context = declared_of(context, lent),
                            .states = declared_of(states, lent),
                            .capacity = capacity,
                            .allow_small_batch = allow_small_batch,
                            .pad = pad,
                            .make_keys_unique = make_keys_unique,
                            .sticky_rows = sticky_rows,
                            .save_timeout = std::chrono::milliseconds{save_timeout}};
  const StateSaver saver = value_of(StateSaver::make(options));
  for (SaverTensor& state : options.states) state.initial.reset();  // memory of Python, which the saver has copied
  return {std::move(options), saver};
}

using TensorGetter = const Tensor& (SegmentBatch::*)() const;

/// An array [rows] of numbers of the segments.
template <TensorGetter get>
void add_numbers(nb::class_<PySegments>& segments, const char* name, const char* signature, const char* doc) {
  segments.def_prop_ro(
      name, [](const PySegments& self) { return to_array((self.batch().*get)()); }, nb::sig(signature), doc);
}

void bind_segments(nb::module_& module) {
  nb::class_<PySegments> segments{
      module, "SegmentBatch",
      "Segments of several examples, one in each row, by ascending insertion index. Made by "
      "`StateSaver.take`.\n\n"
      "Save every state, once: when the batch is gone before that, its examples cannot go on. "
      "Arrays may be written to, and stay valid when batch and saver are gone."};
  segments.def_prop_ro("rows", &PySegments::rows, "Rows of the batch; 0 where 0 segments were asked for.")
      .def("__len__", &PySegments::rows)
      .def_prop_ro("sequences", &PySegments::sequences, nb::sig("def sequences(self) -> dict[str, typing.Any]"),
                   "By name: an ndarray [rows, num_unroll, …] of the declared dtype; strings are objects of bytes. "
                   "Padding is 0, False or b\"\".")
      .def_prop_ro("context", &PySegments::context, nb::sig("def context(self) -> dict[str, typing.Any]"),
                   "By name: an ndarray [rows, …]; every segment of an example has the same.")
      .def("state", &PySegments::state, nb::arg("name"), nb::sig("def state(self, name: str) -> typing.Any"),
           "The state before these segments, an ndarray [rows, …] of the declared dtype: what was saved after the "
           "segment "
           "before, or the initial value. Raises KeyError for a name that was not declared.")
      .def("save_state", &PySegments::save_state, nb::arg("name"), nb::arg("values"),
           nb::sig("def save_state(self, name: str, values: typing.Any) -> None"),
           "Saves a copy of the state after these segments: an array [rows, …] of the declared dtype and shape. When "
           "all "
           "states are saved, the next segments are ready. Values of last segments are left out.\n\n"
           "Raises KeyError for a name that was not declared, ConfigError for another dtype or shape, StateError for a "
           "state that was saved before, Cancelled after `close(cancel=True)`.")
      .def_prop_ro(
          "key", [](const PySegments& self) { return self.keys(false); }, nb::sig("def key(self) -> list[str]"),
          "\"00001_of_00003:key\" of each row. Bytes that are not UTF-8 come as os.fsdecode has them.")
      .def_prop_ro(
          "next_key", [](const PySegments& self) { return self.keys(true); },
          nb::sig("def next_key(self) -> list[str]"),
          "The key of the next segment of each row; \"STOP:key\" after the last.");
  add_numbers<&SegmentBatch::sequence>(
      segments, "sequence", "def sequence(self) -> typing.Any",
      "Number of each segment in its example, from 0: int32 [rows]; -1 of an empty row.");
  add_numbers<&SegmentBatch::sequence_count>(segments, "sequence_count", "def sequence_count(self) -> typing.Any",
                                             "Segments of each example: int32 [rows].");
  add_numbers<&SegmentBatch::length>(segments, "length", "def length(self) -> typing.Any",
                                     "Frames of each segment that count, 0 … num_unroll: int32 [rows].");
  add_numbers<&SegmentBatch::total_length>(segments, "total_length", "def total_length(self) -> typing.Any",
                                           "Frames of each example that count: int32 [rows].");
  add_numbers<&SegmentBatch::insertion_index>(
      segments, "insertion_index", "def insertion_index(self) -> typing.Any",
      "Number of each example in the order of insertion, from -2**63: int64 [rows].");
  add_numbers<&SegmentBatch::epoch>(segments, "epoch", "def epoch(self) -> typing.Any",
                                    "The epoch given to `insert`: int64 [rows].");
  add_numbers<&SegmentBatch::reset>(segments, "reset", "def reset(self) -> typing.Any",
                                    "Whether a row begins an example, or is empty: bool [rows].");
}

}  // namespace

void bind_state_saver(nb::module_& module) {
  bind_segments(module);
  nb::class_<PySaver>(module, "StateSaver", "The compiled part of forebay.StateSaver.")
      .def("insert", &PySaver::insert, nb::arg("key"), nb::arg("length").none(), nb::arg("sequences"),
           nb::arg("context"), nb::arg("states"), nb::arg("epoch"), nb::arg("copy"), nb::arg("timeout"),
           nb::sig("def insert(self, key: bytes, length: int | None, sequences: list[object], context: list[object], "
                   "states: list[object], epoch: int, copy: bool, timeout: int) -> None"),
           "Tensors are arrays of numbers, or (bytes, byte splits, shape) of strings. The timeout is in ms; -1: for "
           "ever.")
      .def("take", &PySaver::take, nb::arg("size").none(), nb::arg("timeout"),
           nb::sig("def take(self, size: int | None, timeout: int) -> SegmentBatch | None"), "None: the end.")
      .def("close", &PySaver::close, nb::arg("cancel"))
      .def_prop_ro("closed", &PySaver::closed)
      .def_prop_ro("sizes", &PySaver::sizes, nb::sig("def sizes(self) -> tuple[int, int, int, int, int]"));
  module.def(
      "make_state_saver", &make_state_saver, nb::arg("batch_size"), nb::arg("num_unroll"), nb::arg("sequences"),
      nb::arg("context"), nb::arg("states"), nb::arg("capacity").none(), nb::arg("allow_small_batch"), nb::arg("pad"),
      nb::arg("make_keys_unique"), nb::arg("sticky_rows"), nb::arg("save_timeout"),
      nb::sig("def make_state_saver(batch_size: int, num_unroll: int, sequences: list[tuple[object, ...]], context: "
              "list[tuple[object, ...]], states: list[tuple[object, ...]], capacity: int | None, "
              "allow_small_batch: bool, pad: bool, make_keys_unique: bool, sticky_rows: bool, save_timeout: int) -> "
              "StateSaver"),
      "Tensors are (name, dtype, shape, initial value or None).");
}

}  // namespace forebay::python
