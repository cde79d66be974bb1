// SPDX-License-Identifier: Apache-2.0
#include "arrow.h"

#include <string>
#include <utility>
#include <vector>

#include <forebay/arrow.h>
#include <forebay/row_parts.h>
#include <nanobind/stl/string.h>

#include "errors.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

/// What a capsule holds. It stays in the capsule, which releases it unless somebody takes it over.
template <class T>
T& in_capsule(nb::handle capsule, const char* name) {
  auto* const found = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (found == nullptr) throw nb::python_error();
  return *found;
}

/// Something that was taken over from a capsule.
template <class T>
struct Owned {
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value.release != nullptr) value.release(&value);
  }
  T value{};
};

Table make_table(const nb::object& stream, const std::string& name) {
  auto& taken = in_capsule<ArrowArrayStream>(stream, "arrow_array_stream");
  return {value_of([&] {
    const Unlocked reading;
    return arrow_table(taken, name);
  }())};
}

/// A table whose rows a thread of Python reads for the runs: batches of a stream, or parts of files.
///
///     documents are planned ─► rows(options): a reader and a source each ─► runs ─► next ─► put or pull
class StreamedTable final : public RowTable {
 public:
  StreamedTable(Owned<ArrowSchema>& schema, std::vector<RowParts::Part> parts) : parts_list_{std::move(parts)} {
    schema_.value = std::exchange(schema.value, {});
  }
  /// A stream, which is read once.
  StreamedTable(ArrowArrayStream& stream, const std::string& name) : parts_list_{{.name = name}}, once_{true} {
    stream_.value = std::exchange(stream, {});
    if (stream_.value.release == nullptr) throw nb::value_error("the stream of record batches was read already");
    if (stream_.value.get_schema(&stream_.value, &schema_.value) != 0) throw nb::value_error(stream_error().c_str());
  }

  Result<std::shared_ptr<const RowSource>> rows(const Arrow& options) const override {
    FOREBAY_TRY(ArrowReader reader, ArrowReader::make(schema_.value, options, !once_));
    readers_.push_back(std::move(reader));
    return parts_.source(readers_.back().schema(), parts_list_, !once_);
  }

  [[nodiscard]] const RowParts& parts() const { return parts_; }
  [[nodiscard]] const ArrowReader& reader(std::size_t source) const { return readers_.at(source); }
  /// Reads the next batch of the stream.
  void pull(std::int64_t id, std::size_t source) {
    ArrowArray batch{};
    if (stream_.value.get_next(&stream_.value, &batch) != 0)
      return parts_.fail(id, Error{Code::data, Detail::none, stream_error()});
    if (batch.release == nullptr) return parts_.end(id);
    put(id, source, batch);
  }
  void put(std::int64_t id, std::size_t source, ArrowArray& batch) const {
    auto rows = reader(source).read(batch);
    if (!rows.ok()) return parts_.fail(id, rows.error());
    parts_.put(id, *std::move(rows));
  }

 private:
  std::string stream_error() {
    const auto last = stream_.value.get_last_error;
    const char* const text = last == nullptr ? nullptr : last(&stream_.value);
    return std::string{"the stream of record batches failed: "} + (text == nullptr ? "it does not say why" : text);
  }

  const RowParts parts_;
  const std::vector<RowParts::Part> parts_list_;
  const bool once_ = false;
  Owned<ArrowSchema> schema_;
  Owned<ArrowArrayStream> stream_;
  mutable std::vector<ArrowReader> readers_;  // by source; all are made before a run begins
};

using Shared = std::shared_ptr<StreamedTable>;
struct Streamed {
  Shared table;
};

Streamed make_streamed(const nb::object& capsule, const nb::list& parts) {
  std::vector<RowParts::Part> list;
  for (const nb::handle item : parts) {
    const auto part = nb::cast<nb::tuple>(item);
    RowParts::Part added{.name = from_str(part[0])};
    if (!part[1].is_none()) added.rows = nb::cast<std::int64_t>(part[1]);
    list.push_back(std::move(added));
  }
  Owned<ArrowSchema> schema;
  schema.value = std::exchange(in_capsule<ArrowSchema>(capsule, "arrow_schema"), {});
  return {std::make_shared<StreamedTable>(schema, std::move(list))};
}

