// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forebay/feed.h>
#include <forebay/row_passes.h>
#include <nanobind/stl/string.h>

#include "arrow.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

/// Rows that Python lends to runs.
struct Rows {
  std::shared_ptr<const RowSource> source;
};

/// A handle of a producer of a feed; empty when it was closed.
struct Producer {
  std::shared_ptr<const void> open;
};

/// The memory of one array. The last run that uses it may end on any thread, so the release takes the interpreter's
/// lock; after the interpreter has ended the memory stays.
class Buffer {
 public:
  explicit Buffer(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDES) != 0) throw nb::python_error();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire locked;
    PyBuffer_Release(&view_);
  }
  [[nodiscard]] const Py_buffer& view() const { return view_; }
  [[nodiscard]] std::vector<std::int64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  [[nodiscard]] std::vector<std::int64_t> strides() const { return {view_.strides, view_.strides + view_.ndim}; }

 private:
  Py_buffer view_{};
};

using Buffers = std::vector<std::unique_ptr<Buffer>>;

const Buffer& keep(nb::handle array, Buffers& buffers) {
  buffers.push_back(std::make_unique<Buffer>(array));
  return *buffers.back();
}

std::vector<std::int64_t> integers_of(nb::handle array, const char* refusal) {
  const Buffer buffer{array};
  if (buffer.view().itemsize != 8 || !PyBuffer_IsContiguous(&buffer.view(), 'C')) throw nb::value_error(refusal);
  const auto* const first = static_cast<const std::int64_t*>(buffer.view().buf);
  return {first, first + buffer.view().len / 8};
}

/// (name, dtype, array, swapped)
ArrayView numbers_of(const nb::tuple& column, DType dtype, Buffers& buffers) {
  const Buffer& buffer = keep(column[2], buffers);
  if (static_cast<std::size_t>(buffer.view().itemsize) != size_of(dtype))
    throw nb::value_error("the elements of the array have another size than their type");
  return {.name = from_str(column[0]),
          .dtype = dtype,
          .shape = buffer.shape(),
          .data = buffer.view().buf,
          .strides = buffer.strides(),
          .swapped = nb::cast<bool>(column[3])};
}

/// (name, "string", bytes of all strings, byte splits as contiguous int64, shape)
ArrayView strings_of(const nb::tuple& column, Buffers& buffers) {
  const Buffer& bytes = keep(column[2], buffers);
  ArrayView out{.name = from_str(column[0]), .dtype = DType::string, .data = bytes.view().buf};
  for (const nb::handle size : nb::cast<nb::tuple>(column[4])) out.shape.push_back(nb::cast<std::int64_t>(size));
  out.byte_splits = integers_of(column[3], "byte splits are a contiguous array of int64");
  if (!out.byte_splits.empty() && out.byte_splits.back() > bytes.view().len)
    throw nb::value_error("byte splits lie beyond the bytes");
  return out;
}

DType dtype_of(nb::handle name) {
  const auto dtype = dtype_from(nb::cast<std::string>(name));
  if (!dtype) throw nb::value_error("an unknown element type");
  return *dtype;
}

Rows rows_of_columns(const nb::list& columns, const std::string& name) {
  auto buffers = std::make_shared<Buffers>();
  std::vector<ArrayView> arrays;
  for (const nb::handle item : columns) {
    const auto column = nb::cast<nb::tuple>(item);
    const DType dtype = dtype_of(column[1]);
    arrays.push_back(dtype == DType::string ? strings_of(column, *buffers) : numbers_of(column, dtype, *buffers));
    const std::size_t plain = dtype == DType::string ? 5 : 4;
    if (column.size() > plain)
      arrays.back().row_splits = integers_of(column[plain], "row splits are a contiguous array of int64");
  }
  return {value_of(array_rows(std::move(arrays), std::move(buffers), name))};
}

/// (name, dtype, sizes of a row with None where rows differ) for each column.
Schema schema_of(const nb::list& columns) {
  Schema schema;
  for (const nb::handle item : columns) {
    const auto column = nb::cast<nb::tuple>(item);
    std::vector<std::int64_t> sizes;
    for (const nb::handle size : nb::cast<nb::tuple>(column[2]))
      sizes.push_back(size.is_none() ? unknown_dim : nb::cast<std::int64_t>(size));
    const Shape shape{std::move(sizes)};
    schema.put({.name = from_str(column[0]),
                .dtype = dtype_of(column[1]),
                .shape = shape,
                .delivery = shape.known() ? Delivery::equal : Delivery::ragged});
  }
  return schema;
}