Streamed make_stream(const nb::object& capsule, const std::string& name) {
  return {std::make_shared<StreamedTable>(in_capsule<ArrowArrayStream>(capsule, "arrow_array_stream"), name)};
}

/// Waits for a short time only. None: try again.
nb::object next_wanted(const Streamed& streamed) {
  const auto wanted = value_of([&] {
    const Unlocked waiting;
    return streamed.table->parts().next(timeout);
  }());
  if (!wanted) return nb::none();
  return nb::make_tuple(wanted->id, wanted->source, wanted->part, wanted->epoch, wanted->first, wanted->left);
}

nb::list fields_of(const Streamed& streamed, std::size_t source) {
  nb::list out;
  for (const std::string& field : streamed.table->reader(source).fields()) out.append(to_str(field));
  return out;
}

void put_batch(const Streamed& streamed, std::int64_t id, std::size_t source, const nb::object& schema,
               const nb::object& array) {
  const auto& type = in_capsule<ArrowSchema>(schema, "arrow_schema");
  auto& batch = in_capsule<ArrowArray>(array, "arrow_array");
  const StreamedTable& table = *streamed.table;
  const Unlocked reading;
  if (const auto good = table.reader(source).check(type); !good.ok()) return table.parts().fail(id, good.error());
  table.put(id, source, batch);
}

}  // namespace

void bind_arrow(nb::module_& module) {
  nb::class_<Table>(module, "Table", "A table that a document names.");
  nb::class_<Streamed>(module, "StreamedTable", "A table whose rows a thread reads for the runs.")
      .def("rows", [](const Streamed& streamed) { return Table{streamed.table}; })
      .def("next", &next_wanted, nb::sig("def next(self) -> tuple[int, int, int, int, int, bool] | None"),
           "The part that a run waits for: id, source, part, epoch, first row, and whether the run has left it. None: "
           "there was none for a short time. Raises Cancelled after close.")
      .def("fields", &fields_of, nb::arg("source"), nb::sig("def fields(self, source: int) -> list[str]"),
           "The columns that a source reads.")
      .def("put", &put_batch, nb::arg("id"), nb::arg("source"), nb::arg("schema"), nb::arg("array"),
           nb::sig("def put(self, id: int, source: int, schema: object, array: object) -> None"),
           "A record batch with the source's fields, as the capsules of __arrow_c_array__.")
      .def(
          "pull",
          [](const Streamed& streamed, std::int64_t id, std::size_t source) {
            const Unlocked reading;
            streamed.table->pull(id, source);
          },
          nb::arg("id"), nb::arg("source"), "Reads the next batch of the stream.")
      .def(
          "end", [](const Streamed& streamed, std::int64_t id) { streamed.table->parts().end(id); }, nb::arg("id"))
      .def(
          "fail",
          [](const Streamed& streamed, std::int64_t id, const std::string& what) {
            streamed.table->parts().fail(id, Error{Code::data, Detail::data_loss, what});
          },
          nb::arg("id"), nb::arg("what"))
      .def("close", [](const Streamed& streamed) { streamed.table->parts().close(); });
  module.def("arrow_table", &make_table, nb::arg("stream"), nb::arg("name"),
             nb::sig("def arrow_table(stream: object, name: str) -> Table"),
             "A table in memory, of a capsule of __arrow_c_stream__, which is read to its end.");
  module.def("arrow_stream", &make_stream, nb::arg("stream"), nb::arg("name"),
             nb::sig("def arrow_stream(stream: object, name: str) -> StreamedTable"),
             "A stream of record batches that is read once.");
  module.def("arrow_parts", &make_streamed, nb::arg("schema"), nb::arg("parts"),
             nb::sig("def arrow_parts(schema: object, parts: list[tuple[str, int | None]]) -> StreamedTable"),
             "Parts as (name, rows) whose batches have this schema, a capsule of __arrow_c_schema__.");
}

}  // namespace forebay::python