Feed make_feed(const nb::list& columns, std::int64_t capacity) {
  return value_of(Feed::make(schema_of(columns), capacity));
}

RowPasses make_passes(const nb::list& columns, std::int64_t capacity) {
  return value_of(RowPasses::make(schema_of(columns), capacity));
}

/// Waits for a short time only. None: try again.
nb::object next_pass(const RowPasses& passes) {
  auto begun = value_of([&] {
    const Unlocked waiting;
    return passes.next(timeout);
  }());
  if (!begun) return nb::none();
  return nb::make_tuple(begun->epoch, begun->first, nb::cast(std::move(begun->rows)));
}

/// Waits for a short time only, so that Ctrl-C is seen. False: try again.
bool put(Feed& feed, const nb::list& columns) {
  const Rows rows = rows_of_columns(columns, "");
  auto done = [&] {
    const Unlocked waiting;
    return feed.put(*rows.source, timeout);
  }();
  return value_of(std::move(done));
}

}  // namespace

Bindings bindings_of(const nb::dict& bound) {
  Bindings out;
  for (const auto& [name, object] : bound) {
    if (nb::isinstance<Function>(object)) {
      out[from_str(name)] = nb::cast<const Function&>(object);
    } else if (nb::isinstance<Table>(object)) {
      out[from_str(name)] = nb::cast<const Table&>(object).rows;
    } else {
      out[from_str(name)] = nb::cast<const Rows&>(object).source;
    }
  }
  return out;
}

void bind_rows(nb::module_& module) {
  nb::class_<Rows>(module, "Rows", "Rows of arrays, which a document names.");
  module.def(
      "array_rows", &rows_of_columns, nb::arg("columns"), nb::arg("name"),
      nb::sig("def array_rows(columns: list[tuple[object, ...]], name: str) -> Rows"),
      "Columns as (name, dtype, array, swapped) or (name, \"string\", bytes, byte splits, shape), then row splits "
      "where rows have different lengths.");
  nb::class_<Producer>(module, "Producer", "A handle of a producer of a feed.").def("close", [](Producer& handle) {
    handle.open.reset();
  });
  nb::class_<Feed>(module, "Feed", "Rows that a program gives to a run.")
      .def("put", &put, nb::arg("columns"), nb::sig("def put(self, columns: list[tuple[object, ...]]) -> bool"),
           "False: there was no room for a short time.")
      .def("close", &Feed::close)
      .def(
          "fail",
          [](Feed& feed, const std::string& what) {
            feed.fail(Error{Code::data, Detail::failed_precondition, what});
          },
          nb::arg("what"))
      .def(
          "rows", [](const Feed& feed, const std::string& name) { return Rows{feed.source(name)}; }, nb::arg("name"))
      .def("producer", [](const Feed& feed) { return Producer{feed.producer()}; })
      .def_prop_ro("waiting", &Feed::waiting)
      .def_prop_ro("closed", &Feed::closed);
  nb::class_<RowPasses>(module, "RowPasses", "Rows that a program gives anew for each pass of a run.")
      .def("next", &next_pass, nb::sig("def next(self) -> tuple[int, int, Feed] | None"),
           "The epoch of the pass that a run has begun, its first row, and the feed for its rows. None: there was none "
           "for a short time. Raises Cancelled after close.")
      .def("close", &RowPasses::close)
      .def(
          "rows",
          [](const RowPasses& passes, const std::string& name, bool seeks, bool exact, bool collects) {
            return Rows{passes.source(name, {.seeks = seeks, .exact = exact, .collects = collects})};
          },
          nb::arg("name"), nb::arg("seeks") = false, nb::arg("exact") = true, nb::arg("collects") = false);
  module.def("make_passes", &make_passes, nb::arg("columns"), nb::arg("capacity"),
             nb::sig("def make_passes(columns: list[tuple[str, str, tuple[int | None, ...]]], capacity: int) -> "
                     "RowPasses"));
  module.def("make_feed", &make_feed, nb::arg("columns"), nb::arg("capacity"),
             nb::sig("def make_feed(columns: list[tuple[str, str, tuple[int | None, ...]]], capacity: int) -> Feed"));
}

}  // namespace forebay::python
